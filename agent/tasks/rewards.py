"""Outcome rewards: a value from 0 to 1 for an answer, however it was found.

| qa_type | check (``agent.grading.CHECKS``) |
|---|---|
| single_choice | letter |
| multiple_choice | choice_f1 |
| open_ended | open_ended |
| exact | verbatim |

A missing answer gets 0. Expressions are not scored by ROUGE-L, which would reward listing two
numbers over deciding.
"""

from agent.grading.checks import Check, Expected
from agent.grading.grade import grade
from agent.tasks.task import QaType, TaskRecord

_CHECKS: dict[QaType, Check] = {
    "single_choice": "letter",
    "multiple_choice": "choice_f1",
    "open_ended": "open_ended",
    "exact": "verbatim",
}


def expected_of(task: TaskRecord) -> Expected:
    """Return what an answer to a task is compared with, and how."""
    return Expected(
        check=_CHECKS[task.qa_type], answer=task.ground_truth, question=task.problem_statement
    )


def reward(task: TaskRecord, answer: str | None) -> float:
    """Return the reward of an answer; None, as of a missing file, gets 0."""
    found = grade(expected_of(task), answer or "")
    return found.score if found and found.score is not None else 0.0
