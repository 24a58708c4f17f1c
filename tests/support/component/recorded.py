"""The recorded fixtures: answers of the real routes."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "fixtures" / "component"
PAGE = "page.html"
NOW = 1_750_000_000.0
"""The time of everything that is recorded."""


def recorded(name: str) -> dict[str, Any]:
    """Return the answers of a recording by request, such as ``GET results``; a copy."""
    return copy.deepcopy(_read(name))


@cache
def _read(name: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return answers


@cache
def bare_page() -> tuple[str, str]:
    head, body = (FOLDER / PAGE).read_text().split("<!-- body -->\n")
    return head, body
