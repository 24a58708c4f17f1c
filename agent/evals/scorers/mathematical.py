"""Scores of mathematical answers: equal numbers, or equal expressions by math-verify."""

import re
from decimal import Decimal

from agent.errors import TaskError
from agent.evals.scorers.answers import mathematical_answer
from agent.evals.scorers.score import TaskScore
from agent.evals.suite import EvalTask
from agent.tasks import mathematics
from agent.tasks.answer_extraction import strip_markup

_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_MAX_DIGITS = 50


def score(task: EvalTask, answer: str) -> TaskScore:
    """Score an answer; without math-verify, only plain numbers can be compared."""
    found = mathematical_answer(answer)
    if found is None:
        return TaskScore(value=0.0, reason="The answer states no result, or several.")
    extracted = found[:200]
    left, right = _number(found), _number(task.expected)
    if left is not None and right is not None:
        return TaskScore(value=float(left == right), extracted=extracted)
    try:
        equal = mathematics.expressions_equal(f"\\boxed{{{found}}}", task.expected)
    except TaskError as error:
        return TaskScore(value=None, extracted=extracted, reason=str(error))
    return TaskScore(value=float(equal), extracted=extracted)


def _number(text: str) -> Decimal | None:
    """Return a text as a number if it is one in plain digits."""
    plain = strip_markup(strip_markup(text).removesuffix("."))
    if len(plain) > _MAX_DIGITS or not _NUMBER.fullmatch(plain):
        return None
    return Decimal(plain.replace(",", "").replace("−", "-"))
