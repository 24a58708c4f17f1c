"""Outcome rewards: a value from 0 to 1 for an answer, however it was found.

| qa_type | 1 if the answer | otherwise |
|---|---|---|
| single_choice | names exactly the correct letter, see ``choice_answers`` | 0 |
| multiple_choice | names the correct letters | F1 of both sets |
| open_ended, a text | is the same text | ROUGE-L F-measure |
| open_ended, an expression | is mathematically equal | 0 |
| exact | is the same text, ignoring white space at line ends | 0 |

A missing or empty answer, or one of more than 65,536 characters, gets 0.
Expressions are not scored by ROUGE-L, which would reward listing two numbers over deciding.
"""

from collections.abc import Callable

from agent.tasks import mathematics
from agent.tasks.answer_extraction import MAX_OUTPUT_CHARS, strip_markup
from agent.tasks.choice_answers import parse_choices, parse_single_choice
from agent.tasks.rouge import rouge_l
from agent.tasks.task import QaType, TaskRecord


def reward(task: TaskRecord, answer: str | None) -> float:
    """Return the reward of an answer.

    Args:
        task: The task.
        answer: The text of ``output/answer.txt``; None if the file is missing.

    Returns:
        A value from 0 to 1.

    Raises:
        TaskError: expressions must be compared and ``math-verify`` is not installed.
    """
    if answer is None or len(answer) > MAX_OUTPUT_CHARS or not answer.strip():
        return 0.0
    return _REWARDS[task.qa_type](answer, task.ground_truth)


def _single_choice(answer: str, truth: str) -> float:
    return float(parse_single_choice(answer) == truth)


def _multiple_choice(answer: str, truth: str) -> float:
    chosen, expected = parse_choices(answer), frozenset(truth)
    return 2 * len(chosen & expected) / (len(chosen) + len(expected))


def _open_ended(answer: str, truth: str) -> float:
    if _normalize(answer) == _normalize(truth):
        return 1.0
    if mathematics.is_expression(truth):
        return float(mathematics.expressions_equal(answer, truth))
    return rouge_l(answer, truth)


def _exact(answer: str, truth: str) -> float:
    return float(_stripped_lines(answer) == _stripped_lines(truth))


def _normalize(text: str) -> str:
    return " ".join(strip_markup(text).removesuffix(".").casefold().split())


def _stripped_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.removeprefix("\ufeff").strip().splitlines()]


_REWARDS: dict[QaType, Callable[[str, str], float]] = {
    "single_choice": _single_choice,
    "multiple_choice": _multiple_choice,
    "open_ended": _open_ended,
    "exact": _exact,
}
