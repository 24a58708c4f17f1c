"""Observations: a command's output, made readable and clipped with notes."""

import codecs
from dataclasses import dataclass

from agent.sandbox.base import Finished, Output, Stream
from agent.util.text import EscapeFilter, legible

_RULE = "-" * 50
_STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Clip:
    """How much of one stream is shown: lines at each end, and characters in total."""

    lines: int = 40
    characters: int = 10_000


class LiveText:
    """Incremental decoder of a command's two streams, which arrive in chunks."""

    def __init__(self) -> None:
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: make("replace") for stream in _STREAMS}

    def decode(self, item: Output) -> str:
        """Return the text completed by ``item``; bytes that are not UTF-8 become ``�``.

        A gap (``item.skipped``) discards an incomplete character before it.
        """
        if item.skipped:
            self._decoders[item.stream].reset()
        return self._decoders[item.stream].decode(item.data)

    def end(self, stream: Stream) -> str:
        """Return the replacement of an incomplete character at the stream's end."""
        return self._decoders[stream].decode(b"", final=True)


class Collector:
    """Collects a command's output and builds the observation for the model.

    Memory use is bounded by a few times the clip's characters.

    Args:
        clip: How much of each stream is shown.
    """

    def __init__(self, clip: Clip | None = None) -> None:
        clip = clip or Clip()
        self._text = LiveText()
        self._streams = {stream: _Stream(clip) for stream in _STREAMS}

    def feed(self, item: Output) -> None:
        """Add output of the command."""
        stream = self._streams[item.stream]
        if item.skipped:
            stream.skip(item.skipped)
        stream.feed(self._text.decode(item))

    def observation(self, finished: Finished, *, timeout: float) -> str:
        """Return the result of ``execute_bash`` for the model.

        Args:
            finished: How the command ended.
            timeout: Its time limit in seconds, shown if it was reached.
        """
        shown = {}
        for name, stream in self._streams.items():
            stream.feed(self._text.end(name))
            shown[name] = stream.shown()
        parts = [_headline(finished, timeout), "Execution output of [execute_bash]:"]
        parts += ["[STDOUT]", shown["stdout"]]
        if shown["stderr"].strip():
            parts += ["[STDERR]", shown["stderr"]]
        if finished.full:
            parts.append(f"Note: {finished.full}")
        if finished.note:
            parts.append(f"Note: {finished.note}")
        return "\n".join(parts)


def _headline(finished: Finished, timeout: float) -> str:
    match finished.ending:
        case "timeout":
            limit = f"its time limit of {round(timeout, 1):g} s"
            return f"Error: the command was ended after {limit}; its output until then is below."
        case "full":
            return "Error: the command was ended because the disk was full; see the note below."
        case "stop":
            return "Error: the command was ended because the run was stopped."
        case "lost":
            return "Error: the sandbox was lost while the command ran."
    code = finished.exit_code
    return "Exit code: 0" if code == 0 else f"Error: Exit code {code}"


def clipped(text: str, clip: Clip) -> str:
    """Return a text as the model sees it, clipped like a command's output."""
    stream = _Stream(clip)
    stream.feed(text)
    return stream.shown()


class _Ends:
    """The first and the last ``limit`` characters of a text of any length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        self.first = self._last = ""
        self.total = 0

    @property
    def last(self) -> str:
        return self._last[-self._limit :]

    def add(self, text: str) -> None:
        self.total += len(text)
        self.first += text[: self._limit - len(self.first)]
        self._last += text[-self._limit :]
        if len(self._last) > 4 * self._limit:
            self._last = self.last

    def extend(self, other: "_Ends") -> None:
        """Add a text of which only the ends are known, with the same limit."""
        self.add(other.first)
        rest = other.total - len(other.first)
        if rest:
            self.add(other.last[-rest:])
            self.total += max(0, rest - self._limit)


class _Stream:
    """Both ends of a stream, without escape sequences and overwritten text."""

    def __init__(self, clip: Clip) -> None:
        self._clip = clip
        self._escapes = EscapeFilter()
        self._line = _Ends(clip.characters)
        self._returned = False
        self._all = _Ends(clip.characters)
        self._newlines = 0
        self._skipped = 0
        self._split_at: int | None = None

    def feed(self, text: str) -> None:
        text = self._escapes.feed(text)
        if self._returned and text:
            text, self._returned = "\r" + text, False
        *lines, rest = text.split("\n")
        if lines:
            self._overprint(lines[0].rstrip("\r"))
            self._end_line()
            self._add_lines(lines[1:])
        self._returned = self._returned or rest.endswith("\r")
        self._overprint(rest.rstrip("\r"))

    def skip(self, count: int) -> None:
        """Record a gap of ``count`` bytes that the sandbox did not keep."""
        self._flush_line()
        if self._split_at is None:
            self._split_at = self._all.total
        else:
            self._add_lines(["", f"[… {count} bytes not kept …]"])
        self._skipped += count

    def shown(self) -> str:
        """Return the stream as the model sees it, without its last line end."""
        self._flush_line()
        head, tail = self._halves()
        if not self._skipped and len(head) + len(tail) == self._all.total:
            return legible(head + tail).removesuffix("\n")
        joint = "\n" if head and not head.endswith("\n") else ""
        return legible(f"{head}{joint}{self._gap(head, tail)}\n{tail}").removesuffix("\n")

    def _overprint(self, text: str) -> None:
        """Continue the line; a carriage return in ``text`` discards what precedes it."""
        _, returned, last = text.rpartition("\r")
        if returned:
            self._line.clear()
        self._line.add(last)

    def _end_line(self) -> None:
        self._flush_line()
        self._all.add("\n")
        self._newlines += 1

    def _flush_line(self) -> None:
        self._all.extend(self._line)
        self._line.clear()
        self._returned = False

    def _add_lines(self, lines: list[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if "\r" in text:
            text = "".join(line.rstrip("\r").rpartition("\r")[2] + "\n" for line in lines)
        self._all.add(text)
        self._newlines += len(lines)

    def _halves(self) -> tuple[str, str]:
        """Return the text shown before the cut and after it; the two never overlap."""
        text, lines, limit = self._all, self._clip.lines, self._clip.characters
        head, tail = text.first, text.last
        if self._newlines + (not tail.endswith("\n")) > 2 * lines:
            head = _first_lines(head, lines)
            tail = _last_lines(tail, lines)
        elif text.total <= limit:
            split = text.total if self._split_at is None else self._split_at
            return head[:split], head[split:]
        if self._split_at is not None:
            head = head[: self._split_at]
            tail = _last(tail, text.total - self._split_at)
        half = limit // 2
        room, room_after = max(half, limit - len(tail)), max(half, limit - len(head))
        return head[:room], _last(tail, room_after)

    def _gap(self, head: str, tail: str) -> str:
        """Return the line that replaces the text not shown."""
        parts = []
        if characters := self._all.total - len(head) - len(tail):
            lines = self._newlines - head.count("\n") - tail.count("\n")
            lines -= bool(lines and head and not head.endswith("\n"))
            parts.append(f"{characters} characters ({lines} whole lines)")
        if self._skipped:
            parts.append(f"{self._skipped} bytes that the sandbox did not keep")
        what = " and ".join(parts)
        return (
            f"{_RULE}<Observation truncated in middle for saving context: {what} left out>{_RULE}"
        )


def _last(text: str, count: int) -> str:
    return text[max(0, len(text) - count) :]


def _first_lines(text: str, count: int) -> str:
    return "".join(f"{line}\n" for line in text.split("\n", count)[:count])[: len(text)]


def _last_lines(text: str, count: int) -> str:
    ended = text.removesuffix("\n")
    return "\n".join(ended.rsplit("\n", count)[-count:]) + text[len(ended) :]
