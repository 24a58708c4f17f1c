"""Client of the shell and of separate commands: sends one, yields its output and result."""

import contextlib
import errno
import re
import struct
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from agent.errors import ToolError
from agent.sandbox.base import CommandEnd, EndReason, OutputChunk, StreamName
from agent.sandbox.client import files
from agent.sandbox.client.link import UNREADABLE_ANSWER, Exchange, Link, LinkLost
from agent.sandbox.supervisor import frames
from agent.util.stop import Stop
from agent.util.text import sanitize

_COALESCE_SECONDS = 0.025
_POLL_SECONDS = 0.25
_MAX_CHUNK_BYTES = 256 * 1024
_GRACE_SECONDS = 20.0
_STOP_GRACE_SECONDS = 2.5
_MAX_INTEGER = 2**53 - 1  # the largest that every JSON parser reads exactly
_MAX_NOTE_BYTES = 4096
_MAX_OBSERVED_BYTES = 4096
_MAX_PROCESSORS = 4096
_PACKAGE = re.compile(r"[\w.+~:-]+( [\w.+~:!-]+)?")
_EXIT_CODES = range(-64, 256)  # negative: the number of the signal that killed the shell
_END_REASONS: dict[str, EndReason] = {"exit": "exit", "timeout": "timeout", "stop": "stop"}
_STREAMS: tuple[StreamName, StreamName] = ("stdout", "stderr")
_Observed = tuple[float | None, int | None, tuple[str, ...]]


class _OutputBuffer:
    """A short buffer that joins consecutive output of one stream."""

    def __init__(self) -> None:
        self._stream: StreamName = "stdout"
        self._pieces: list[bytes] = []
        self._size = 0
        self.since = 0.0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def can_append(self, output: OutputChunk) -> bool:
        """Whether ``output`` can be joined to the buffer."""
        same = self._stream == output.stream and not output.skipped
        return not self._pieces or (same and self._size < _MAX_CHUNK_BYTES)

    def add(self, output: OutputChunk) -> None:
        """Append ``output`` to the buffer."""
        if not self._pieces:
            self._stream, self.since, self._size = output.stream, time.monotonic(), 0
        self._pieces.append(output.data)
        self._size += len(output.data)

    def flush(self) -> Iterator[OutputChunk]:
        """Yield the buffered output, if any, as one item and empty the buffer."""
        if self._pieces:
            yield OutputChunk(self._stream, b"".join(self._pieces))
            self._pieces.clear()


class _RunningCommand:
    """A command in progress: reads its frames and enforces the protocol's limits."""

    def __init__(
        self,
        link: Link,
        exchange: Exchange,
        keep_bytes: int,
        timeout: float,
        error_from: Callable[[bytes], ToolError] | None = None,
    ) -> None:
        self._link = link
        self._exchange = exchange
        self._bytes_left = {
            "stdout": keep_bytes + frames.TAIL_BYTES,
            "stderr": keep_bytes + frames.TAIL_BYTES,
        }
        self._max_seconds = timeout + _GRACE_SECONDS
        self._error_from = error_from
        self._deadline = time.monotonic() + timeout + _GRACE_SECONDS
        self._observed: _Observed = None, None, ()
        self.result: CommandEnd | None = None
        self.refused = False

    @property
    def is_finished(self) -> bool:
        """Whether the sandbox has reported the end, or has refused the command."""
        return self.refused or self.result is not None

    def shorten_deadline(self) -> None:
        """Shorten the deadline after a stop request."""
        self._deadline = min(self._deadline, time.monotonic() + _STOP_GRACE_SECONDS)

    def next(self, wait: float | None) -> OutputChunk | CommandEnd | None:
        """Return the next item; None if none arrives in ``wait`` seconds."""
        seconds = _POLL_SECONDS if wait is None else wait  # a stop may shorten the deadline
        answer = self._exchange.receive(min(seconds, self._deadline - time.monotonic()))
        if answer is not None:
            return self._parse_frame(*answer)
        if time.monotonic() >= self._deadline:
            self._fail_link("The sandbox did not end a command after its time limit.")
        return None

    def _parse_frame(self, kind: int, payload: bytes) -> OutputChunk | CommandEnd | None:
        try:
            if kind == frames.OUTPUT:
                return self._parse_output(payload)
            if kind == frames.FINISHED:
                cpu, peak, packages = self._observed
                result = _parse_result(payload, self._max_seconds)
                self.result = replace(result, cpu_seconds=cpu, peak_memory=peak, packages=packages)
                return self.result
            if kind == frames.OBSERVED:
                self._observed = _parse_observed(payload, self._max_seconds)
                return None
        except (struct.error, IndexError, ValueError):
            pass
        if kind == frames.FAILED and len(payload) >= frames.FAILED_HEADER.size and self._error_from:
            self.refused = True
            raise self._error_from(payload)
        self._fail_link(UNREADABLE_ANSWER)

    def _parse_output(self, payload: bytes) -> OutputChunk:
        number, skipped = frames.OUTPUT_HEADER.unpack_from(payload)
        stream = _STREAMS[number]
        data = payload[frames.OUTPUT_HEADER.size :]
        self._bytes_left[stream] -= len(data)
        if not data or self._bytes_left[stream] < 0 or skipped > _MAX_INTEGER:
            self._fail_link("The sandbox sent an empty output frame, or more than the keep limit.")
        return OutputChunk(stream, data, skipped)

    def _fail_link(self, reason: str) -> NoReturn:
        self._link.fail(reason)
        raise LinkLost(self._link.failure)


def _parse_result(payload: bytes, max_seconds: float) -> CommandEnd:
    """Decode a FINISHED frame. It comes from the container, so any field may be forged."""
    code, index, seconds = frames.FINISHED_HEADER.unpack_from(payload)
    note = payload[frames.FINISHED_HEADER.size :]
    # The comparison also rejects NaN, which JSON, and so an event, cannot represent.
    if not 0 <= seconds <= max_seconds or code not in _EXIT_CODES or len(note) > _MAX_NOTE_BYTES:
        raise ValueError("a field is out of range")
    reason = _END_REASONS[frames.END_REASONS[index]]
    exit_code = code if reason == "exit" and code >= 0 else None
    return CommandEnd(exit_code, reason, seconds, sanitize(note.decode(errors="replace")))


def _parse_observed(payload: bytes, max_seconds: float) -> _Observed:
    """Decode an OBSERVED frame: CPU seconds, peak memory, packages. Any field may be forged."""
    seconds, peak = frames.OBSERVED_HEADER.unpack_from(payload)
    possible = -1 <= seconds <= max_seconds * _MAX_PROCESSORS and -1 <= peak <= _MAX_INTEGER
    if not possible or len(payload) > _MAX_OBSERVED_BYTES:
        raise ValueError("a field is out of range")
    names = payload[frames.OBSERVED_HEADER.size :].decode(errors="replace").split("\0")
    packages = tuple(name for name in names if _PACKAGE.fullmatch(name))
    return (seconds if seconds >= 0 else None), (peak if peak >= 0 else None), packages


def execute(
    link: Link, command: bytes, *, timeout: float, keep_bytes: int, stop: Stop
) -> Generator[OutputChunk | CommandEnd, None, None]:
    """Run a command as ``Sandbox.execute`` does; closing the generator early ends it."""
    with link.open_exchange(_max_unread_bytes(keep_bytes)) as exchange:
        run = _RunningCommand(link, exchange, keep_bytes, timeout)
        exchange.send(frames.EXECUTE, frames.EXECUTE_HEADER.pack(timeout, keep_bytes) + command)
        yield from _stream_output(link, run, lambda: request_end(link), stop)


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A command to run outside the shell."""

    command: bytes
    folder: str
    user: str = ""  # name or number; empty for the shell's
    environment: Mapping[str, str] = field(default_factory=dict)
    input: bytes = b""

    def encode_options(self) -> bytes:
        """Return the options of a SPAWN frame."""
        variables = (f"{name}={value}" for name, value in self.environment.items())
        texts = map(files.encode, (self.folder, self.user))
        return b"\0".join([*texts, self.command, *map(files.encode, variables)])

    def error(self, payload: bytes) -> ToolError:
        """Return the error of a FAILED answer: about the folder, or else about the user."""
        user, name = files.encode(self.user), payload[frames.FAILED_HEADER.size :]
        if not user or name != user:
            return files.tool_error(payload, self.folder)
        if int.from_bytes(payload[: frames.FAILED_HEADER.size], "big") == errno.EINVAL:
            return ToolError(f"There is no user {self.user} in the sandbox.", errno.EINVAL)
        return ToolError(f"A command may not run as {self.user} in this sandbox.", errno.EPERM)


def spawn(
    link: Link, request: SpawnRequest, *, timeout: float, keep_bytes: int, stop: Stop
) -> Generator[OutputChunk | CommandEnd, None, None]:
    """Run a command outside the shell; see ``Sandbox.spawn`` and ``execute``."""
    options = request.encode_options()
    header = frames.SPAWN_HEADER.pack(timeout, keep_bytes, len(options))
    with link.open_exchange(_max_unread_bytes(keep_bytes)) as exchange:
        run = _RunningCommand(link, exchange, keep_bytes, timeout, request.error)
        exchange.send(frames.SPAWN, header + options + request.input)
        yield from _stream_output(link, run, lambda: _cancel(exchange), stop)


def _max_unread_bytes(keep: int) -> int:
    return 2 * (keep + frames.TAIL_BYTES) + frames.MAX_PAYLOAD_BYTES * 16


def _cancel(exchange: Exchange) -> None:
    with contextlib.suppress(LinkLost):  # the exchange itself reports it
        exchange.send(frames.CANCEL)


def _stream_output(
    link: Link, run: _RunningCommand, end: Callable[[], None], stop: Stop
) -> Generator[OutputChunk | CommandEnd, None, None]:
    """Yield a command's items; after a stop, or if the consumer leaves, end it."""

    def hurried() -> None:
        run.shorten_deadline()
        end()

    try:
        with stop.on_set(hurried):
            yield from _coalesce(run)
    finally:
        if not run.is_finished and not link.failure:
            hurried()
            _wait_for_end(run)


def _wait_for_end(run: _RunningCommand) -> None:
    with contextlib.suppress(LinkLost):  # the consumer is gone; the next command reports it
        while not run.is_finished:
            run.next(None)


def request_end(link: Link) -> None:
    """Request the end of every process that commands started, without waiting for it."""
    try:
        with link.open_exchange() as exchange:
            exchange.send(frames.END_PROCESSES)
    except LinkLost:
        return  # the command's own exchange is notified


def _coalesce(run: _RunningCommand) -> Iterator[OutputChunk | CommandEnd]:
    buffer = _OutputBuffer()
    while not run.is_finished:
        wait = buffer.since + _COALESCE_SECONDS - time.monotonic() if buffer else None
        item = run.next(wait)
        if isinstance(item, OutputChunk) and buffer.can_append(item) and not item.skipped:
            buffer.add(item)
            continue
        if item is not None or wait is not None:
            yield from buffer.flush()
        if isinstance(item, OutputChunk) and not item.skipped:
            buffer.add(item)
        elif item is not None:
            yield item
