"""Socket connections to a supervisor, plain or multiplexed by a container engine."""

import contextlib
import socket
import struct

_SEND_SECONDS = 30
_ENGINE_HEADER = struct.Struct("!BxxxL")
_STDOUT = 1
_MAX_DIAGNOSTICS_BYTES = 4096
_EXEC_ERROR_PREFIX = b"OCI runtime exec failed"  # an engine's error message, sent as stdout

SUPERVISOR_CODE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from supervisor.__main__ import main; main()"
)
"""Code for ``python3 -I -S -c``; the first argument is the folder that holds the package."""

EXITED = "supervisor exited"
"""Line on stderr that says so where another process keeps the streams open."""


class Connection:
    """A stream socket to a supervisor. Methods raise ``OSError`` if it is broken."""

    def __init__(self, sock: socket.socket) -> None:
        self.diagnostics = b""
        self._socket = sock
        sock.settimeout(None)
        wait = struct.pack("ll", _SEND_SECONDS, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)

    def send(self, data: bytes) -> None:
        """Send all of ``data``; time out after 30 seconds if the peer does not read."""
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """Wait for some bytes and return them; empty at the end of the stream."""
        return self._socket.recv(262144)

    def interrupt(self) -> None:
        """Shut down both directions and unblock waiting calls. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the connection; call it only when no thread receives any more."""
        self._socket.close()


class EngineConnection(Connection):
    """A ``Connection`` over an engine's stream, which multiplexes stdout and stderr."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self._buffer = bytearray()
        self._frame_bytes_left = 0
        self._stream = _STDOUT

    def receive(self) -> bytes:
        """See ``Connection.receive``."""
        while True:
            wanted = self._next_stdout()
            if wanted:
                return wanted
            diagnostics = self.diagnostics.removesuffix(EXITED.encode() + b"\n")
            if diagnostics != self.diagnostics:
                self.diagnostics = diagnostics
                return b""
            data = super().receive()
            if not data:
                return b""
            self._buffer += data

    def _next_stdout(self) -> bytes:
        """Return the buffer's next piece of stdout; empty if it holds none."""
        while self._buffer:
            if self._frame_bytes_left == 0:
                if len(self._buffer) < _ENGINE_HEADER.size:
                    break
                self._stream, self._frame_bytes_left = _ENGINE_HEADER.unpack_from(self._buffer)
                del self._buffer[: _ENGINE_HEADER.size]
            piece = bytes(self._buffer[: self._frame_bytes_left])
            del self._buffer[: len(piece)]
            self._frame_bytes_left -= len(piece)
            if self._stream == _STDOUT and piece:
                if piece.startswith(_EXEC_ERROR_PREFIX):
                    raise ConnectionError(piece.decode("utf-8", "replace").strip())
                return piece
            self.diagnostics = (self.diagnostics + piece)[-_MAX_DIAGNOSTICS_BYTES:]
        return b""
