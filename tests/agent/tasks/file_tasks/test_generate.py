"""Generation of file tasks: deterministic, and without held-out data in training."""

import hashlib
import itertools
import re
from collections.abc import Iterator

import pytest

from agent.errors import TaskError
from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks import generate
from agent.tasks.file_tasks.generate import families, generate_file_tasks, kinds
from agent.tasks.file_tasks.sampler import load_values
from agent.tasks.file_tasks.synthetic_values import (
    load_vocabulary,
    mask_coefficients,
    synthetic_value,
    to_python,
)
from agent.tasks.file_tasks.wording import Part, load_wordings

VARIED_BY_VALUES = [("outside", "chat"), ("outside", "knowledge")]
KINDS = [(family, kind) for family in families() for kind in kinds(family)]
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


def expansions(frame: str) -> Iterator[str]:
    """Yield every expansion of a frame, in lower case."""
    pieces = _CHOICE.split(frame)
    choices = [part.split("|") if at % 2 else [part] for at, part in enumerate(pieces)]
    for choice in itertools.product(*choices):
        yield " ".join("".join(choice).lower().split())


def sentences(part: Part, family: str, kind: str) -> set[str]:
    return {
        re.sub(r"\{(to|then|range)\}", "", each).strip(" ?")
        for frame in load_wordings(part)[family][kind]
        for each in expansions(frame)
    }


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_wordings_are_many_and_held_out_ones_are_not_in_training(family: str, kind: str) -> None:
    train, held_out = (sentences(part, family, kind) for part in ("train", "held_out"))
    if (family, kind) not in VARIED_BY_VALUES:
        assert len(train) >= 25
    assert len(held_out) >= 6
    assert not train & held_out


def test_held_out_values_are_not_in_training() -> None:
    for kind, parts in load_values().items():
        train, held_out = ({each.lower() for each in parts[part]} for part in parts)
        assert not train & held_out, kind
        assert len(parts["train"]) == len(set(parts["train"])), kind
        words = {word for each in held_out for word in re.findall("[a-z]+", each)}
        assert not words & set(load_vocabulary()), kind


def test_synthetic_functions_are_valid_python() -> None:
    for number in range(300):
        function = synthetic_value("function", Rng("function", number))
        compile(to_python((function or "x").format(a=2, b=3)), "function", "eval")
    assert to_python("2x^2 + 3sin(4x)") == "2*x**2 + 3*sin(4*x)"
    cubic = mask_coefficients("5x^3 + 1")
    assert cubic == mask_coefficients("2 * x**3+7") != mask_coefficients("5x^4 + 1")


def test_the_parameters_split_uses_other_file_names() -> None:
    training_stems = set(load_values()["stem"]["train"])
    names = {
        re.split(r"[_\-. \d]", name)[0]
        for task in generate_file_tasks("parameters", 200, 1)
        for name in task.input_files
    }
    assert not names & training_stems


def tasks_as_text(seed: int) -> str:
    tasks = generate_file_tasks("train", 200, seed)
    return "\n".join(f"{each.text} {each.commands} {each.input_files}" for each in tasks)


def test_the_same_seed_generates_the_same_tasks() -> None:
    assert tasks_as_text(seed=3) == tasks_as_text(seed=3)
    assert tasks_as_text(seed=3) != tasks_as_text(seed=4)
    assert hashlib.sha256(tasks_as_text(seed=3).encode()).hexdigest()[:16] == "40db33dd8d36bf79"


def test_an_unknown_family_is_reported() -> None:
    with pytest.raises(TaskError, match="'cooking'"):
        list(generate_file_tasks("train", 1, 0, "cooking"))


def test_every_kind_has_wordings() -> None:
    for part in ("train", "held_out"):
        wordings = load_wordings(part)
        for family, table in generate.FAMILIES.items():
            assert set(wordings[family]) == set(table), (part, family)
