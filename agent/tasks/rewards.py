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
from agent.tasks.answer_extraction import LONGEST, bare
from agent.tasks.choice_answers import letters, one_letter
from agent.tasks.rouge import rouge_l
from agent.tasks.task import Problem, QaType


def reward(problem: Problem, answer: str | None) -> float:
    """Return the reward of an answer.

    Args:
        problem: The task.
        answer: The text of ``output/answer.txt``; None if the file is missing.

    Returns:
        A value from 0 to 1.

    Raises:
        TaskError: expressions must be compared and ``math-verify`` is not installed.
    """
    if answer is None or len(answer) > LONGEST or not answer.strip():
        return 0.0
    return _REWARDS[problem.qa_type](answer, problem.ground_truth)


def _single_choice(answer: str, truth: str) -> float:
    return float(one_letter(answer) == truth)


def _multiple_choice(answer: str, truth: str) -> float:
    said, wanted = letters(answer), frozenset(truth)
    return 2 * len(said & wanted) / (len(said) + len(wanted))


def _open_ended(answer: str, truth: str) -> float:
    if _plain(answer) == _plain(truth):
        return 1.0
    if mathematics.mathematical(truth):
        return float(mathematics.equal(answer, truth))
    return rouge_l(answer, truth)


def _exact(answer: str, truth: str) -> float:
    return float(_lines(answer) == _lines(truth))


def _plain(text: str) -> str:
    return " ".join(bare(text).removesuffix(".").casefold().split())


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.removeprefix("\ufeff").strip().splitlines()]


_REWARDS: dict[QaType, Callable[[str, str], float]] = {
    "single_choice": _single_choice,
    "multiple_choice": _multiple_choice,
    "open_ended": _open_ended,
    "exact": _exact,
}
