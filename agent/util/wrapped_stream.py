"""A stream that wraps another one."""

import abc
import io
from typing import IO


class WrappedStream(io.RawIOBase, abc.ABC):
    """Base of streams that check or cut what another stream yields; closing it closes that one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    @abc.abstractmethod
    def _read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""

    def readable(self) -> bool:
        """See ``io.IOBase.readable``."""
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """See ``io.RawIOBase.readinto``."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """See ``io.IOBase.close``."""
        self._stream.close()
        super().close()
