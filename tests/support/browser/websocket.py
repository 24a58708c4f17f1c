"""A client of WebSockets (RFC 6455) for text messages, as browsers' remote control needs it."""

import base64
import os
import socket
import struct
from urllib.parse import urlsplit

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class WebSocket:
    """A connection; ``timeout`` is in seconds, for each read and write."""

    def __init__(self, url: str, timeout: float) -> None:
        address = urlsplit(url)
        assert address.hostname
        assert address.port
        self._socket = socket.create_connection((address.hostname, address.port), timeout)
        self._file = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        status = self._file.readline()
        assert b" 101 " in status, status
        while self._file.readline().strip():
            pass

    def send(self, text: str) -> None:
        self._send(_TEXT, text.encode())

    def receive(self) -> str:
        """Wait for a message."""
        parts: list[bytes] = []
        while True:
            first, second = self._file.read(2)
            length = second & 127
            if length > 125:
                form, size = ("!H", 2) if length == 126 else ("!Q", 8)
                (length,) = struct.unpack(form, self._file.read(size))
            data, kind = self._file.read(length), first & 15
            if kind == _PING:
                self._send(_PONG, data)
                continue
            assert kind != _CLOSE, data
            parts.append(data)
            if first & 128:
                return b"".join(parts).decode()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        head = bytes([128 | kind])
        if size < 126:
            head += bytes([128 | size])
        elif size < 65536:
            head += bytes([128 | 126]) + struct.pack("!H", size)
        else:
            head += bytes([128 | 127]) + struct.pack("!Q", size)
        mask = os.urandom(4)
        masked = bytes(each ^ mask[at % 4] for at, each in enumerate(data))
        self._socket.sendall(head + mask + masked)
