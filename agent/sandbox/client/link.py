"""The host's side of the frame protocol: a reader thread and exchanges.

Data from the sandbox is untrusted: a malformed frame, an id that was never issued, too many
unread bytes or silence beyond a deadline breaks the link and wakes every waiting exchange.
"""

import itertools
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent.errors import SandboxError
from agent.sandbox.client.transport import Connection
from agent.sandbox.supervisor import frames
from agent.util.text import one_line

UNREADABLE_ANSWER = "The sandbox sent an invalid answer."
_FRAME_OVERHEAD_BYTES = 64
_MAX_QUOTED_CHARS = 200


class LinkLost(SandboxError):
    """The supervisor is gone, or no longer speaks the protocol."""


class Exchange:
    """A request and its answers; more than ``max_unread_bytes`` queued bytes break the link."""

    def __init__(self, link: "Link", ident: int, max_unread_bytes: int) -> None:
        self.ident = ident
        self._link = link
        self._frames: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes_left = max_unread_bytes

    def send(self, kind: int, payload: bytes = b"") -> None:
        """Send one frame of this exchange."""
        self._link.send(kind, self.ident, payload)

    def receive(self, seconds: float) -> tuple[int, bytes] | None:
        """Return the next answer as ``(kind, payload)``; None if none arrives in time."""
        try:
            kind, payload = self._frames.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if kind < 0:
            raise LinkLost(self._link.failure)
        with self._lock:
            self._bytes_left += len(payload) + _FRAME_OVERHEAD_BYTES
        return kind, payload

    def receive_or_fail(self, seconds: float) -> tuple[int, bytes]:
        """Return the next answer; break the link if none arrives in time."""
        answer = self.receive(seconds)
        if answer is None:
            self._link.fail(f"The sandbox did not answer for {seconds:.0f} s.")
            raise LinkLost(self._link.failure)
        return answer

    def deliver(self, kind: int, payload: bytes) -> bool:
        """Queue an answer; return False if it exceeds the allowance."""
        with self._lock:
            self._bytes_left -= len(payload) + _FRAME_OVERHEAD_BYTES
            if self._bytes_left < 0:
                return False
        self._frames.put((kind, payload))
        return True

    def notify_lost(self) -> None:
        """Notify the waiting caller that the link is broken."""
        self._frames.put((-1, b""))


class Link:
    """Concurrent exchanges with one supervisor over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.failure = ""
        self._connection = connection
        self._send_lock = threading.Lock()
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._last_id = 0
        self._exchanges: dict[int, Exchange] = {0: Exchange(self, 0, frames.CHUNK_BYTES)}
        self._thread = threading.Thread(target=self._read, name="sandbox link", daemon=True)
        self._thread.start()

    def wait_until_ready(self, seconds: float) -> bool:
        """Wait until the supervisor is ready; return whether it restored a shell's state."""
        kind, payload = self._exchanges[0].receive_or_fail(seconds)
        if kind != frames.READY or payload not in (b"", b"1"):
            self.fail("The sandbox did not begin with the expected READY frame.")
            raise LinkLost(self.failure)
        return payload == b"1"

    @contextmanager
    def open_exchange(
        self, max_unread_bytes: int = 4 * frames.MAX_PAYLOAD_BYTES
    ) -> Iterator[Exchange]:
        """Open an exchange; answers that arrive after the block are discarded."""
        with self._lock:
            if self.failure:
                raise LinkLost(self.failure)
            ident = self._last_id = next(self._ids)
            exchange = self._exchanges[ident] = Exchange(self, ident, max_unread_bytes)
        try:
            yield exchange
        finally:
            with self._lock:
                self._exchanges.pop(ident, None)

    def send(self, kind: int, ident: int, payload: bytes = b"") -> None:
        """Send one frame."""
        try:
            with self._send_lock:
                self._connection.send(frames.pack(kind, ident, payload))
        except OSError as error:
            self.fail(f"The sandbox accepts no more requests: {error}")
        if self.failure:
            raise LinkLost(self.failure)

    def fail(self, reason: str) -> None:
        """Break the link. The first reason given is kept."""
        with self._lock:
            self.failure = self.failure or reason
            waiting = list(self._exchanges.values())
        self._connection.interrupt()
        for exchange in waiting:
            exchange.notify_lost()

    def close(self) -> None:
        """Break the link and wait for its thread."""
        self.fail("The sandbox was closed.")
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _read(self) -> None:
        parser = frames.FrameParser()
        try:
            while data := self._connection.receive():
                for kind, ident, payload in parser.feed(data):
                    self._dispatch(kind, ident, payload)
        except (OSError, frames.ProtocolError) as error:
            self.fail(f"The connection to the sandbox's supervisor failed: {error}")
        else:
            self.fail(f"The sandbox's supervisor has exited{self._last_diagnostic()}.")
        finally:
            self._connection.close()

    def _last_diagnostic(self) -> str:
        lines = self._connection.diagnostics.decode("utf-8", "replace").strip().splitlines()
        return f": {one_line(lines[-1])[:_MAX_QUOTED_CHARS]}" if lines else ""

    def _dispatch(self, kind: int, ident: int, payload: bytes) -> None:
        with self._lock:
            exchange = self._exchanges.get(ident)
            issued = self._last_id
        if exchange is None and ident > issued:
            raise frames.ProtocolError("an answer to an unknown request")
        if exchange is not None and not exchange.deliver(kind, payload):
            raise frames.ProtocolError("more unread bytes than allowed")
