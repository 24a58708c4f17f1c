"""Listening sockets of the server, bound before any slow start-up work."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from agent.errors import AddressUnusable


@contextmanager
def bind_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Bind a socket to each address of a host; close them on exit."""
    with ExitStack() as stack:
        try:
            addresses = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            sockets = []
            for family, address in dict.fromkeys((each[0], each[4]) for each in addresses):
                sockets.append(stack.enter_context(_tcp_socket(family)))
                _bind(sockets[-1], address)
        except OSError as error:
            raise AddressUnusable(
                f"The page cannot be served at {host}, port {port}: {_reason(error)}. Choose "
                "another with GRADIO_SERVER_PORT and GRADIO_SERVER_NAME, or stop the program "
                "that uses it."
            ) from error
        yield sockets


def page_url(host: str, sockets: list[socket.socket]) -> str:
    """Return the page's URL for a browser."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{sockets[0].getsockname()[1]}"


def _tcp_socket(family: int) -> socket.socket:
    """Return a socket created with its protocol: else asyncio sets no TCP_NODELAY."""
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)


def _bind(sock: socket.socket, address: Any) -> None:
    """Bind as asyncio does: a recently released port may be reused."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(address)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
