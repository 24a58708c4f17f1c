"""One command as it runs: its two output pipes, what is forwarded, what is left out."""

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
    """One output stream: the first ``keep`` bytes go on, of the rest the last 64 KB.

    Args:
        number: 0 for stdout, 1 for stderr.
        target: The descriptor number under which the shell finds the pipe's writing end.
        keep: Bytes forwarded as they come.
    """

    def __init__(self, number: int, target: int, keep: int) -> None:
        self.number = number
        self.reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # An ordinary user may have used up what it is granted.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        os.set_blocking(writer, True)
        os.dup2(writer, target, inheritable=False)
        os.close(writer)
        self._left = keep
        self._tail = bytearray()
        self._seen_past = 0

    def receive(self, most: int = CHUNK) -> bytes | None:
        """Bytes from the pipe; empty where there are none now, None at its end."""
        try:
            return os.read(self.reader, most) or None
        except BlockingIOError:
            return b""

    def rest(self) -> Iterator[bytes]:
        """What lies in the pipe now, and no more, however fast others write into it."""
        count = array.array("i", [0])
        fcntl.ioctl(self.reader, termios.FIONREAD, count)
        left = count[0]
        while left > 0 and (data := self.receive(min(left, CHUNK))):
            left -= len(data)
            yield data

    def pass_on(self, data: bytes) -> bytes:
        """What of ``data`` is forwarded now, as an OUTPUT payload; empty if nothing."""
        now = data[: self._left]
        self._left -= len(now)
        rest = data[len(now) :]
        self._seen_past += len(rest)
        self._tail += rest[-TAIL:]
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        return OUTPUT_HEAD.pack(self.number, 0) + now if now else b""

    def last_words(self) -> bytes:
        """The end of what was held back, as an OUTPUT payload; empty if nothing was."""
        tail = bytes(self._tail[-TAIL:])
        if not tail:
            return b""
        return OUTPUT_HEAD.pack(self.number, self._seen_past - len(tail)) + tail


class Command:
    """What the host asked to be run.

    Attributes:
        ident: The conversation it was asked in.
        text: What the shell evaluates.
        started: When it began, on the monotonic clock.
        deadline: When its time is up, on the same.
        given: How often it was handed to a shell.
        begun: Whether the shell has taken it up.
        code: Its exit code; None while there is none.
        streams: Its output, while it is listened to.
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
        """Open its pipes and start its time."""
        self.streams = [Stream(0, STDOUT, self._keep), Stream(1, STDERR, self._keep)]
        self._restart_clock()
