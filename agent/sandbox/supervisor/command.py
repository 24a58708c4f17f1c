"""A running command and its two output pipes: which bytes are forwarded, which dropped."""

import array
import contextlib
import fcntl
import os
import termios
import time
from collections.abc import Iterator

from .bash import STDERR, STDOUT
from .frames import CHUNK_BYTES, EXECUTE_HEADER, OUTPUT_HEADER, TAIL_BYTES

_PIPE_BYTES = 1 << 20


class OutputPipe:
    """An output stream: forwards the first ``keep`` bytes and the last 64 KB of the rest."""

    def __init__(self, number: int, keep: int) -> None:
        self.number = number
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # An unprivileged user may have reached the limit on pipe memory.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self.writer, True)
        self._keep_left = keep
        self._tail = bytearray()
        self._overflow_bytes = 0

    def move_writer_to(self, target: int) -> None:
        """Move the write end to the descriptor number ``target``, which the shell opens."""
        os.dup2(self.writer, target, inheritable=False)
        self.close_writer()

    def close_writer(self) -> None:
        """Close this process's write end."""
        os.close(self.writer)
        self.writer = -1

    def receive(self, limit: int = CHUNK_BYTES) -> bytes | None:
        """Read from the pipe; return empty bytes if none are available, None at its end."""
        try:
            return os.read(self.reader, limit) or None
        except BlockingIOError:
            return b""

    def read_available(self) -> Iterator[bytes]:
        """Yield the bytes now in the pipe and no more, however fast others write into it."""
        count = array.array("i", [0])
        fcntl.ioctl(self.reader, termios.FIONREAD, count)
        left = count[0]
        while left > 0 and (data := self.receive(min(left, CHUNK_BYTES))):
            left -= len(data)
            yield data

    def forward(self, data: bytes) -> bytes:
        """Return an OUTPUT payload to forward, or nothing; the rest is for ``take_tail``."""
        now = data[: self._keep_left]
        self._keep_left -= len(now)
        rest = data[len(now) :]
        self._overflow_bytes += len(rest)
        self._tail += rest[-TAIL_BYTES:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]
        return OUTPUT_HEADER.pack(self.number, 0) + now if now else b""

    def take_tail(self) -> bytes:
        """Return an OUTPUT payload with the last bytes not yet forwarded; empty if none."""
        tail = bytes(self._tail[-TAIL_BYTES:])
        if not tail:
            return b""
        return OUTPUT_HEADER.pack(self.number, self._overflow_bytes - len(tail)) + tail


class Command:
    """A command that the host requested."""

    def __init__(self, ident: int, payload: bytes) -> None:
        self._seconds: float
        self._keep_bytes: int
        self._seconds, self._keep_bytes = EXECUTE_HEADER.unpack_from(payload)
        self.ident = ident
        self.text = payload[EXECUTE_HEADER.size :]
        self.attempts = 0
        self.has_begun = False
        self.exit_code: int | None = None
        self.streams: list[OutputPipe] = []
        self._restart_clock()

    def _restart_clock(self) -> None:
        self.started: float = time.monotonic()
        self.deadline: float = self.started + self._seconds

    def start(self) -> None:
        """Open the pipes and start the clock."""
        self.streams = [OutputPipe(0, self._keep_bytes), OutputPipe(1, self._keep_bytes)]
        for stream, target in zip(self.streams, (STDOUT, STDERR), strict=True):
            stream.move_writer_to(target)
        self._restart_clock()
