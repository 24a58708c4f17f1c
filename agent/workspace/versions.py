"""The manifests of a run on disk: one line of JSON a step, what that step changed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from agent.errors import JournalError
from agent.workspace.manifest import Delta, Manifest


class Versions:
    """A run's file of deltas. A torn last line (the process was killed) does not count.

    Args:
        path: The file; made with the first step that changed anything.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mended = False

    def append(self, step: int, delta: Delta) -> None:
        """Keep what a step did."""
        if not self._mended:
            self._mend()
        line = json.dumps({"step": step, **delta.to_json()}).encode() + b"\n"
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError:
            self._mended = False  # a part of it may be there
            raise

    def read(self) -> Iterator[tuple[int, Delta]]:
        """The deltas in order, each with its step; ends at the first that is not whole."""
        return ((step, delta) for _, step, delta in self.after(0))

    def after(self, position: int) -> Iterator[tuple[int, int, Delta]]:
        """As ``read``, from a place in the file on; each with the place behind it."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                position += len(line)
                try:
                    data = json.loads(line)
                    yield position, int(data["step"]), Delta.from_json(data)
                except (ValueError, TypeError, KeyError, JournalError):
                    return

    def manifest(self, step: int | None = None) -> Manifest:
        """The workspace as it was after ``step``; the latest known if None."""
        return Manifest.after(
            delta for number, delta in self.read() if step is None or number <= step
        )

    def _mend(self) -> None:
        """Cut off what follows the last line end."""
        self._mended = True
        if self._path.exists():
            whole = self._path.read_bytes().rfind(b"\n") + 1
            os.truncate(self._path, whole)
