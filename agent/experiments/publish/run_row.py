"""The row of a run, from which all figures of an experiment are computed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, get_origin

from agent.experiments.outcomes import DONE, OutcomeName

CAPABILITIES = ("external", "files", "computation")
Count = int | None
Amount = float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run; a published field has its name for people and its definition.

    None stands for unknown.
    """

    # fmt: off
    task: Annotated[int, "Task number", "The task’s place in the experiment, from 0."]
    task_id: Annotated[str, "Task", "The task’s id in its suite."]
    suite: Annotated[str, "Suite", "The suite that the task is from; empty in a comparison."] = ""
    domain: Annotated[str, "Domain", "The suite’s domain, one of the paper’s."] = ""
    group: Annotated[str, "Group", "The part of the suite: a subject, a subtask."] = ""
    member: Annotated[int, "Member number", "The member’s place in the experiment, from 0."]
    label: Annotated[str, "Member", "The member’s name."]
    model: Annotated[str, "Model", "The model that answered; before that, the one asked for."]
    mode: Annotated[str, "Mode", "“sandbox”, or “plain”: without tools, documents in the prompt."]
    repetition: Annotated[int, "Repetition", "From 1."]
    attempt: Annotated[int, "Attempt",
        "From 1; above 1, the run before it failed or was interrupted."] = 1
    run: Annotated[str, "Run", "The run’s id, under which it opens."]
    began: Annotated[Amount, "Began", "Start of the run, in seconds since 1970 (UTC)."] = None
    outcome: Annotated[OutcomeName, "Outcome",
        "“right” (score 1), “wrong” (0), “partial” (between), “unscored”, “infrastructure” (the "
        "engine, the endpoint or the studio failed), “stopped”, “running” or “waiting”. Only the "
        "first three are in means of scores."]
    state: Annotated[str, "Ended",
        "How the run ended: submitted, answered, a limit, stopped, failed."] = ""
    reason: Annotated[str, "Reason", "Why it failed, or why the score is what it is."] = ""
    score: Annotated[Amount, "Score",
        "The grade of the answer, from 0 to 1; empty if it is not known."] = None
    expected: Annotated[str, "Expected", "The right answer."] = ""
    extracted: Annotated[str, "Extracted", "What the grader read as the final answer."] = ""
    answer: Annotated[str, "Answer", "What the run answered, at most 20,000 characters of it."] = ""
    answer_characters: Annotated[int, "Characters", "The length of the whole answer."] = 0
    grader: Annotated[str, "Grader",
        "Check, extraction and version of what graded the answer."] = ""
    judge: Annotated[str, "Judge", "The model that graded it, if one did."] = ""
    votes: Annotated[tuple[float | None, ...], "Votes",
        "The judge’s votes, 1 for right; empty for one that failed."] = ()
    prompt_tokens: Annotated[Count, "Prompt tokens",
        "Tokens of all requests: each sends the conversation so far again."] = None
    cached_tokens: Annotated[Count, "Cached tokens",
        "Prompt tokens that the endpoint read from its cache."] = None
    cache_written_tokens: Annotated[Count, "Tokens written to cache",
        "Prompt tokens that the endpoint stored for later requests."] = None
    generated_tokens: Annotated[Count, "Generated tokens", "Answers with their reasoning."] = None
    reasoning_tokens: Annotated[Count, "Reasoning tokens",
        "Reasoning within the generated tokens."] = None
    environment_tokens: Annotated[Count, "Environment tokens",
        "Outputs of commands and messages of the loop, when they were new."] = None
    tokens_once: Annotated[Count, "Tokens once",
        "First prompt, generated and environment tokens, each once: the paper’s N_total."] = None
    largest_prompt: Annotated[Count, "Largest prompt", "Tokens of the longest request."] = None
    tokens_estimated: Annotated[bool | None, "Tokens estimated",
        "Whether a count is an estimate, because the endpoint reports none."] = None
    turns: Annotated[Count, "Turns", "Model turns."] = None
    commands: Annotated[Count, "Commands", "Commands that were executed."] = None
    model_seconds: Annotated[Amount, "Seconds in the model", "Seconds in model turns."] = None
    sandbox_seconds: Annotated[Amount, "Seconds in the sandbox",
        "Seconds in commands and file operations; empty in plain mode."] = None
    waiting_seconds: Annotated[Amount, "Seconds waiting",
        "Seconds in the queue, until the sandbox had started, and before repeated requests."] = None
    total_seconds: Annotated[Amount, "Seconds",
        "Seconds from the task to the end, with all waiting."] = None
    cost: Annotated[Amount, "Cost",
        "In the unit of the configured price; empty without one."] = None
    external: Annotated[Amount, "External resources",
        "Share of turns that used the network or installed packages, parsed and observed."] = None
    files: Annotated[Amount, "File management",
        "Share of turns that managed files, parsed and observed."] = None
    computation: Annotated[Amount, "Computation",
        "Share of turns that computed, parsed and observed."] = None
    paper_external: Annotated[Amount, "External resources, the paper’s patterns",
        "The same share by the paper’s patterns."] = None
    paper_files: Annotated[Amount, "File management, the paper’s patterns",
        "The same share by the paper’s patterns."] = None
    paper_computation: Annotated[Amount, "Computation, the paper’s patterns",
        "The same share by the paper’s patterns."] = None
    marks: Annotated[tuple[str, ...], "Marks",
        "What a reader must know: settings that did not reach the model, a cut conversation."] = ()
    rater_1: Annotated[str, "First rater",
        "Who began to label runs first; empty if nobody did."] = ""
    label_1: Annotated[str, "Label of the first rater", "The rater’s label of the run."] = ""
    note_1: Annotated[str, "Note of the first rater", "The rater’s note on the run."] = ""
    rater_2: Annotated[str, "Second rater", "The other rater; empty if there is none."] = ""
    label_2: Annotated[str, "Label of the second rater", "The rater’s label of the run."] = ""
    note_2: Annotated[str, "Note of the second rater", "The rater’s note on the run."] = ""
    answers: Annotated[tuple[str, ...], "Answers",
        "What models answered to questions about the run, in the order of the questions; see the "
        "table of answers."] = ()
    # fmt: on

    # What is not published of a run, for the table of measures:
    first_token_seconds: Amount = None
    failed_commands: Count = None
    edits: Count = None
    pictures: Count = None
    outputs: Count = None
    output_names: tuple[str, ...] = ()
    host_count: Count = None
    peak_memory: Count = None
    cpu_seconds: Amount = None
    partial: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether it ended with a result of the model's."""
        return self.outcome in DONE and self.outcome != "infrastructure"

    @property
    def is_right(self) -> bool:
        """Whether the answer is right; of a judge, by most of its votes."""
        least = 0.5 + 1e-9 if self.grader.startswith("judge/") else 1.0
        return self.score is not None and self.score >= least


PUBLISHED = tuple(each.name for each in fields(RunRow) if get_origin(each.type) is Annotated)
"""The fields that exports have, in their order."""
