"""A response being received: compressed as it arrives, bounded in size."""

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

MAX_RESPONSE_BYTES = 4 * 1024**2
"""Bytes kept of the beginning of one response; a stream takes about 250 bytes per token."""

TAIL_BYTES = 64 * 1024
"""Bytes kept of the end of a longer response, which has the usage."""

_LEVEL = 1  # of compression: 100 MB/s, and streams shrink to a tenth


@dataclass
class ResponseBuffer:
    """The response to request ``n``: its beginning, compressed, and its end.

    Nothing of it is stored if it is ``withheld``.
    """

    n: int
    status: int | None = None
    content_type: str = ""
    size: int = 0
    withheld: bool = False
    _compressor: Any = field(default_factory=lambda: zlib.compressobj(_LEVEL, wbits=31))
    _head: list[bytes] = field(default_factory=list)
    _tail: deque[bytes] = field(default_factory=deque)
    _tail_size: int = 0

    def add(self, data: bytes) -> None:
        """Add the next part."""
        room = max(0, MAX_RESPONSE_BYTES - self.size)
        self.size += len(data)
        if room:
            self._head.append(self._compressor.compress(data[:room]))
        if rest := data[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
                self._tail_size -= len(self._tail.popleft())

    def compressed(self) -> bytes:
        """Return the beginning and the end in gzip's format; called once."""
        tail = b"".join(self._tail)[-TAIL_BYTES:]
        left_out = self.size - MAX_RESPONSE_BYTES - len(tail)
        if left_out > 0:
            tail = f"\n[{left_out:,} bytes left out]\n".encode() + tail
        return b"".join((*self._head, self._compressor.compress(tail), self._compressor.flush()))
