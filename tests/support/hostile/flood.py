"""A server that answers any request with an endless response."""

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self


class FloodServer:
    """Answers with ``head``, then blocks of ``body`` until the client hangs up; counts them."""

    def __init__(self, head: str, body: Iterable[bytes]) -> None:
        self.sent = 0
        self._head = head.replace("\n", "\r\n").encode() + b"\r\n\r\n"
        self._body = body
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the server was closed
            while True:
                connection, _ = self._listening.accept()
                thread = threading.Thread(target=self._answer, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client hung up
            connection.recv(65536)
            connection.sendall(self._head)
            for block in self._body:
                connection.sendall(block)
                self.sent += len(block)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):  # closing before the rest of the request resets
                pass
