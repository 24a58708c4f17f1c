"""Random names, values and files for a file task, and phrases that mention them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from agent.tasks.document_qa.rng import Dice
from agent.tasks.file_tasks.synthetic_values import coined, shape_of
from agent.tasks.file_tasks.task import Draft
from agent.tasks.file_tasks.wording import Part, chosen, joined, wordings

KINDS: Mapping[str, Sequence[str]] = {
    "csv": ("table", "csv", "data", "csv file", "spreadsheet"),
    "json": ("json", "json file", "data"),
    "md": ("notes", "markdown file", "text"),
    "zip": ("zip", "archive", "zip file"),
}
_TEXT = ("text", "text file", "document", "txt")
_QUOTES = ('"{}"', '"{}"', "'{}'", "{}", "{}", "`{}`", "“{}”")


@cache
def values() -> Mapping[str, Mapping[Part, Sequence[str]]]:
    """Load ``values.yaml``: kind → part → values."""
    found: dict[str, dict[Part, list[object]]] = yaml.safe_load(
        Path(__file__).with_name("values.yaml").read_text(encoding="utf-8")
    )
    return {
        kind: {part: [_word(each) for each in listed] for part, listed in parts.items()}
        for kind, parts in found.items()
    }


def _held_out(kind: str, value: str) -> bool:
    """Return whether a synthetic function has the shape of a held-out one."""
    return kind == "function" and _shape(value) in _held_out_shapes()


@cache
def _held_out_shapes() -> frozenset[str]:
    return frozenset(map(_shape, values()["function"]["held_out"]))


def _shape(function: str) -> str:
    return shape_of(function.format(a=2, b=2))


def _word(value: object) -> str:
    """Return a value as text, undoing YAML's conversion of ``yes`` and ``no``."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class Draw:
    """The random choices for one file task.

    ``slots`` has the values of the template's placeholders, ``files`` the input files.

    Args:
        dice: Random generator.
        part: Part to take values from.
        worded: Part to take wordings from.
        frame: Template of the sentence.
    """

    def __init__(self, dice: Dice, part: Part, worded: Part, frame: str) -> None:
        self.dice = dice
        self.part: Part = part
        self.frame = frame
        self.slots: dict[str, str] = {"to": "", "then": "", "range": ""}
        self.files: dict[str, str | bytes] = {}
        self.named = False
        self.out_path = ""
        self._words = wordings(worded)
        self._taken: set[str] = set()

    def asks(self, slot: str) -> bool:
        """Return whether the template has this placeholder."""
        return f"{{{slot}}}" in self.frame

    def one(self, kind: str) -> str:
        """Return a value of a kind not yet used in this task; it may be synthetic."""
        found = self.coined(kind)
        if found is None:
            listed = values()[kind][self.part]
            left = [each for each in listed if each.lower() not in self._taken] or listed
            found = self.dice.pick(left)
        self._taken.add(found.lower())
        return found

    def coined(self, kind: str) -> str | None:
        """Return a synthetic training value, or None."""
        found = coined(kind, self.dice) if self.part == "train" else None
        known = found is not None and (found.lower() in self._taken or _held_out(kind, found))
        return None if known else found

    def some(self, kind: str, count: int) -> list[str]:
        """Return different values of a kind."""
        return [self.one(kind) for _ in range(count)]

    def number(self, least: int, most: int) -> int:
        """Return a number of this part; held-out ones are those with ``abs(n) % 5 == 3``."""
        while True:
            found = self.dice.between(least, most)
            if (abs(found) % 5 == 3) == (self.part == "held_out"):
                return found

    def quoted(self, text: str) -> str:
        """Put a word in one of several kinds of quotes, or in none."""
        return self.dice.pick(_QUOTES).format(text)

    def name(self, kind: str, suffix: str) -> str:
        """Return a file name built from a kind's words, in one of several forms."""
        stem = self.one(kind)
        shape = self.dice.below(20)
        if shape < 7:
            sign = self.dice.pick(("_", "-", "_", "-", "", " "))
            glue = sign if stem[-1].isalpha() or sign else "_"
            stem += glue + (self.one("tail") if shape < 5 else str(self.number(1, 99)))
        elif shape == 7:
            stem = stem.capitalize()
        elif shape == 8:
            stem = stem.upper()
        elif shape in (9, 10):
            stem = f"{self.one('word')}{self.dice.pick(('_', '-'))}{stem}"
        return f"{stem}.{suffix}"

    def file(self, suffix: str, content: str | bytes, *, slot: str = "file") -> str:
        """Add an input file, sometimes with unrelated ones, and describe it in ``slot``."""
        name = self.name("stem", suffix)
        self.files[name] = content
        if slot == "file" and not self.dice.below(4):
            self.add_other()
        alone = len(self.files) == 1 and slot == "file" and self.dice.below(100) < 35
        forms = self._words["mentions"]["alone" if alone else "named"]
        stem = name.rsplit(".", 1)[0].replace("_", " ").replace("-", " ").lower()
        kind = self.dice.pick(KINDS.get(suffix, _TEXT))
        self.slots[slot] = self.dice.pick(forms).format(name=name, kind=kind, stem=stem)
        return name

    def add_other(self) -> None:
        """Add one or two unrelated files."""
        for _ in range(self.dice.between(1, 2)):
            suffix = self.dice.pick(("txt", "md", "csv", "txt"))
            self.files[self.name("stem", suffix)] = f"{self.one('word')}\n{self.one('word')}\n"

    def out(self, default: str, kind: str = "out") -> str:
        """Choose the output path: ``output/`` with a requested name or the default name."""
        forced = self.asks("out")
        clause = next((slot for slot in ("to", "then") if self.asks(slot)), "")
        self.named = forced or (bool(clause) and self.dice.below(100) < 45)
        if not self.named:
            self.out_path = f"output/{default}"
            return self.out_path
        self.out_path = f"output/{self.name(kind, default.rsplit('.', 1)[-1])}"
        shown = self.out_path if not self.dice.below(3) else self.out_path.removeprefix("output/")
        shown = self.dice.pick(("{}", "{}", "{}", "{}", '"{}"', "`{}`", "'{}'")).format(shown)
        self.slots["out"] = shown
        if clause and not forced:
            frame = chosen(self.dice.pick(self._words["shared"][clause]), self.dice)
            self.slots[clause] = joined(frame.format(out=shown))
        return self.out_path

    def range(self, start: int, most: int) -> tuple[int, int] | None:
        """Choose a plot range and mention it in the template; return None to omit it."""
        if self.dice.below(100) < 35:
            return None
        until = start + self.number(2, most)
        said = chosen(self.dice.pick(self._words["shared"]["range"]), self.dice)
        self.slots["range"] = joined(said.format_map({"from": start, "until": until}))
        return start, until


Make = Callable[[Draw], Draft]
