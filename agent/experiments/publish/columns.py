"""Columns of exports, each defined once: the page, the documentation and the files quote it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import get_args

from agent.experiments.publish.run_row import CAPABILITIES, PUBLISHED, RunRow


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, its name for people, and its definition."""

    key: str
    title: str
    definition: str


RUN_COLUMNS = tuple(
    Column(each.name, *get_args(each.type)[1:]) for each in fields(RunRow) if each.name in PUBLISHED
)
_OF_RUNS = {each.key: each for each in RUN_COLUMNS}


def _capability_columns() -> Iterator[Column]:
    """Yield the capability columns of results: parsed rates, then those by the paper’s patterns."""
    for name in CAPABILITIES:
        yield replace(_OF_RUNS[name], key=f"parsed_{name}")
    for name in CAPABILITIES:
        yield _OF_RUNS[f"paper_{name}"]


RESULT_COLUMNS = (
    Column("domain", "Domain",
           "“all”: all tasks together (pooled); “mean”: the mean over the domains, each with the "
           "same weight; else one domain."),
    Column("tasks", "Tasks", "Tasks of the domain; of “mean”, domains."),
    *map(_OF_RUNS.__getitem__, ("member", "label", "mode")),
    Column("n", "n", "Tasks with a score; of “mean”, domains with one."),
    Column("correct", "Right", "Tasks whose score is above one half."),
    Column("score", "Score",
           "Mean over the tasks; a task’s score is the mean of its repetitions that have one."),
    Column("low", "Score, from",
           "Lower bound of the score’s 95 % interval: Wilson’s where every score is 0 or 1, else a "
           "bootstrap over the tasks; of “mean”, MOVER from the domains’ intervals."),
    Column("high", "Score, to", "Upper bound of the score’s 95 % interval."),
    Column("method", "Interval", "The method of the score’s interval."),
    Column("best", "Best",
           "Whether the score is the highest, and the 95 % interval of its paired difference to "
           "every other member’s is above 0."),
    Column("tied", "Tied",
           "Whether the score is the highest, or one whose paired difference to it has an interval "
           "that contains 0, where none is the best."),
    Column("infrastructure", "Infrastructure",
           "Runs that failed by the engine, the endpoint or the studio: not counted."),
    Column("unscored", "Unscored", "Runs that ended without a score: not counted."),
    Column("baseline", "Baseline", "The number of the member that the gain is to."),
    Column("gain", "Gain",
           "Score minus the baseline’s, over the tasks of which both have a score."),
    Column("gainLow", "Gain, from",
           "Lower bound of the gain’s 95 % interval: Newcombe’s where every score is 0 or 1, else "
           "a bootstrap over the pairs; of “mean”, MOVER from the domains’ intervals."),
    Column("gainHigh", "Gain, to", "Upper bound of the gain’s 95 % interval."),
    Column("gainMethod", "Interval of the gain", "The method of the gain’s interval."),
    Column("gainP", "p", "The two-sided p-value of the gain."),
    Column("gainTest", "Test",
           "“McNemar, exact” where every score is 0 or 1, else “paired permutation”: signs of the "
           "tasks’ differences are flipped."),
    Column("pairs", "Pairs", "Tasks of which both have a score; of “mean”, domains."),
    Column("runs", "Runs", "Runs that ended with a result."),
    Column("tokensOnce", "Tokens once",
           "First prompt, generated and environment tokens of a run, each once: the paper’s "
           "N_total; mean over the runs, as all that follow."),
    Column("tokensPeak", "Largest prompt", "Tokens of a run’s longest request."),
    Column("tokensPrompt", "Prompt tokens", "Tokens of all requests of a run."),
    Column("tokensGenerated", "Generated tokens", "Answers of a run, with their reasoning."),
    Column("turns", "Turns", "Model turns of a run."),
    Column("seconds", "Seconds", "Seconds of a run from the task to the end, with all waiting."),
    Column("modelSeconds", "Seconds in the model", "Seconds of a run in model turns."),
    Column("sandboxSeconds", "Seconds in the sandbox",
           "Seconds of a run in commands and file operations; empty in plain mode."),
    Column("waitingSeconds", "Seconds waiting",
           "Seconds of a run in the queue, until its sandbox had started, and before repeated "
           "requests."),
    Column("cost", "Cost", "Cost of a run in the unit of the configured price."),
    Column("environmentTime", "Share of time in the sandbox",
           "Seconds in the sandbox / seconds in model and sandbox, over all runs; waiting and the "
           "sandbox’s start are in neither."),
    Column("environmentTokens", "Share of tokens from the sandbox",
           "Environment tokens / tokens once, over all runs."),
    Column("throughput", "Throughput",
           "The baseline’s seconds in model and sandbox per run / the member’s: above 1, the "
           "member is faster."),
    *_capability_columns(),
    Column("k", "k", "The k of the columns that follow; empty if no task has several runs."),
    Column("passAt", "pass@k",
           "Probability that at least one of k runs of a task is right, mean over the tasks with k "
           "scored runs (unbiased: Chen et al. 2021)."),
    Column("passAtLow", "pass@k, from",
           "Lower bound of its 95 % interval: a bootstrap over the tasks."),
    Column("passAtHigh", "pass@k, to", "Upper bound of its 95 % interval."),
    Column("passHat", "pass^k",
           "Probability that all of k runs of a task are right (unbiased: Yao et al. 2024)."),
    Column("passHatLow", "pass^k, from",
           "Lower bound of its 95 % interval: a bootstrap over the tasks."),
    Column("passHatHigh", "pass^k, to", "Upper bound of its 95 % interval."),
    Column("passTasks", "Tasks of pass@k", "Tasks with at least k scored runs."),
)  # fmt: skip
TASK_COLUMNS = (
    Column("task", "Task number", "The task’s place in the experiment, from 0."),
    Column("id", "Task", "The task’s id in its suite."),
    Column("suite", "Suite", "The suite that the task is from."),
    Column("domain", "Domain", "The suite’s domain."),
    Column("group", "Group", "The part of the suite: a subject, a subtask."),
    Column("member", "Member number", "The member’s place in the experiment, from 0."),
    Column("label", "Member", "The member’s name."),
    Column("runs", "Runs", "Runs of the task by the member that ended with a result."),
    Column("scored", "Scored", "Those that have a score."),
    Column("right", "Right", "Those that are right."),
    Column("score", "Score", "Mean of the known scores."),
    Column("gain", "Gain", "Score minus the baseline’s."),
    Column("turns", "Turns", "Model turns, mean over the runs."),
    Column("tokensOnce", "Tokens once", "Each token once: mean over the runs."),
    Column("modelSeconds", "Seconds in the model", "Mean over the runs."),
    Column("sandboxSeconds", "Seconds in the sandbox", "Mean over the runs."),
    Column("cost", "Cost", "Mean over the runs."),
)  # fmt: skip
ANSWER_COLUMNS = (
    Column("run", "Run", "The run’s id."),
    Column("question", "Question", "What was asked about the run."),
    Column("model", "Model", "The model that answered."),
    Column("answer", "Answer",
           "“yes” or “no”, a category, or a quote; “none” where there is none to quote; empty if "
           "the answer could not be read."),
    Column("step", "Step", "The step that the answer cites; 0 for none."),
    Column("quote", "Quote", "Words of that step."),
    Column("reason", "Reason", "The model’s reason, in a sentence."),
    Column("citation", "Citation",
           "“verified” if the step exists and has the quote, else “unverified”; “none” of a “no” "
           "or “none” that cites nothing."),
    Column("error", "Error", "Why the answer could not be read."),
    Column("prompt_tokens", "Prompt tokens", "Tokens of the requests for this answer."),
    Column("generated_tokens", "Generated tokens", "Tokens of the answer with its reasoning."),
    Column("cost", "Cost", "In the unit of the configured price; empty without one."),
    Column("at", "Answered", "In seconds since 1970 (UTC)."),
)  # fmt: skip
TABLES = {
    "runs": RUN_COLUMNS, "domains": RESULT_COLUMNS, "tasks": TASK_COLUMNS,
    "answers": ANSWER_COLUMNS,
}  # fmt: skip


def definitions(table: str) -> dict[str, str]:
    """Return the definitions of a table’s columns by key."""
    return {each.key: each.definition for each in TABLES[table]}


def codebook() -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each column of each table: table, key, name, definition."""
    for table, columns in TABLES.items():
        for each in columns:
            yield table, each.key, each.title, each.definition
