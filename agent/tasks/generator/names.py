"""Names of people, places and things, from ``names.yaml`` beside this file."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from agent.tasks.generator.dice import Dice

Part = Literal["train", "held_out"]
_HERE = Path(__file__).parent


@cache
def table() -> Mapping[str, Mapping[Part, Sequence[str]]]:
    """Kind → part → names."""
    found: dict[str, dict[Part, list[str]]] = yaml.safe_load(
        (_HERE / "names.yaml").read_text(encoding="utf-8")
    )
    return found


@cache
def filler() -> Mapping[str, Sequence[str]]:
    """What stands in documents beside what matters: ``sentences`` and ``messages``."""
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
        """``count`` different names of a kind, or all there are."""
        return self._dice.some(table()[kind][self._part], count)

    def people(self, count: int) -> list[str]:
        """``count`` different people, by first and family name."""
        given, family = table()["given"][self._part], table()["family"][self._part]
        places = self._dice.some(range(len(given) * len(family)), count)
        return [f"{given[at % len(given)]} {family[at // len(given)]}" for at in places]

    def sentences(self, count: int) -> list[str]:
        """``count`` sentences that say nothing of interest."""
        return [self._dice.pick(filler()["sentences"]) for _ in range(count)]

    def message(self) -> str:
        """A message of a program."""
        return self._dice.pick(filler()["messages"])
