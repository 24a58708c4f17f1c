"""Scores of answers whose right answer is known, from 0 to 1.

| check | 1 if the answer | otherwise |
|---|---|---|
| exact | is the same text, ignoring case, markup and spaces | 0 |
| contains | has the text in it as whole words, ignoring case and spaces | 0 |
| number | states one number within the tolerance | 0 |
| choice | names exactly the right letters | 0 |
| math | is mathematically equal (``agent.tasks.mathematics``) | 0 |
| f1 | has the same words in any order | F1 of the words |
| rouge_l | has the same words in the same order | ROUGE-L F-measure |
| judge | is right in all votes of a judge (``agent.compare.judge``) | the share of votes |

For ``exact``, ``number``, ``choice`` and ``math`` an answer has one line, or a last line marked as
the answer. ``math`` and ``judge`` take seconds: their scores are stored in the comparison's folder
when a run has ended.
"""

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from agent.compare import judge
from agent.compare.checks import Check
from agent.compare.comparison import ExpectedAnswer
from agent.compare.folder import ComparisonFolder, ScoreEntry, digest_of
from agent.errors import TaskError
from agent.models.base import Model
from agent.tasks import mathematics
from agent.tasks.answer_extraction import MAX_OUTPUT_CHARS, extract_final_answer, strip_markup
from agent.tasks.choice_answers import parse_choices
from agent.tasks.rouge import rouge_l
from agent.util.cancellation import Stop

STORED: frozenset[Check] = frozenset(("math", "judge"))
"""Checks whose scores are stored, because they take seconds."""

GRADUAL: frozenset[Check] = frozenset(("f1", "rouge_l"))
"""Checks with scores between right and wrong."""

# Neither dates and times (2026-01-16, 17:42) nor parts of names (letter2.txt, 1.2.3) are numbers.
_NUMBER = re.compile(
    r"(?<![\w.,])(?<!\d[-:/])[-+−]?"
    r"(?:\d{1,3}(?:[,\u202f\u00a0']\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
    r"(?![\w]|[-.,:/]\d)"
)
_STATED = re.compile(r"=|:|\bis\b|\bare\b|\bequals\b", re.IGNORECASE)
_WORD = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+")
_MAX_WORDS = 16_384


def score_of(expected: ExpectedAnswer, answer: str, stored: ScoreEntry | None) -> float | None:
    """Return the score of an answer; None if it is not known (yet).

    Args:
        expected: The right answer.
        answer: The whole answer.
        stored: The stored score of the run, which counts only for this answer.
    """
    if expected.kind not in STORED:
        return _computed(expected.kind, expected.answer, expected.tolerance, expected.relative,
                         answer)  # fmt: skip
    if not answer.strip():
        return 0.0
    return stored.score if stored and stored.answer == digest_of(answer) else None


def is_right(expected: ExpectedAnswer, score: float | None) -> bool | None:
    """Return whether a score means right; None if unknown, or for gradual checks."""
    if score is None or expected.kind in GRADUAL:
        return None
    return score > 0.5


def score_run(
    folder: ComparisonFolder,
    run: str,
    answer: str,
    judge_model: Model | None = None,
    stop: Stop | None = None,
) -> ScoreEntry | None:
    """Compute and store the score of an ended run, if its check takes seconds.

    Args:
        folder: The comparison.
        run: The run.
        answer: Its whole answer.
        judge_model: The judge, for that check; its key is in memory only.
        stop: Ends the judge early; nothing is stored then.

    Returns:
        The score; None if there is nothing to store.

    Raises:
        OSError: The score cannot be written.
    """
    expected = folder.definition.expected
    if expected is None or expected.kind not in STORED or not answer.strip():
        return None
    known = folder.scores().get(run)
    if known is not None and known.answer == digest_of(answer) and known.score is not None:
        return known
    entry: ScoreEntry | None
    if expected.kind == "math":
        entry = _mathematical(expected, run, answer)
    else:
        entry = judge.ask(folder.definition, run, answer, judge_model, stop or Stop())
    if entry is None:
        return None
    folder.add_score(entry)
    return entry


def normalized(text: str) -> str:
    """Return a text without markup, case, extra spaces and a final full stop."""
    return " ".join(strip_markup(strip_markup(text).removesuffix(".")).casefold().split())


@lru_cache(maxsize=4096)
def _computed(kind: Check, truth: str, tolerance: float, relative: float, answer: str) -> float:
    if not answer.strip() or len(answer) > MAX_OUTPUT_CHARS:
        return 0.0
    if kind == "number":
        return _number(answer, truth, tolerance, relative)
    return _CHECKS[kind](answer, truth)


def _exact(answer: str, truth: str) -> float:
    wanted, final = normalized(truth), extract_final_answer(answer)
    return float(
        wanted == normalized(answer) or (final is not None and wanted == normalized(final))
    )


def _contains(answer: str, truth: str) -> float:
    wanted, found = (" ".join(text.casefold().split()) for text in (truth, answer))
    return float(bool(re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", found)))


def _number(answer: str, truth: str, tolerance: float, relative: float) -> float:
    wanted, found = numbers_in(truth), _stated_number(answer)
    if len(wanted) != 1 or found is None:
        return 0.0
    (right,) = wanted
    allowed = max(Decimal(repr(tolerance)), Decimal(repr(relative)) * abs(right))
    return float(abs(found - right) <= allowed)


def _stated_number(answer: str) -> Decimal | None:
    """Return the one number that an answer states; None if it lists several."""
    final = extract_final_answer(answer)
    if final is None:
        lines = [line for line in answer.splitlines() if line.strip()]
        final = lines[-1] if lines else ""
    found = numbers_in(final)
    if len(found) > 1:
        found = numbers_in(_STATED.split(final)[-1])
    return found.pop() if len(found) == 1 else None


def numbers_in(text: str) -> set[Decimal]:
    """Return the different numbers in a text; ``1,234.5`` is one."""
    found = (re.sub(r"[,\u202f\u00a0']", "", each) for each in _NUMBER.findall(text))
    return {Decimal(each.replace("−", "-")).normalize() + 0 for each in found}


def _choice(answer: str, truth: str) -> float:
    wanted = parse_choices(truth)
    return float(bool(wanted) and parse_choices(answer) == wanted)


def _f1(answer: str, truth: str) -> float:
    """Return the F1 of the words, each counted as often as it occurs (as in SQuAD)."""
    found, wanted = (
        Counter(_WORD.findall(text.casefold())[:_MAX_WORDS]) for text in (answer, truth)
    )
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def _mathematical(expected: ExpectedAnswer, run: str, answer: str) -> ScoreEntry:
    right = normalized(answer) == normalized(expected.answer)
    try:
        right = right or mathematics.expressions_equal(answer, expected.answer)
    except TaskError as error:
        return ScoreEntry(run=run, score=None, reason=str(error), answer=digest_of(answer))
    return ScoreEntry(run=run, score=float(right), answer=digest_of(answer))


_CHECKS: dict[Check, Callable[[str, str], float]] = {
    "exact": _exact,
    "contains": _contains,
    "choice": _choice,
    "f1": _f1,
    "rouge_l": rouge_l,
}
