"""Random names, values and files for a file task, and phrases that mention them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks.synthetic_values import mask_coefficients, synthetic_value
from agent.tasks.file_tasks.task import FileTaskDraft
from agent.tasks.file_tasks.wording import Part, expand_choices, load_wordings, with_leading_space

FILE_TYPE_WORDS: Mapping[str, Sequence[str]] = {
    "csv": ("table", "csv", "data", "csv file", "spreadsheet"),
    "json": ("json", "json file", "data"),
    "md": ("notes", "markdown file", "text"),
    "zip": ("zip", "archive", "zip file"),
}
_TEXT = ("text", "text file", "document", "txt")
_QUOTES = ('"{}"', '"{}"', "'{}'", "{}", "{}", "`{}`", "“{}”")


@cache
def load_values() -> Mapping[str, Mapping[Part, Sequence[str]]]:
    """Load ``values.yaml``: kind → part → values."""
    found: dict[str, dict[Part, list[object]]] = yaml.safe_load(
        Path(__file__).with_name("values.yaml").read_text(encoding="utf-8")
    )
    return {
        kind: {part: [_yaml_text(each) for each in listed] for part, listed in parts.items()}
        for kind, parts in found.items()
    }


def _held_out(kind: str, value: str) -> bool:
    """Return whether a synthetic function has the shape of a held-out one."""
    return kind == "function" and _masked_shape(value) in _held_out_shapes()


@cache
def _held_out_shapes() -> frozenset[str]:
    return frozenset(map(_masked_shape, load_values()["function"]["held_out"]))


def _masked_shape(function: str) -> str:
    return mask_coefficients(function.format(a=2, b=2))


def _yaml_text(value: object) -> str:
    """Return a value as text, undoing YAML's conversion of ``yes`` and ``no``."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


class TaskSampler:
    """The random choices for one file task: values of a part, template slots, input files."""

    def __init__(self, rng: Rng, part: Part, wording_part: Part, template: str) -> None:
        self.rng = rng
        self.part: Part = part
        self.template = template
        self.slots: dict[str, str] = {"to": "", "then": "", "range": ""}
        self.files: dict[str, str | bytes] = {}
        self.path_is_given = False
        self.out_path = ""
        self._wordings = load_wordings(wording_part)
        self._used: set[str] = set()

    def has_slot(self, slot: str) -> bool:
        """Return whether the template has this placeholder."""
        return f"{{{slot}}}" in self.template

    def sample(self, kind: str) -> str:
        """Return a value of a kind not yet used in this task; it may be synthetic."""
        value = self.synthetic_value(kind)
        if value is None:
            listed = load_values()[kind][self.part]
            left = [each for each in listed if each.lower() not in self._used] or listed
            value = self.rng.choice(left)
        self._used.add(value.lower())
        return value

    def synthetic_value(self, kind: str) -> str | None:
        """Return a synthetic training value, or None."""
        value = synthetic_value(kind, self.rng) if self.part == "train" else None
        known = value is not None and (value.lower() in self._used or _held_out(kind, value))
        return None if known else value

    def sample_many(self, kind: str, count: int) -> list[str]:
        """Return different values of a kind."""
        return [self.sample(kind) for _ in range(count)]

    def random_number(self, low: int, high: int) -> int:
        """Return a number of this part; held-out ones are those with ``abs(n) % 5 == 3``."""
        while True:
            value = self.rng.randint(low, high)
            if (abs(value) % 5 == 3) == (self.part == "held_out"):
                return value

    def quote(self, text: str) -> str:
        """Put a word in one of several kinds of quotes, or in none."""
        return self.rng.choice(_QUOTES).format(text)

    def file_name(self, kind: str, suffix: str) -> str:
        """Return a file name built from a kind's words, in one of several forms."""
        stem = self.sample(kind)
        difficulty = self.rng.randbelow(20)
        if difficulty < 7:
            separator = self.rng.choice(("_", "-", "_", "-", "", " "))
            glue = separator if stem[-1].isalpha() or separator else "_"
            stem += glue + (
                self.sample("tail") if difficulty < 5 else str(self.random_number(1, 99))
            )
        elif difficulty == 7:
            stem = stem.capitalize()
        elif difficulty == 8:
            stem = stem.upper()
        elif difficulty in (9, 10):
            stem = f"{self.sample('word')}{self.rng.choice(('_', '-'))}{stem}"
        return f"{stem}.{suffix}"

    def add_input(self, suffix: str, content: str | bytes, *, slot: str = "file") -> str:
        """Add an input file, sometimes with unrelated ones, and describe it in ``slot``."""
        name = self.file_name("stem", suffix)
        self.files[name] = content
        if slot == "file" and not self.rng.randbelow(4):
            self.add_unrelated_files()
        alone = len(self.files) == 1 and slot == "file" and self.rng.randbelow(100) < 35
        forms = self._wordings["mentions"]["alone" if alone else "named"]
        stem = name.rsplit(".", 1)[0].replace("_", " ").replace("-", " ").lower()
        kind = self.rng.choice(FILE_TYPE_WORDS.get(suffix, _TEXT))
        self.slots[slot] = self.rng.choice(forms).format(name=name, kind=kind, stem=stem)
        return name

    def add_unrelated_files(self) -> None:
        """Add one or two unrelated files."""
        for _ in range(self.rng.randint(1, 2)):
            suffix = self.rng.choice(("txt", "md", "csv", "txt"))
            self.files[self.file_name("stem", suffix)] = (
                f"{self.sample('word')}\n{self.sample('word')}\n"
            )

    def choose_output(self, default: str) -> str:
        """Choose the output path: ``output/`` with a requested name or the default name."""
        is_required = self.has_slot("out")
        clause = next((slot for slot in ("to", "then") if self.has_slot(slot)), "")
        self.path_is_given = is_required or (bool(clause) and self.rng.randbelow(100) < 45)
        if not self.path_is_given:
            self.out_path = f"output/{default}"
            return self.out_path
        self.out_path = f"output/{self.file_name('out', default.rsplit('.', 1)[-1])}"
        path_text = (
            self.out_path if not self.rng.randbelow(3) else self.out_path.removeprefix("output/")
        )
        path_text = self.rng.choice(("{}", "{}", "{}", "{}", '"{}"', "`{}`", "'{}'")).format(
            path_text
        )
        self.slots["out"] = path_text
        if clause and not is_required:
            template = expand_choices(self.rng.choice(self._wordings["shared"][clause]), self.rng)
            self.slots[clause] = with_leading_space(template.format(out=path_text))
        return self.out_path

    def choose_range(self, start: int, max_length: int) -> tuple[int, int] | None:
        """Choose a plot range and mention it in the template; return None to omit it."""
        if self.rng.randbelow(100) < 35:
            return None
        until = start + self.random_number(2, max_length)
        phrase = expand_choices(self.rng.choice(self._wordings["shared"]["range"]), self.rng)
        self.slots["range"] = with_leading_space(phrase.format_map({"from": start, "until": until}))
        return start, until


DraftFactory = Callable[[TaskSampler], FileTaskDraft]
