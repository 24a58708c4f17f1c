"""Rewards by outcome: what an answer is worth, from 0 to 1, whatever the way to it.

| qa_type | 1 where | else |
|---|---|---|
| single_choice | it names the right letter and no other, see ``choices`` | 0 |
| multiple_choice | it names the right letters | F1 of both sets |
| open_ended, a text | the same text | ROUGE-L's F |
| open_ended, an expression | mathematically equal | 0 |
| exact | the same text, white space at the ends of lines aside | 0 |

No answer, an empty one and one of more than 65,536 characters are worth 0.
The words of an expression are not compared: who lists two numbers would get more than who decides.
"""

from collections.abc import Callable

from agent.tasks import mathematics
from agent.tasks.choices import letters, one_letter
from agent.tasks.final import LONGEST, bare
from agent.tasks.overlap import rouge_l
from agent.tasks.record import Problem, QaType


def reward(problem: Problem, answer: str | None) -> float:
    """What an answer to a problem is worth.

    Args:
        problem: The problem.
        answer: The text of ``output/answer.txt``; None where there is none.

    Returns:
        From 0 to 1.

    Raises:
        TaskError: mathematics is to be compared, and ``math-verify`` is not installed.
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
