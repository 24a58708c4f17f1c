"""What a training says of itself: JSON lines in a file, and a line at the terminal."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agent.errors import TrainError
from agent.legible import one_line


class Log:
    """The record of a training, appended to.

    Args:
        path: The file; what stands in it already stays.
        silent: Whether nothing is written: of several processes one speaks.
    """

    def __init__(self, path: Path, *, silent: bool = False) -> None:
        self.path = path
        self._silent = silent
        self._began = time.monotonic()

    def write(self, kind: str, **values: Any) -> None:
        """Add a line: its kind, the seconds since this process began, and the values."""
        if self._silent:
            return
        seconds = round(time.monotonic() - self._began, 1)
        line = json.dumps({"kind": kind, "seconds": seconds, **values})
        with self.path.open("ab+") as file:
            # A line that was cut off stays one by itself.
            begin = b"" if _ended(file) else b"\n"
            file.write(begin + line.encode() + b"\n")

    def lines(self, kind: str) -> Iterator[dict[str, Any]]:
        """What was written of a kind, in order; a last line that was cut off is passed over."""
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                found = json.loads(line)
            except ValueError as error:
                if line.endswith("}"):
                    raise TrainError(f"{self.path}, line {number}: no JSON.") from error
                continue
            if found.get("kind") == kind:
                yield found


def _ended(file: BinaryIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


class Progress:
    """Tells at the terminal how far a stage is, and how long the rest will take.

    Args:
        stage: What goes on.
        steps: How many there are in all.
        done: How many were done before this process began.
    """

    def __init__(self, stage: str, steps: int, done: int = 0) -> None:
        self._stage = stage
        self._steps = steps
        self._first = done
        self._began = time.monotonic()

    def tell(self, step: int, what: str) -> None:
        """Say that a step is done, and what came of it."""
        each = (time.monotonic() - self._began) / max(1, step - self._first)
        left = spoken(each * (self._steps - step))
        say(f"{self._stage} {step}/{self._steps}: {what}; {each:.1f} s a step, {left} left")


def spoken(seconds: float) -> str:
    """A duration in words of a person."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def say(text: str) -> None:
    """Write a line to the terminal."""
    print(one_line(text), file=sys.stderr, flush=True)
