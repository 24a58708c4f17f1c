"""Observations: a command's output, made readable and clipped with notes."""

import codecs
from dataclasses import dataclass

from agent.sandbox.base import CommandEnd, OutputChunk, StreamName
from agent.util.text import EscapeFilter, sanitize

_SEPARATOR = "-" * 50
_STREAMS: tuple[StreamName, ...] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """How much of one stream is shown: lines at each end, and characters in total."""

    lines: int = 40
    characters: int = 10_000


class OutputDecoder:
    """Incremental decoder of a command's two streams, which arrive in chunks."""

    def __init__(self) -> None:
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: make("replace") for stream in _STREAMS}

    def decode(self, item: OutputChunk) -> str:
        """Return the text completed by ``item``; invalid bytes become ``�``."""
        if item.skipped:
            self._decoders[item.stream].reset()
        return self._decoders[item.stream].decode(item.data)

    def flush(self, stream: StreamName) -> str:
        """Return the replacement of an incomplete character at the stream's end."""
        return self._decoders[stream].decode(b"", final=True)


class OutputCollector:
    """Collects a command's output, in bounded memory, and builds the observation for the model."""

    def __init__(self, clip: OutputLimits | None = None) -> None:
        clip = clip or OutputLimits()
        self._decoder = OutputDecoder()
        self._streams = {stream: _StreamBuffer(clip) for stream in _STREAMS}

    def feed(self, item: OutputChunk) -> None:
        """Add output of the command."""
        stream = self._streams[item.stream]
        if item.skipped:
            stream.record_gap(item.skipped)
        stream.feed(self._decoder.decode(item))

    def observation(self, result: CommandEnd, *, timeout: float) -> str:
        """Return the result of ``execute_bash``, with the timeout in seconds if reached."""
        rendered = {}
        for name, stream in self._streams.items():
            stream.feed(self._decoder.flush(name))
            rendered[name] = stream.render()
        parts = [_status_line(result, timeout), "Execution output of [execute_bash]:"]
        parts += ["[STDOUT]", rendered["stdout"]]
        if rendered["stderr"].strip():
            parts += ["[STDERR]", rendered["stderr"]]
        if result.storage_note:
            parts.append(f"Note: {result.storage_note}")
        if result.note:
            parts.append(f"Note: {result.note}")
        return "\n".join(parts)


def _status_line(result: CommandEnd, timeout: float) -> str:
    match result.end_reason:
        case "timeout":
            limit = f"its time limit of {round(timeout, 1):g} s"
            return f"Error: the command was ended after {limit}; its output until then is below."
        case "full":
            return "Error: the command was ended because the disk was full; see the note below."
        case "stop":
            return "Error: the command was ended because the run was stopped."
        case "lost":
            return "Error: the sandbox was lost while the command ran."
    code = result.exit_code
    return "Exit code: 0" if code == 0 else f"Error: Exit code {code}"


def clipped(text: str, clip: OutputLimits) -> str:
    """Return a text as the model sees it, clipped like a command's output."""
    stream = _StreamBuffer(clip)
    stream.feed(text)
    return stream.render()


class _TextEnds:
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

    def extend(self, other: "_TextEnds") -> None:
        """Add a text of which only the ends are known, with the same limit."""
        self.add(other.first)
        rest = other.total - len(other.first)
        if rest:
            self.add(other.last[-rest:])
            self.total += max(0, rest - self._limit)


class _StreamBuffer:
    """Both ends of a stream, without escape sequences and overwritten text."""

    def __init__(self, clip: OutputLimits) -> None:
        self._clip = clip
        self._escape_filter = EscapeFilter()
        self._line = _TextEnds(clip.characters)
        self._pending_return = False
        self._text = _TextEnds(clip.characters)
        self._newlines = 0
        self._skipped_bytes = 0
        self._split_at: int | None = None

    def feed(self, text: str) -> None:
        text = self._escape_filter.feed(text)
        if self._pending_return and text:
            text, self._pending_return = "\r" + text, False
        *lines, rest = text.split("\n")
        if lines:
            self._write_line(lines[0].rstrip("\r"))
            self._end_line()
            self._add_lines(lines[1:])
        self._pending_return = self._pending_return or rest.endswith("\r")
        self._write_line(rest.rstrip("\r"))

    def record_gap(self, count: int) -> None:
        """Record a gap of ``count`` bytes that the sandbox did not keep."""
        self._flush_line()
        if self._split_at is None:
            self._split_at = self._text.total
        else:
            self._add_lines(["", f"[… {count} bytes not kept …]"])
        self._skipped_bytes += count

    def render(self) -> str:
        """Return the stream as the model sees it, without its last line end."""
        self._flush_line()
        head, tail = self._head_and_tail()
        if not self._skipped_bytes and len(head) + len(tail) == self._text.total:
            return sanitize(head + tail).removesuffix("\n")
        separator = "\n" if head and not head.endswith("\n") else ""
        return sanitize(
            f"{head}{separator}{self._truncation_note(head, tail)}\n{tail}"
        ).removesuffix("\n")

    def _write_line(self, text: str) -> None:
        """Continue the line; a carriage return in ``text`` discards what precedes it."""
        _, returned, last = text.rpartition("\r")
        if returned:
            self._line.clear()
        self._line.add(last)

    def _end_line(self) -> None:
        self._flush_line()
        self._text.add("\n")
        self._newlines += 1

    def _flush_line(self) -> None:
        self._text.extend(self._line)
        self._line.clear()
        self._pending_return = False

    def _add_lines(self, lines: list[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if "\r" in text:
            text = "".join(line.rstrip("\r").rpartition("\r")[2] + "\n" for line in lines)
        self._text.add(text)
        self._newlines += len(lines)

    def _head_and_tail(self) -> tuple[str, str]:
        """Return the text shown before the cut and after it; the two never overlap."""
        text, lines, limit = self._text, self._clip.lines, self._clip.characters
        head, tail = text.first, text.last
        if self._newlines + (not tail.endswith("\n")) > 2 * lines:
            head = _first_lines(head, lines)
            tail = _last_lines(tail, lines)
        elif text.total <= limit:
            split = text.total if self._split_at is None else self._split_at
            return head[:split], head[split:]
        if self._split_at is not None:
            head = head[: self._split_at]
            tail = _last_characters(tail, text.total - self._split_at)
        half = limit // 2
        room, room_after = max(half, limit - len(tail)), max(half, limit - len(head))
        return head[:room], _last_characters(tail, room_after)

    def _truncation_note(self, head: str, tail: str) -> str:
        """Return the line that replaces the text not shown."""
        parts = []
        if characters := self._text.total - len(head) - len(tail):
            lines = self._newlines - head.count("\n") - tail.count("\n")
            lines -= bool(lines and head and not head.endswith("\n"))
            parts.append(f"{characters} characters ({lines} whole lines)")
        if self._skipped_bytes:
            parts.append(f"{self._skipped_bytes} bytes that the sandbox did not keep")
        omitted = " and ".join(parts)
        notice = f"<Observation truncated in middle for saving context: {omitted} left out>"
        return f"{_SEPARATOR}{notice}{_SEPARATOR}"


def _last_characters(text: str, count: int) -> str:
    return text[max(0, len(text) - count) :]


def _first_lines(text: str, count: int) -> str:
    return "".join(f"{line}\n" for line in text.split("\n", count)[:count])[: len(text)]


def _last_lines(text: str, count: int) -> str:
    ended = text.removesuffix("\n")
    return "\n".join(ended.rsplit("\n", count)[-count:]) + text[len(ended) :]
