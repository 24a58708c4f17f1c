"""Templates of user messages: ``[a|b|]`` is a choice of one part, ``{…}`` a placeholder."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from agent.tasks.document_qa.rng import Rng

Part = Literal["train", "held_out"]
Templates = Mapping[str, Sequence[str]]

_FILES: Mapping[Part, str] = {"train": "wordings.yaml", "held_out": "wordings_held_out.yaml"}
_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_WORD = re.compile(r"(?<![{\w])[a-z]{5,}(?![}\w])")
_LOWERCASE_PERCENT, _TYPO_PERCENT = 12, 8  # percent of sentences


@cache
def load_wordings(part: Part) -> Mapping[str, Templates]:
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


def with_leading_space(clause: str) -> str:
    """Return a clause to append, with a space before it unless punctuation starts it."""
    return clause if clause.startswith((",", ".", ";")) else f" {clause}"


def expand_choices(template: str, rng: Rng) -> str:
    """Replace each choice in a template with one of its parts."""
    while found := _CHOICE.search(template):
        part = rng.choice(found[1].split("|"))
        template = template[: found.start()] + part + template[found.end() :]
    return template


def decorate(template: str, rng: Rng, part: Part) -> str:
    """Add an opening, a closing and an occasional typo; keep the placeholders."""
    shared = load_wordings(part)["shared"]
    if rng.randbelow(100) < _TYPO_PERCENT:
        template = _add_typo(template, rng)
    text = _add_opening(template, rng, shared)
    if not template.endswith(("{raw}", "{chat}")):
        text = _add_closing(text, rng, shared)
    if rng.randbelow(4) and not text.startswith("{"):
        text = text[:1].upper() + text[1:]
    return text.lower() if rng.randbelow(100) < _LOWERCASE_PERCENT else text


def _add_opening(template: str, rng: Rng, shared: Templates) -> str:
    imperative = template[:1].islower()
    if imperative and rng.randbelow(100) < 45:
        return f"{rng.choice(shared['openings'])} {template}"
    if imperative or "{chat}" in template or rng.randbelow(100) >= 12:
        return template
    return f"{rng.choice(shared['greetings'])} {template}"


def _add_closing(text: str, rng: Rng, shared: Templates) -> str:
    if text.endswith("?"):
        return text if rng.randbelow(3) else text[:-1]
    if rng.randbelow(100) < 12:
        return text + with_leading_space(rng.choice(shared["closings"]))
    asks = text.lower().startswith(("could", "can ", "would you "))
    return text + rng.choice(("?", "") if asks else (*(".", "") * 5, "!"))


def _add_typo(template: str, rng: Rng) -> str:
    """Swap two letters of a longer word."""
    words = list(_WORD.finditer(template))
    if not words:
        return template
    at = rng.choice(words).start() + rng.randint(1, 3)
    return template[:at] + template[at + 1] + template[at] + template[at + 2 :]
