"""Bounds of what an API gives to be given back: size, number and depth."""

import json
from collections.abc import Mapping
from typing import Any

from agent.models.base import OpaqueParts
from agent.util.text import replace_surrogates

MAX_OPAQUE_CHARACTERS = 4 * 1024**2  # of the opaque parts of one answer, as JSON
_MAX_DEPTH = 32


def is_shallow(value: object, depth: int = _MAX_DEPTH) -> bool:
    """Return whether a JSON value is nested at most ``depth`` times."""
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for each in level
            if isinstance(each, list | Mapping)
            for inner in (each.values() if isinstance(each, Mapping) else each)
        ]
        if not level:
            return True
    return False


def bounded(family: str, parts: Mapping[str, Any]) -> OpaqueParts | None:
    """Return an answer's opaque parts; None if there are none or they exceed the bounds."""
    if not parts or not is_shallow(parts):
        return None
    text = json.dumps(parts, ensure_ascii=False)
    if len(text) > MAX_OPAQUE_CHARACTERS:
        return None
    cleaned = replace_surrogates(text)
    return OpaqueParts(family, parts if cleaned == text else json.loads(cleaned))
