"""Outputs of commands that are too long for the journal: files among the run's outputs."""

import hashlib
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.events import ToolOutput

MAX_JOURNAL_BYTES = 64 * 1024
_TAIL = 2048
_MAX_ID_CHARS = 40
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class LongOutputs:
    """Moves a whole stream over 64 KB to a file; the journal keeps the end of each output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._short: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._files: dict[str, BinaryIO] = {}

    def truncate(self, event: ToolOutput) -> ToolOutput:
        """Return the event to write to the journal."""
        name = f"{event.step}-{_safe_name(event.call_id)}.{event.stream}"
        text = _with_gap(event)
        size = self._sizes.get(name, 0) + len(text.encode())
        self._sizes[name] = size
        if size <= MAX_JOURNAL_BYTES:
            self._short.setdefault(name, []).append(text)
            return event
        self._write(name, text)
        return replace(event, text=event.text[-_TAIL:], output_file=name)

    def end_call(self) -> None:
        """Close the files of the call that ended."""
        for file in self._files.values():
            with suppress(OSError):  # the unwritten rest is lost; the preceding event says so
                file.close()
        self._files.clear()
        self._short.clear()
        self._sizes.clear()

    def _write(self, name: str, text: str) -> None:
        if name not in self._files:
            self._files[name] = (self._folder / name).open("wb")
            self._files[name].write("".join(self._short.pop(name, [])).encode())
        self._files[name].write(text.encode())
        self._files[name].flush()


def _safe_name(call_id: str) -> str:
    """Return a unique part of a file name for a call id."""
    plain = _UNSAFE.sub("_", call_id)[:_MAX_ID_CHARS]
    if plain == call_id:
        return plain
    return f"{plain}-{hashlib.sha256(call_id.encode()).hexdigest()[:16]}"


def _with_gap(event: ToolOutput) -> str:
    if not event.skipped:
        return event.text
    return f"\n[{event.skipped:,} bytes left out]\n{event.text}"
