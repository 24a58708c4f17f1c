"""Names of people, places and things, from ``names.yaml``."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from agent.tasks.document_qa.rng import Dice

Part = Literal["train", "held_out"]
_HERE = Path(__file__).parent


@cache
def table() -> Mapping[str, Mapping[Part, Sequence[str]]]:
    """Load the names: kind → part → names."""
    found: dict[str, dict[Part, list[str]]] = yaml.safe_load(
        (_HERE / "names.yaml").read_text(encoding="utf-8")
    )
    return found


@cache
def filler() -> Mapping[str, Sequence[str]]:
    """Load the irrelevant text of documents: ``sentences`` and ``messages``."""
    found: dict[str, list[str]] = yaml.safe_load(
        (_HERE / "filler.yaml").read_text(encoding="utf-8")
    )
    return found


class Names:
    """Names for one task, from one part of the table."""

    def __init__(self, dice: Dice, part: Part) -> None:
        self._dice = dice
        self._part: Part = part

    def some(self, kind: str, count: int) -> list[str]:
        """Return ``count`` different names of a kind, or all if there are fewer."""
        return self._dice.some(table()[kind][self._part], count)

    def people(self, count: int) -> list[str]:
        """Return ``count`` different people, as first and family names."""
        given, family = table()["given"][self._part], table()["family"][self._part]
        places = self._dice.some(range(len(given) * len(family)), count)
        return [f"{given[at % len(given)]} {family[at // len(given)]}" for at in places]

    def sentences(self, count: int) -> list[str]:
        """Return ``count`` irrelevant sentences."""
        return [self._dice.pick(filler()["sentences"]) for _ in range(count)]

    def message(self) -> str:
        """Return a log message."""
        return self._dice.pick(filler()["messages"])
