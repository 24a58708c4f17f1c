"""Names of people, places and things, from ``names.yaml``."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from agent.tasks.document_qa.rng import Rng

Part = Literal["train", "held_out"]
_HERE = Path(__file__).parent


@cache
def load_names() -> Mapping[str, Mapping[Part, Sequence[str]]]:
    """Load the names: kind → part → names."""
    found: dict[str, dict[Part, list[str]]] = yaml.safe_load(
        (_HERE / "names.yaml").read_text(encoding="utf-8")
    )
    return found


@cache
def load_filler() -> Mapping[str, Sequence[str]]:
    """Load the irrelevant text of documents: ``sentences`` and ``messages``."""
    found: dict[str, list[str]] = yaml.safe_load(
        (_HERE / "filler.yaml").read_text(encoding="utf-8")
    )
    return found


class NamePool:
    """Names for one task, from one part of the table."""

    def __init__(self, rng: Rng, part: Part) -> None:
        self._rng = rng
        self._part: Part = part

    def sample(self, kind: str, count: int) -> list[str]:
        """Return ``count`` different names of a kind, or all if there are fewer."""
        return self._rng.sample(load_names()[kind][self._part], count)

    def sample_people(self, count: int) -> list[str]:
        """Return ``count`` different people, as first and family names."""
        first_names, family_names = (
            load_names()["given"][self._part],
            load_names()["family"][self._part],
        )
        places = self._rng.sample(range(len(first_names) * len(family_names)), count)
        return [
            f"{first_names[at % len(first_names)]} {family_names[at // len(first_names)]}"
            for at in places
        ]

    def filler_sentences(self, count: int) -> list[str]:
        """Return ``count`` irrelevant sentences."""
        return [self._rng.choice(load_filler()["sentences"]) for _ in range(count)]

    def log_message(self) -> str:
        """Return a log message."""
        return self._rng.choice(load_filler()["messages"])
