"""The checks: how an answer can be compared with the right one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from agent.models.base import Model

Check = Literal[
    "exact", "contains", "number", "choice", "math", "f1", "rouge_l", "judge",
    "letter", "choice_f1", "open_ended", "verbatim", "rules",
]  # fmt: skip
Extraction = Literal["lenient", "reference"]
EXTRACTIONS: tuple[Extraction, ...] = get_args(Extraction)
# The checks with a ``reference`` extraction; the others have only the lenient one
EXTRACTED: tuple[Check, ...] = ("math", "letter", "rules")
VERDICTS = ("RIGHT", "WRONG")  # a judge's usual words
VERSION = 3  # the version of the grader; a newer one may grade an answer differently
DEFAULT_VOTES = 4  # how often a judge is asked about one answer of a suite (the paper: 4)


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """A check as users read about it; ``right`` ends “1 if the answer …”.

    Scores of a ``gradual`` check say how close an answer is; those of a ``slow`` one, which takes
    seconds, are stored; users can choose an ``offered`` one for their own answers.
    """

    title: str
    right: str
    otherwise: str = "0"
    gradual: bool = False
    slow: bool = False
    offered: bool = True


CHECKS: Mapping[Check, CheckInfo] = {
    "exact": CheckInfo("exactly", "is the same text, ignoring case, markup and spaces"),
    "contains": CheckInfo(
        "contained in the answer", "has the text in it as whole words, ignoring case and spaces"
    ),
    "number": CheckInfo("as a number", "states the number, within a tolerance"),
    "choice": CheckInfo("as a choice", "names exactly the right letters"),
    "math": CheckInfo("mathematically equal", "is mathematically equal", slow=True),
    "f1": CheckInfo(
        "by common words (F1)", "has the same words in any order", "F1 of the words", gradual=True
    ),
    "rouge_l": CheckInfo(
        "by common words (ROUGE-L)", "has the same words in the same order", "ROUGE-L F-measure",
        gradual=True,
    ),
    "judge": CheckInfo(
        "decided by a judge", "is right in all votes of a judge", "the share of votes", slow=True
    ),
    "letter": CheckInfo("letter", "names exactly the right letter of those offered", offered=False),
    "choice_f1": CheckInfo(
        "letters (F1)", "names the right letters", "F1 of both sets", gradual=True, offered=False
    ),
    "open_ended": CheckInfo(
        "open answer", "is the same text or a mathematically equal expression",
        "0 for an expression, else ROUGE-L F-measure", gradual=True, offered=False,
    ),
    "verbatim": CheckInfo(
        "same lines", "is the same text but for white space around its lines", offered=False
    ),
    "rules": CheckInfo("rules", "follows all rules, in a loose reading", offered=False),
}  # fmt: skip
"""All checks, in the order in which they are offered."""

# The checks that a user can choose
OFFERED: tuple[Check, ...] = tuple(name for name, info in CHECKS.items() if info.offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What an answer is compared with, and how.

    ``relative`` is a tolerance as a share of the right number, ``choices`` are letters such as
    ``ABCD``, empty for any. A judge's ``prompt`` has the placeholders ``{task}``, ``{expected}``
    and ``{answer}``, empty for the usual one; ``words`` are its answers for right and wrong.
    """

    check: Check
    answer: str = ""
    extraction: Extraction = "lenient"
    tolerance: float = 0.0
    relative: float = 0.0
    choices: str = ""
    question: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()
    prompt: str = ""
    words: tuple[str, str] = VERDICTS


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAccess:
    """A model that judges answers; its key is in memory only.

    ``words`` belong to its own ``prompt``; without one, those of the expected answer count.
    """

    model: "Model"
    name: str
    prompt: str = ""
    votes: int = DEFAULT_VOTES
    words: tuple[str, str] = VERDICTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What an answer is worth: a score from 0 to 1, None if it is not known.

    ``grader`` is the check, the extraction and the grader's version, such as ``math/lenient/3``;
    ``votes`` are 1 for right, 0 for wrong, None for one that failed; ``texts`` are the ends of what
    the judge wrote.
    """

    score: float | None
    extracted: str = ""
    reason: str = ""
    grader: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    votes: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()
    judge: str = ""


def grader_of(expected: Expected) -> str:
    """Return the name of what grades an answer, with its version."""
    if expected.check == "judge" or (expected.check, expected.extraction) == ("rules", "lenient"):
        return f"{expected.check}/{VERSION}"
    return f"{expected.check}/{expected.extraction}/{VERSION}"


def is_right(check: Check, score: float | None) -> bool | None:
    """Return whether a score means right; None if unknown, or for gradual checks."""
    return None if score is None or CHECKS[check].gradual else score > 0.5
