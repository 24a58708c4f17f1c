"""Outputs that are too long for the journal, kept beside it."""

import hashlib
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.events import ToolOutput

JOURNAL_BYTES = 64 * 1024
_TAIL = 2048
_NAMED = 40
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class LongOutputs:
    """Moves what a stream writes past 64 KB into a file; the journal keeps its last words.

    The file holds the stream from its beginning on, so that it can be read by itself.

    Args:
        folder: Where the files go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._short: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._files: dict[str, BinaryIO] = {}

    def shorten(self, event: ToolOutput) -> ToolOutput:
        """The event as the journal keeps it."""
        name = f"{event.step}-{_plain(event.call_id)}.{event.stream}"
        text = _with_gap(event)
        size = self._sizes.get(name, 0) + len(text.encode())
        self._sizes[name] = size
        if size <= JOURNAL_BYTES:
            self._short.setdefault(name, []).append(text)
            return event
        self._write(name, text)
        return replace(event, text=event.text[-_TAIL:], beside=name)

    def end_call(self) -> None:
        """The call has ended: close its files."""
        for file in self._files.values():
            with suppress(OSError):  # what it held is lost, as the event before says
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


def _plain(call_id: str) -> str:
    """The id as a part of a file's name, another for every id."""
    plain = _UNSAFE.sub("_", call_id)[:_NAMED]
    if plain == call_id:
        return plain
    return f"{plain}-{hashlib.sha256(call_id.encode()).hexdigest()[:16]}"


def _with_gap(event: ToolOutput) -> str:
    if not event.skipped:
        return event.text
    return f"\n[{event.skipped:,} bytes left out]\n{event.text}"
