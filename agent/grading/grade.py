"""Grade an answer by its check: the only place that compares answers."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from agent.grading import judge as judges
from agent.grading import letters, mathematics, numbers, reference, rules, texts
from agent.grading.checks import Expected, Grade, JudgeAccess, grader_of
from agent.grading.final_answer import MAX_ANSWER_CHARS, final_answer, without_thinking
from agent.util.stop import Stop

_MAX_EXTRACTED = 200
_NO_RESULT = "The answer states no result, or alternatives."
_NO_LETTER = "The answer names no offered letter, or alternatives."


def grade(
    expected: Expected, answer: str, judge: JudgeAccess | None = None, stop: Stop | None = None
) -> Grade | None:
    """Grade an answer, in seconds; None if stopped. ``TaskError`` if math-verify does not start."""
    text = _text_of(expected, answer)
    found: Grade | None
    if not text.strip():
        found = Grade(score=0.0, reason="There is no answer.")
    elif len(text) > _limit(expected):
        found = Grade(
            score=0.0, reason=f"The answer is longer than {_limit(expected):,} characters."
        )
    elif expected.check == "judge":
        found = judges.judged(expected, text, judge, stop or Stop())
    elif expected.check == "rules":
        found = rules.check_rules(expected.rules, text, expected.extraction)
    elif expected.check == "math":
        found = _mathematics(expected, text)
    elif expected.check in ("letter", "choice", "choice_f1"):
        found = _letters(expected, text)
    else:
        found = Grade(score=_of_text(expected, text))
    return found and replace(found, grader=grader_of(expected))


@lru_cache(maxsize=4096)
def grade_at_once(expected: Expected, answer: str) -> Grade:
    """Grade an answer by a check that is not slow; grades are remembered."""
    found = grade(expected, answer)
    if found is None:
        raise RuntimeError("Only a judge can be stopped.")
    return found


def _text_of(expected: Expected, answer: str) -> str:
    """Return what is graded: the paper's reward leaves reasoning in all but a judge's answers."""
    if expected.extraction == "lenient":
        return without_thinking(answer)
    return reference.judged_part(answer) if expected.check == "judge" else answer


def _limit(expected: Expected) -> int:
    """Return the maximum length of an answer in characters."""
    whole = expected.check in ("judge", "rules", "math", "letter")
    return MAX_ANSWER_CHARS if whole else texts.MAX_TEXT_CHARS


def _mathematics(expected: Expected, text: str) -> Grade:
    if expected.extraction == "reference":
        found = reference.boxed_or_whole(text)
        right = mathematics.reference_equal(found, expected.answer)
        return Grade(score=float(right), extracted=found[:_MAX_EXTRACTED])
    found = mathematics.mathematical_answer(text) or final_answer(text).text
    right = bool(found) and mathematics.is_equal(found, expected.answer)
    return Grade(
        score=float(right), extracted=found[:_MAX_EXTRACTED], reason="" if found else _NO_RESULT
    )


def _letters(expected: Expected, text: str) -> Grade:
    if expected.extraction == "reference":
        found = reference.letter(text)
        right = expected.answer.strip().upper()
        return Grade(score=float(right in (found, text.strip().upper())), extracted=found)
    chosen = letters.chosen_letters(text, expected.choices, expected.question)
    wanted = letters.listed_letters(expected.answer)
    score = float(bool(wanted) and chosen == wanted)
    if expected.check == "choice_f1":
        score = 2 * len(chosen & wanted) / (len(chosen) + len(wanted)) if chosen else 0.0
    extracted = ", ".join(sorted(chosen))
    return Grade(score=score, extracted=extracted, reason="" if chosen else _NO_LETTER)


def _of_text(expected: Expected, text: str) -> float:
    match expected.check:
        case "number":
            return _number(expected, text)
        case "open_ended":
            return _open_ended(expected, text)
        case check:
            return float(_TEXT_CHECKS[check](text, expected.answer))


def _number(expected: Expected, text: str) -> float:
    right = numbers.the_number(expected.answer)
    found = numbers.the_number(mathematics.mathematical_answer(text) or final_answer(text).text)
    if right is None or found is None:
        return 0.0
    allowed = max(Decimal(repr(expected.tolerance)), Decimal(repr(expected.relative)) * abs(right))
    return float(abs(found - right) <= allowed)


def _open_ended(expected: Expected, text: str) -> float:
    if texts.is_same(text, expected.answer):
        return 1.0
    if mathematics.is_expression(expected.answer):
        return _mathematics(expected, text).score or 0.0
    return texts.rouge_l(text, expected.answer)


_TEXT_CHECKS: dict[str, Callable[[str, str], bool | float]] = {
    "exact": texts.is_same,
    "contains": texts.is_contained,
    "verbatim": texts.is_verbatim,
    "f1": texts.f1,
    "rouge_l": texts.rouge_l,
}
