"""Templates of user messages, and random variation of their text.

In a template, ``[a|b|]`` is a choice of one part and ``{…}`` is a placeholder.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from agent.tasks.document_qa.rng import Dice

Part = Literal["train", "held_out"]
Table = Mapping[str, Sequence[str]]

_FILES: Mapping[Part, str] = {"train": "wordings.yaml", "held_out": "wordings_held_out.yaml"}
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_WORD = re.compile(r"(?<![{\w])[a-z]{5,}(?![}\w])")
_LOWER, _TYPO = 12, 8  # percent of sentences


@cache
def wordings(part: Part) -> Mapping[str, Table]:
    """Load templates: family → kind → templates; ``shared`` → name → common phrases."""
    text = (Path(__file__).with_name(_FILES[part])).read_text(encoding="utf-8")
    found: dict[str, str | dict[str, str]] = yaml.safe_load(text)
    shared = {name: _lines(each) for name, each in found.items() if isinstance(each, str)}
    tables = {
        name: {kind: _lines(lines) for kind, lines in each.items()}
        for name, each in found.items()
        if not isinstance(each, str)
    }
    return {**tables, "shared": shared}


def _lines(block: str) -> list[str]:
    return [line.strip() for line in block.splitlines() if line.strip()]


def joined(clause: str) -> str:
    """Return a clause to append, with a space before it unless punctuation starts it."""
    return clause if clause.startswith((",", ".", ";")) else f" {clause}"


def chosen(frame: str, dice: Dice) -> str:
    """Replace each choice in a template with one of its parts."""
    while found := _CHOICE.search(frame):
        part = dice.pick(found[1].split("|"))
        frame = frame[: found.start()] + part + frame[found.end() :]
    return frame


def dressed(frame: str, dice: Dice, part: Part) -> str:
    """Add an opening, a closing and an occasional typo; keep the placeholders."""
    shared = wordings(part)["shared"]
    if dice.below(100) < _TYPO:
        frame = _slip(frame, dice)
    text = _opened(frame, dice, shared)
    if not frame.endswith(("{raw}", "{chat}")):
        text = _closed(text, dice, shared)
    if dice.below(4) and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    return text.lower() if dice.below(100) < _LOWER else text


def _opened(frame: str, dice: Dice, shared: Table) -> str:
    imperative = frame[:1].islower()
    if imperative and dice.below(100) < 45:
        return f"{dice.pick(shared['openings'])} {frame}"
    if imperative or "{chat}" in frame or dice.below(100) >= 12:
        return frame
    return f"{dice.pick(shared['greetings'])} {frame}"


def _closed(text: str, dice: Dice, shared: Table) -> str:
    if text.endswith("?"):
        return text if dice.below(3) else text[:-1]
    if dice.below(100) < 12:
        return text + joined(dice.pick(shared["closings"]))
    asks = text.lower().startswith(("could", "can ", "would you "))
    return text + dice.pick(("?", "") if asks else (*(".", "") * 5, "!"))


def _slip(frame: str, dice: Dice) -> str:
    """Swap two letters of a longer word."""
    words = list(_WORD.finditer(frame))
    if not words:
        return frame
    at = dice.pick(words).start() + dice.between(1, 3)
    return frame[:at] + frame[at + 1] + frame[at] + frame[at + 2 :]
