"""What one import may use: bytes, time, and only as long as somebody waits for it."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO

from agent.errors import TraceError

MAX_SECONDS = 120.0
"""Time of one import."""

_NO_SPACE = "it takes more space than your runs may still use. Delete some first."


class Allowance:
    """Ends an import, with a ``TraceError``, when it has used up what it may use.

    Args:
        name: The file's name, for messages.
        space: Bytes that its runs may use; None for no limit.
        stopped: Whether nobody waits for it any more.
        seconds: Time from now on.
        scratch: An existing folder for temporary files; the system's by default.
    """

    def __init__(
        self,
        name: str,
        space: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
        seconds: float = MAX_SECONDS,
        scratch: Path | None = None,
    ) -> None:
        self.scratch = scratch
        self.left = space
        self._name = name
        self._stopped = stopped
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def take(self, size: int) -> None:
        """Count bytes that are about to be stored."""
        self.check()
        if self.left is None:
            return
        self.left -= size
        if self.left < 0:
            raise TraceError(f"{self._name}: {_NO_SPACE}")

    def limit(self, space: int) -> None:
        """Allow at most so many bytes from now on."""
        self.left = space if self.left is None else min(self.left, space)

    def check(self) -> None:
        """Check the time; call it between any two pieces of work."""
        if self._stopped():
            raise TraceError(f"{self._name}: the import was stopped.")
        if time.monotonic() > self._end:
            raise TraceError(
                f"{self._name}: reading it takes more than {self._seconds:.0f} seconds. "
                "Split it, or leave out what you do not need."
            )

    def checked(self, file: IO[bytes]) -> BinaryIO:
        """Return the file as one that checks the time whenever it is read."""
        return io.BufferedReader(_Checked(file, self), _BUFFER)


_BUFFER = 256 * 1024


class _Checked(io.RawIOBase):
    def __init__(self, file: IO[bytes], allowance: Allowance) -> None:
        self._file = file
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        self._allowance.check()
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
