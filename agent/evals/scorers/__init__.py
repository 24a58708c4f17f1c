"""Scorers: what an answer of a suite's task is worth, from 0 to 1.

| scorer | 1 if the answer | otherwise |
|---|---|---|
| math | is mathematically equal; its last box counts | 0 |
| letter | names exactly the right letter | 0 |
| judge | is right in all votes of a judge | the share of votes |
| rules | follows all rules, in a loose reading (``rules``) | 0 |

An empty answer gets 0. A score without a value is not known; the reason says why.
"""

from agent.evals.scorers import judged, mathematical, rules
from agent.evals.scorers.answers import MAX_ANSWER_CHARS, chosen_letter, without_thinking
from agent.evals.scorers.score import JudgeAccess, TaskScore
from agent.evals.suite import EvalTask, SuiteDescription
from agent.util.cancellation import Stop


def score(
    suite: SuiteDescription,
    task: EvalTask,
    answer: str,
    judge: JudgeAccess | None = None,
    stop: Stop | None = None,
) -> TaskScore | None:
    """Score an answer.

    Args:
        suite: The task's suite.
        task: The task.
        answer: The text of ``output/answer.txt``, or the reply of a run in plain mode.
        judge: The judge, for suites that need one.
        stop: Ends a judge early.

    Returns:
        The score; None if it was stopped.
    """
    text = without_thinking(answer)
    if not text.strip():
        return TaskScore(value=0.0, reason="There is no answer.")
    if len(text) > MAX_ANSWER_CHARS:
        return TaskScore(
            value=0.0, reason=f"The answer is longer than {MAX_ANSWER_CHARS:,} characters."
        )
    match task.scorer:
        case "math":
            return mathematical.score(task, text)
        case "letter":
            return _letter(task, text)
        case "judge":
            return judged.score(task, text, suite.judge_prompt, judge, stop or Stop())
        case "rules":
            return rules.score(task, text)


def _letter(task: EvalTask, answer: str) -> TaskScore:
    found = chosen_letter(answer, task.choices, task.text)
    if found is None:
        return TaskScore(value=0.0, reason="The answer names no offered letter, or several.")
    return TaskScore(value=float(found == task.expected), extracted=found)
