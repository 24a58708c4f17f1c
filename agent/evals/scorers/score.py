"""The score of an answer, and the judge that may be asked for one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.models.base import Model

VERSION = 1
"""The version of the scorers; a newer one may score an answer differently."""

DEFAULT_VOTES = 4
"""How often a judge is asked about one answer (the paper: 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAccess:
    """A model that decides whether answers are right.

    Attributes:
        model: The model; its key is in memory only.
        name: Its name at its endpoint.
        prompt: What it is asked; empty for the suite's.
        votes: How often it is asked about one answer.
    """

    model: Model
    name: str
    prompt: str = ""
    votes: int = DEFAULT_VOTES


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScore:
    """The score of an answer.

    Attributes:
        value: From 0 to 1; None if it is not known.
        parts: Scores of parts, such as the rules of a task.
        extracted: The final answer that was found in the text; empty if there is none.
        votes: A judge's votes: 1 for right, 0 for wrong, None for one that failed.
        texts: The ends of what the judge wrote, one per vote.
        judge: The judge's name.
        agreement: The share of votes that agree with their majority; None without a vote.
        reason: Why there is no value, or what failed on the way to it.
        version: The version of the scorer.
    """

    value: float | None
    parts: Mapping[str, float] = field(default_factory=dict)
    extracted: str = ""
    votes: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()
    judge: str = ""
    agreement: float | None = None
    reason: str = ""
    version: int = VERSION
