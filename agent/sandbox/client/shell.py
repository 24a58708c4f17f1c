"""Client of the shell and of commands beside it: sends one, yields its output and result."""

import contextlib
import errno
import struct
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from agent.errors import ToolError
from agent.sandbox.base import Ending, Finished, Output, Stream
from agent.sandbox.client import files
from agent.sandbox.client.link import UNREADABLE, Conversation, Link, LinkLost
from agent.sandbox.supervisor import frames
from agent.util.cancellation import Stop
from agent.util.text import legible

_COALESCE = 0.025
_LOOK_SECONDS = 0.25
_LARGEST_PIECE = 256 * 1024
_SLACK = 20.0
_STOP_SLACK = 2.5
_LARGEST_SKIP = 2**53 - 1  # the largest integer that every JSON parser reads exactly
_LONGEST_NOTE = 4096
_EXIT_CODES = range(-64, 256)  # negative: the number of the signal that killed the shell
_ENDINGS: dict[str, Ending] = {"exit": "exit", "timeout": "timeout", "stop": "stop"}
_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


class _Gathering:
    """A short buffer that joins consecutive output of one stream."""

    def __init__(self) -> None:
        self._stream: Stream = "stdout"
        self._pieces: list[bytes] = []
        self._size = 0
        self.since = 0.0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def takes(self, output: Output) -> bool:
        """Whether ``output`` can be joined to the buffer."""
        same = self._stream == output.stream and not output.skipped
        return not self._pieces or (same and self._size < _LARGEST_PIECE)

    def add(self, output: Output) -> None:
        """Append ``output`` to the buffer."""
        if not self._pieces:
            self._stream, self.since, self._size = output.stream, time.monotonic(), 0
        self._pieces.append(output.data)
        self._size += len(output.data)

    def flush(self) -> Iterator[Output]:
        """Yield the buffered output, if any, as one item and empty the buffer."""
        if self._pieces:
            yield Output(self._stream, b"".join(self._pieces))
            self._pieces.clear()


class _Run:
    """A command in progress: reads its frames and enforces the protocol's limits."""

    def __init__(
        self,
        link: Link,
        conversation: Conversation,
        keep: int,
        timeout: float,
        refusal: Callable[[bytes], ToolError] | None = None,
    ) -> None:
        self._link = link
        self._conversation = conversation
        self._left = {"stdout": keep + frames.TAIL, "stderr": keep + frames.TAIL}
        self._longest = timeout + _SLACK
        self._refusal = refusal
        self._overdue = time.monotonic() + timeout + _SLACK
        self.finished: Finished | None = None
        self.refused = False

    @property
    def over(self) -> bool:
        """Whether the sandbox has reported the end, or has refused the command."""
        return self.refused or self.finished is not None

    def hurry(self) -> None:
        """Shorten the deadline after a stop request."""
        self._overdue = min(self._overdue, time.monotonic() + _STOP_SLACK)

    def next(self, wait: float | None) -> Output | Finished | None:
        """Return the next item; None if none arrives in ``wait`` seconds."""
        seconds = _LOOK_SECONDS if wait is None else wait  # a stop may shorten the deadline
        answer = self._conversation.receive(min(seconds, self._overdue - time.monotonic()))
        if answer is not None:
            return self._read(*answer)
        if time.monotonic() >= self._overdue:
            self._refuse("The sandbox did not end a command whose time was up.")
        return None

    def _read(self, kind: int, payload: bytes) -> Output | Finished:
        try:
            if kind == frames.OUTPUT:
                return self._output(payload)
            if kind == frames.FINISHED:
                self.finished = _finished(payload, self._longest)
                return self.finished
        except (struct.error, IndexError, ValueError):
            pass
        if kind == frames.FAILED and len(payload) >= frames.FAILED_HEAD.size and self._refusal:
            self.refused = True
            raise self._refusal(payload)
        self._refuse(UNREADABLE)

    def _output(self, payload: bytes) -> Output:
        number, skipped = frames.OUTPUT_HEAD.unpack_from(payload)
        stream = _STREAMS[number]
        data = payload[frames.OUTPUT_HEAD.size :]
        self._left[stream] -= len(data)
        if not data or self._left[stream] < 0 or skipped > _LARGEST_SKIP:
            self._refuse("The sandbox sent no output, or more than it was asked to keep.")
        return Output(stream, data, skipped)

    def _refuse(self, why: str) -> NoReturn:
        self._link.fail(why)
        raise LinkLost(self._link.failure)


def _finished(payload: bytes, longest: float) -> Finished:
    """Decode a FINISHED frame. It comes from the container, so any field may be forged.

    Raises:
        ValueError, struct.error, IndexError: a field is out of range.
    """
    code, ending, seconds = frames.FINISHED_HEAD.unpack_from(payload)
    note = payload[frames.FINISHED_HEAD.size :]
    # The comparison also rejects NaN, which JSON, and so an event, cannot represent.
    if not 0 <= seconds <= longest or code not in _EXIT_CODES or len(note) > _LONGEST_NOTE:
        raise ValueError("a field is out of its range")
    which = _ENDINGS[frames.ENDINGS[ending]]
    exit_code = code if which == "exit" and code >= 0 else None
    return Finished(exit_code, which, seconds, legible(note.decode(errors="replace")))


def execute(
    link: Link, command: bytes, *, timeout: float, keep: int, stop: Stop
) -> Generator[Output | Finished, None, None]:
    """Run a command in the supervisor's shell; see ``Sandbox.execute``.

    Output that arrives within 25 ms is joined. Closing the generator early ends the command.

    Args:
        link: The link to the supervisor.
        command: The shell command.
        timeout: Time limit in seconds.
        keep: Bytes to keep per stream, in addition to the last 64 KB.
        stop: Terminates the command and every process that commands started.

    Raises:
        LinkLost: the supervisor is gone or broke the protocol.
    """
    with link.conversation(_allowance(keep)) as conversation:
        run = _Run(link, conversation, keep, timeout)
        conversation.send(frames.EXECUTE, frames.EXECUTE_HEAD.pack(timeout, keep) + command)
        yield from _followed(link, run, lambda: ask_to_end(link), stop)


@dataclass(frozen=True, slots=True)
class Job:
    """A command to run beside the shell.

    Attributes:
        command: The shell command.
        folder: Its working directory.
        user: The user that runs it, by name or number; empty for the shell's user.
        environment: Variables in addition to those of the sandbox.
        input: Its standard input.
    """

    command: bytes
    folder: str
    user: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    input: bytes = b""

    def options(self) -> bytes:
        """Return the options of a SPAWN frame."""
        variables = (f"{name}={value}" for name, value in self.environment.items())
        texts = map(files.encode, (self.folder, self.user))
        return b"\0".join([*texts, self.command, *map(files.encode, variables)])

    def error(self, payload: bytes) -> ToolError:
        """Return the error of a FAILED answer: about the folder, or else about the user."""
        user, name = files.encode(self.user), payload[frames.FAILED_HEAD.size :]
        if not user or name != user:
            return files.failure(payload, self.folder)
        if int.from_bytes(payload[: frames.FAILED_HEAD.size], "big") == errno.EINVAL:
            return ToolError(f"There is no user {self.user} in the sandbox.", errno.EINVAL)
        return ToolError(f"A command may not run as {self.user} in this sandbox.", errno.EPERM)


def spawn(
    link: Link, job: Job, *, timeout: float, keep: int, stop: Stop
) -> Generator[Output | Finished, None, None]:
    """Run a command beside the shell; see ``Sandbox.spawn`` and ``execute``.

    Raises:
        LinkLost: the supervisor is gone or broke the protocol.
        ToolError: the folder or the user cannot be used.
    """
    options = job.options()
    head = frames.SPAWN_HEAD.pack(timeout, keep, len(options))
    with link.conversation(_allowance(keep)) as conversation:
        run = _Run(link, conversation, keep, timeout, job.error)
        conversation.send(frames.SPAWN, head + options + job.input)
        yield from _followed(link, run, lambda: _cancel(conversation), stop)


def _allowance(keep: int) -> int:
    return 2 * (keep + frames.TAIL) + frames.MAX_PAYLOAD * 16


def _cancel(conversation: Conversation) -> None:
    with contextlib.suppress(LinkLost):  # the conversation itself reports it
        conversation.send(frames.CANCEL)


def _followed(
    link: Link, run: _Run, end: Callable[[], None], stop: Stop
) -> Generator[Output | Finished, None, None]:
    """Yield a command's items; after a stop, or if the consumer leaves, end it."""

    def hurried() -> None:
        run.hurry()
        end()

    try:
        with stop.calling(hurried):
            yield from _gathered(run)
    finally:
        if not run.over and not link.failure:
            hurried()
            _wait_for_end(run)


def _wait_for_end(run: _Run) -> None:
    with contextlib.suppress(LinkLost):  # the consumer is gone; the next command reports it
        while not run.over:
            run.next(None)


def ask_to_end(link: Link) -> None:
    """Request the end of every process that commands started, without waiting for it."""
    try:
        with link.conversation() as conversation:
            conversation.send(frames.END)
    except LinkLost:
        return  # the command's own conversation is notified


def _gathered(run: _Run) -> Iterator[Output | Finished]:
    gathering = _Gathering()
    while not run.over:
        wait = gathering.since + _COALESCE - time.monotonic() if gathering else None
        item = run.next(wait)
        if isinstance(item, Output) and gathering.takes(item) and not item.skipped:
            gathering.add(item)
            continue
        if item is not None or wait is not None:
            yield from gathering.flush()
        if isinstance(item, Output) and not item.skipped:
            gathering.add(item)
        elif item is not None:
            yield item
