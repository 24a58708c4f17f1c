"""HTTP requests of the tests: httpx, with more patience and one TLS context.

A busy machine may take longer than the 5 s after which httpx gives up, and creating a TLS context
takes 30 ms, more than most tests.
"""

from functools import partial
from typing import Any

import httpx
from httpx import ASGITransport as ASGITransport
from httpx import HTTPError as HTTPError
from httpx import Limits as Limits
from httpx import ReadTimeout as ReadTimeout
from httpx import Response as Response
from httpx import Timeout as Timeout
from httpx import TransportError as TransportError

TIMEOUT = 60.0
_TLS = httpx.create_ssl_context()
_DEFAULTS: dict[str, Any] = {"timeout": TIMEOUT, "verify": _TLS}


class Client(httpx.Client):
    def __init__(self, **options: Any) -> None:
        super().__init__(**_DEFAULTS | options)


class AsyncClient(httpx.AsyncClient):
    def __init__(self, **options: Any) -> None:
        super().__init__(**_DEFAULTS | options)


delete = partial(httpx.delete, timeout=TIMEOUT, verify=_TLS)
get = partial(httpx.get, timeout=TIMEOUT, verify=_TLS)
post = partial(httpx.post, timeout=TIMEOUT, verify=_TLS)
put = partial(httpx.put, timeout=TIMEOUT, verify=_TLS)
request = partial(httpx.request, timeout=TIMEOUT, verify=_TLS)
stream = partial(httpx.stream, timeout=TIMEOUT, verify=_TLS)
