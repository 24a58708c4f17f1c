"""Log of a training: JSON Lines in a file, and progress in the terminal."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agent.errors import TrainError
from agent.util.text import format_duration, one_line


class TrainingLog:
    """Append-only log; ``silent`` in all but one of several processes."""

    def __init__(self, path: Path, *, silent: bool = False) -> None:
        self.path = path
        self._silent = silent
        self._began = time.monotonic()

    def write(self, kind: str, **values: Any) -> None:
        """Append a line: kind, seconds since this process started, and the values."""
        if self._silent:
            return
        seconds = round(time.monotonic() - self._began, 1)
        line = json.dumps({"kind": kind, "seconds": seconds, **values})
        with self.path.open("ab+") as file:
            # After a truncated last line, start a new one.
            begin = b"" if _ends_with_newline(file) else b"\n"
            file.write(begin + line.encode() + b"\n")

    def lines(self, kind: str) -> Iterator[dict[str, Any]]:
        """Yield the lines of a kind in order; a truncated last line is skipped."""
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                found = json.loads(line)
            except ValueError as error:
                if line.endswith("}"):
                    raise TrainError(f"{self.path}, line {number}: not valid JSON.") from error
                continue
            if found.get("kind") == kind:
                yield found


def _ends_with_newline(file: BinaryIO) -> bool:
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


class Progress:
    """Prints the progress of a stage, and the time left by the steps of this process."""

    def __init__(self, stage: str, steps: int, done: int = 0) -> None:
        self._stage = stage
        self._steps = steps
        self._first = done
        self._began = time.monotonic()

    def report(self, step: int, message: str) -> None:
        """Report a completed step and its figures."""
        each = (time.monotonic() - self._began) / max(1, step - self._first)
        left = format_duration(each * (self._steps - step))
        print_line(
            f"{self._stage} {step}/{self._steps}: {message}; {each:.1f} s per step, {left} left"
        )


def print_line(text: str) -> None:
    """Print a line to stderr."""
    print(one_line(text), file=sys.stderr, flush=True)
