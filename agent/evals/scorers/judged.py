"""Scores of answers by a judge: the mean of several votes, with their agreement."""

from agent.compare.judge import fill_prompt, poll
from agent.evals.scorers.score import JudgeAccess, TaskScore
from agent.evals.suite import EvalTask
from agent.util.cancellation import Stop
from agent.util.text import plural

NO_JUDGE = "Answers of this suite are scored by a judge. Name its model and endpoint."


def score(
    task: EvalTask, answer: str, prompt: str, judge: JudgeAccess | None, stop: Stop
) -> TaskScore | None:
    """Ask a judge about an answer.

    Votes that fail leave the others: the score is the mean of those that were given, and the
    reason says how many failed and why.

    Args:
        task: The task.
        answer: The whole answer.
        prompt: The suite's prompt for judges.
        judge: The judge; None if none is connected.
        stop: Ends it early.

    Returns:
        The score, without a value if no vote was given; None if it was stopped.
    """
    if judge is None:
        return TaskScore(value=None, reason=NO_JUDGE)
    asked = poll(prompt_for(task, answer, judge.prompt or prompt), judge.votes, judge.model, stop)
    if asked is None:
        return None
    known = [vote for vote in asked.votes if vote is not None]
    mean = sum(known) / len(known) if known else None
    failed = len(asked.votes) - len(known)
    of = f"{failed:,} of {plural(len(asked.votes), 'vote')} failed. {asked.reason}"
    return TaskScore(
        value=mean,
        votes=asked.votes,
        texts=asked.texts,
        judge=judge.name,
        agreement=None if mean is None else max(mean, 1 - mean),
        reason=of if failed else "",
    )


def prompt_for(task: EvalTask, answer: str, template: str) -> str:
    """Return what a judge is asked about an answer."""
    return fill_prompt(template, task.text, task.expected, answer)
