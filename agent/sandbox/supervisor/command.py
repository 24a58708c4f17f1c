"""A running command and its two output pipes: which bytes are forwarded, which dropped."""

import array
import contextlib
import fcntl
import os
import termios
import time
from collections.abc import Iterator

from .bash import STDERR, STDOUT
from .frames import CHUNK, EXECUTE_HEAD, OUTPUT_HEAD, TAIL

_PIPE_SIZE = 1 << 20


class Stream:
    """An output stream: forwards the first ``keep`` bytes and the last 64 KB of the rest.

    Args:
        number: 0 for stdout, 1 for stderr.
        keep: Number of bytes to forward as they arrive.

    Attributes:
        reader: The descriptor of the pipe's read end.
        writer: The descriptor of its write end, until ``hand_over``.
    """

    def __init__(self, number: int, keep: int) -> None:
        self.number = number
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # An unprivileged user may have reached the limit on pipe memory.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        os.set_blocking(self.writer, True)
        self._left = keep
        self._tail = bytearray()
        self._seen_past = 0

    def hand_over(self, target: int) -> None:
        """Move the write end to the descriptor number ``target``, which the shell opens."""
        os.dup2(self.writer, target, inheritable=False)
        self.close_writer()

    def close_writer(self) -> None:
        """Close this process's write end."""
        os.close(self.writer)
        self.writer = -1

    def receive(self, most: int = CHUNK) -> bytes | None:
        """Read from the pipe; return empty bytes if none are available, None at its end."""
        try:
            return os.read(self.reader, most) or None
        except BlockingIOError:
            return b""

    def rest(self) -> Iterator[bytes]:
        """Yield the bytes now in the pipe and no more, however fast others write into it."""
        count = array.array("i", [0])
        fcntl.ioctl(self.reader, termios.FIONREAD, count)
        left = count[0]
        while left > 0 and (data := self.receive(min(left, CHUNK))):
            left -= len(data)
            yield data

    def pass_on(self, data: bytes) -> bytes:
        """Return an OUTPUT payload with the part of ``data`` to forward; empty if none.

        The rest is buffered for ``last_words``.
        """
        now = data[: self._left]
        self._left -= len(now)
        rest = data[len(now) :]
        self._seen_past += len(rest)
        self._tail += rest[-TAIL:]
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        return OUTPUT_HEAD.pack(self.number, 0) + now if now else b""

    def last_words(self) -> bytes:
        """Return an OUTPUT payload with the last bytes not yet forwarded; empty if none."""
        tail = bytes(self._tail[-TAIL:])
        if not tail:
            return b""
        return OUTPUT_HEAD.pack(self.number, self._seen_past - len(tail)) + tail


class Command:
    """A command that the host requested.

    Attributes:
        ident: The id of its conversation.
        text: The shell command.
        started: Start time, on the monotonic clock.
        deadline: Time at which its limit expires, on the monotonic clock.
        given: Number of times it was passed to a shell.
        begun: Whether a shell has started it.
        code: Its exit code; None until it has one.
        streams: Its output streams; empty while they are not read.
    """

    def __init__(self, ident: int, payload: bytes) -> None:
        self._seconds: float
        self._keep: int
        self._seconds, self._keep = EXECUTE_HEAD.unpack_from(payload)
        self.ident = ident
        self.text = payload[EXECUTE_HEAD.size :]
        self.given = 0
        self.begun = False
        self.code: int | None = None
        self.streams: list[Stream] = []
        self._restart_clock()

    def _restart_clock(self) -> None:
        self.started: float = time.monotonic()
        self.deadline: float = self.started + self._seconds

    def start(self) -> None:
        """Open the pipes and start the clock."""
        self.streams = [Stream(0, self._keep), Stream(1, self._keep)]
        for stream, target in zip(self.streams, (STDOUT, STDERR), strict=True):
            stream.hand_over(target)
        self._restart_clock()
