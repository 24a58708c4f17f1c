"""The manifest file of a run: one JSON line per delta."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from agent.errors import JournalError
from agent.util.state_files import open_record, read_record
from agent.workspace.versions.manifest import Delta, Manifest


class ManifestLog:
    """A run's file of deltas; an incomplete last line, left by a killed process, is ignored.

    ``damage`` is a sentence on what reading found to be damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repaired = False
        self.damage = ""

    def append(self, step: int, delta: Delta) -> None:
        """Append the delta of a step."""
        if not self._repaired:
            self._repair()
        line = json.dumps({"step": step, **delta.to_json()}).encode() + b"\n"
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError:
            self._repaired = False  # the line may be partly written
            raise

    def read(self) -> Iterator[tuple[int, Delta]]:
        """Yield the deltas in order, each with its step, up to the first invalid line."""
        return ((step, delta) for _, step, delta in self.read_from(0))

    def read_from(self, offset: int) -> Iterator[tuple[int, int, Delta]]:
        """Like ``read``, from a file position on; yield (position after the delta, step, delta)."""
        if not self._path.exists():
            return
        with open_record(self._path) as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                offset += len(line)
                try:
                    step, delta = decode_delta(line)
                except JournalError:
                    self.damage = (
                        f"The run's record is damaged: {self._path.name} cannot be read from byte "
                        f"{offset - len(line):,} on. Later changes of files are not known."
                    )
                    return
                yield offset, step, delta

    def manifest(self, step: int | None = None) -> Manifest:
        """Return the manifest after ``step`` (0: before the first); the latest if None."""
        manifest = Manifest()
        for number, delta in self.read():
            if step is None or number <= step:
                manifest.apply(delta)
                manifest.step = manifest.step if delta.by_user else number
        return manifest

    def _repair(self) -> None:
        """Truncate the file after its last newline."""
        self._repaired = True
        if self._path.exists():
            complete_size = read_record(self._path).rfind(b"\n") + 1
            os.truncate(self._path, complete_size)


def decode_delta(line: bytes) -> tuple[int, Delta]:
    """Return the step and the delta of a line."""
    try:
        data = json.loads(line)
        return int(data["step"]), Delta.from_json(data)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise JournalError("A record of the workspace's changes cannot be read.") from error
