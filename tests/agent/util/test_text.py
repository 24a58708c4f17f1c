"""Hidden characters, as in ``hidden_characters.test.js``, and counts in words."""

import json
from pathlib import Path

import pytest

from agent.util.text import mark_hidden, plural

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "hidden_characters.json").read_text())


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_hidden_character_is_shown_by_its_code(case: dict[str, str]) -> None:
    assert mark_hidden(case["text"]) == case["marked"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((0, "step"), "0 steps"),
        ((1, "step"), "1 step"),
        ((2_000, "step"), "2,000 steps"),
        ((2, "sandbox", "sandboxes"), "2 sandboxes"),
    ],
)
def test_a_count_agrees_with_its_noun(arguments: tuple[int, str], shown: str) -> None:
    assert plural(*arguments) == shown
