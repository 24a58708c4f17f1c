"""The supervisor's non-blocking side of the frame stream."""

import os
import selectors
from collections.abc import Callable, Iterator

from .frames import CHUNK_BYTES, MAX_COMMAND_BYTES, Frame, FrameParser, pack

_MAX_BACKLOG_BYTES = 1 << 20


class CallbackSelector:
    """The descriptors that the event loop waits for, each with its callback."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(
        self, descriptor: int, callback: Callable[[], None], events: int = selectors.EVENT_READ
    ) -> None:
        """Call ``callback`` whenever the descriptor is ready; no effect if it is already added."""
        if descriptor not in self._selector.get_map():
            self._selector.register(descriptor, events, callback)

    def remove(self, descriptor: int) -> None:
        """Stop watching the descriptor; no effect if it is not watched."""
        if descriptor >= 0 and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def run_once(self, timeout: float | None) -> None:
        """Wait for at most ``timeout``, then call the callback of each ready descriptor."""
        for key, _ in self._selector.select(timeout):
            key.data()


class FrameStream:
    """Frames over two descriptors; ``open`` while the host is connected."""

    def __init__(self, selector: CallbackSelector, source: int, sink: int) -> None:
        self.open = True
        self._selector = selector
        self._source, self._sink = source, sink
        self._parser = FrameParser(MAX_COMMAND_BYTES)
        self._outgoing = bytearray()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    @property
    def is_full(self) -> bool:
        """Whether the backlog is so large that reading of command output must pause."""
        return len(self._outgoing) >= _MAX_BACKLOG_BYTES

    def send(self, kind: int, ident: int, payload: bytes = b"") -> None:
        """Queue a frame; ``flush`` sends it."""
        self._outgoing += pack(kind, ident, payload)

    def flush(self) -> None:
        """Send without blocking; the event loop calls this again for the rest."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._sink, self._outgoing[:CHUNK_BYTES])]
        except BlockingIOError:
            self._selector.add(self._sink, self.flush, selectors.EVENT_WRITE)
            return
        except OSError:
            self.open = False
        self._selector.remove(self._sink)

    def receive(self) -> Iterator[Frame]:
        """Read without blocking; yield the frames now complete."""
        try:
            data = os.read(self._source, CHUNK_BYTES)
        except BlockingIOError:
            return
        self.open = bool(data)
        yield from self._parser.feed(data)
