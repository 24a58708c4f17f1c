"""A TCP proxy that cuts connections after a given number of bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.support.server import wait_until


class FlakyProxy:
    """Forwards connections to ``target``.

    Attributes:
        cut_after: Bytes that one connection may send until it is cut; the next have no limit.
        may_cut: Whether the target has stored enough for the cut; the proxy waits until then.
    """

    def __init__(self, target: str) -> None:
        where = urlsplit(target)
        self._target = (where.hostname or "", where.port or 0)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.cut_after: int | None = None
        self.may_cut: Callable[[], bool] = lambda: True
        self.cut_count = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for each in list(self._open):
            _close(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                _close(client)
                continue
            self._open |= {client, server}
            for source, sink, limited in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._forward, args=(source, sink, limited), daemon=True
                ).start()

    def _forward(self, source: socket.socket, sink: socket.socket, limited: bool) -> None:
        sent = 0
        with suppress(OSError):
            while data := source.recv(65536):
                if limited and self.cut_after is not None and sent + len(data) > self.cut_after:
                    sink.sendall(data[: max(0, self.cut_after - sent)])
                    wait_until(self.may_cut)
                    self.cut_after = None
                    self.cut_count += 1
                    break
                sink.sendall(data)
                sent += len(data)
        for each in (source, sink):
            _close(each)
            self._open.discard(each)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def run_flaky_proxy(target: str) -> Iterator[FlakyProxy]:
    proxy = FlakyProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
