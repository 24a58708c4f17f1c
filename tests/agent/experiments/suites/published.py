"""Data in the form in which the authors of the benchmarks publish theirs."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LETTERED = {"question": "Which?", "A": "one", "B": "two", "C": "three", "D": "four", "answer": "C"}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a file of JSON Lines; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
