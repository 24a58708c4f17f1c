"""Budget of one import: storage, time, and whether its client is still connected."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO

from agent.errors import TraceError
from agent.util.wrapped_stream import WrappedStream

MAX_SECONDS = 120.0  # time of one import
_BUFFER_BYTES = 256 * 1024
_NO_SPACE = "it takes more space than your runs may still use. Delete some first."


class ImportBudget:
    """Limits on one import, in bytes (None for no limit) and seconds; raises ``TraceError``."""

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
        return io.BufferedReader(_Checked(file, self), _BUFFER_BYTES)


class _Checked(WrappedStream):
    def __init__(self, stream: IO[bytes], budget: ImportBudget) -> None:
        super().__init__(stream)
        self._budget = budget

    def _read(self, size: int) -> bytes:
        self._budget.check()
        return self._stream.read(size)
