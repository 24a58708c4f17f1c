"""Marking of hidden characters; ``hidden_characters.test.js`` runs the same cases on the page."""

import json
from pathlib import Path

import pytest

from agent.util.text import mark_hidden

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "hidden_characters.json").read_text())


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_hidden_character_is_shown_by_its_code(case: dict[str, str]) -> None:
    assert mark_hidden(case["text"]) == case["marked"]
