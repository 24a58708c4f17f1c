"""Words that the rules refer to (``words.yaml``)."""

from functools import cache
from pathlib import Path

import yaml


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Return a list of words by its name."""
    return _lists()[name]


@cache
def _lists() -> dict[str, tuple[str, ...]]:
    text = Path(__file__).with_name("words.yaml").read_text(encoding="utf-8")
    return {name: tuple(words.split()) for name, words in yaml.safe_load(text).items()}
