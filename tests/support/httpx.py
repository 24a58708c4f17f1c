"""HTTP requests of the tests: httpx, with more patience and one TLS context.

A busy machine may take longer than the 5 s after which httpx gives up, and creating a TLS context
takes 30 ms, more than most tests.
"""

from functools import partial
from typing import Any

import httpx
from httpx import (
    ASGITransport,
    HTTPError,
    Limits,
    ReadTimeout,
    Response,
    Timeout,
    TransportError,
)

__all__ = [
    "ASGITransport",
    "AsyncClient",
    "Client",
    "HTTPError",
    "Limits",
    "ReadTimeout",
    "Response",
    "Timeout",
    "TransportError",
    "delete",
    "get",
    "head",
    "post",
    "put",
    "request",
    "stream",
]

_TLS = httpx.create_ssl_context()
TIMEOUT = 60.0


class Client(httpx.Client):
    """A client with the tests' defaults."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {"timeout": TIMEOUT, "verify": _TLS}
        super().__init__(**(defaults | options))


class AsyncClient(httpx.AsyncClient):
    """An asynchronous client with the tests' defaults."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {"timeout": TIMEOUT, "verify": _TLS}
        super().__init__(**(defaults | options))


delete = partial(httpx.delete, timeout=TIMEOUT, verify=_TLS)
get = partial(httpx.get, timeout=TIMEOUT, verify=_TLS)
head = partial(httpx.head, timeout=TIMEOUT, verify=_TLS)
post = partial(httpx.post, timeout=TIMEOUT, verify=_TLS)
put = partial(httpx.put, timeout=TIMEOUT, verify=_TLS)
request = partial(httpx.request, timeout=TIMEOUT, verify=_TLS)
stream = partial(httpx.stream, timeout=TIMEOUT, verify=_TLS)
