"""The supervisor's side of the stream: frames in, frames out, never waiting."""

import os
import selectors
from collections.abc import Callable, Iterator

from .frames import CHUNK, MAX_COMMAND, Frame, Parser, pack

_BACKLOG = 1 << 20


class Watch:
    """What the loop waits for: descriptors, each with what is then called."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(
        self, descriptor: int, then: Callable[[], None], events: int = selectors.EVENT_READ
    ) -> None:
        """Call ``then`` whenever the descriptor is ready; once added, it stays as it is."""
        if descriptor not in self._selector.get_map():
            self._selector.register(descriptor, events, then)

    def drop(self, descriptor: int) -> None:
        """Forget the descriptor; it may be unknown already."""
        if descriptor >= 0 and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def turn(self, seconds: float | None) -> None:
        """Wait for at most that long, then call for everything that is ready."""
        for key, _ in self._selector.select(seconds):
            key.data()


class Wire:
    """Frames over two descriptors.

    Attributes:
        open: Whether the host is still there.
    """

    def __init__(self, watch: Watch, source: int, sink: int) -> None:
        self.open = True
        self._watch = watch
        self._source, self._sink = source, sink
        self._parser = Parser(MAX_COMMAND)
        self._outgoing = bytearray()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    @property
    def full(self) -> bool:
        """Whether so much waits to be sent that commands have to wait, too."""
        return len(self._outgoing) >= _BACKLOG

    def send(self, kind: int, ident: int, payload: bytes = b"") -> None:
        """Put a frame in line; ``flush`` sends it."""
        self._outgoing += pack(kind, ident, payload)

    def flush(self) -> None:
        """Send what can be sent now, and ask to be called for the rest."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._sink, self._outgoing[:CHUNK])]
        except BlockingIOError:
            self._watch.add(self._sink, self.flush, selectors.EVENT_WRITE)
            return
        except OSError:
            self.open = False
        self._watch.drop(self._sink)

    def receive(self) -> Iterator[Frame]:
        """The frames that are whole by now."""
        try:
            data = os.read(self._source, CHUNK)
        except BlockingIOError:
            return
        self.open = bool(data)
        yield from self._parser.feed(data)
