"""Connections to the public internet only, for URLs that untrusted users enter.

The checked IP address is the one that is connected to. Behind a proxy, which resolves names,
hosts that are private, or resolve to private addresses on this machine, are refused before.
"""

import asyncio
import ssl
from collections.abc import Iterable
from socket import EAI_NONAME, SOCK_STREAM, gaierror

import httpcore2
import httpx2

from agent.errors import ModelRefused
from agent.models.transport.base_url import parse_base_url
from agent.util import event_loops
from agent.util.ip_addresses import is_public

_PRIVATE_ADDRESS_MESSAGE = (
    "The endpoint is in a private network, which only the operator of this studio may configure. "
    "Enter an endpoint on the public internet, or ask the operator to set this one."
)


_LOOKUP_SECONDS = 5.0


class PublicOnlyTransport(httpx2.AsyncHTTPTransport):
    """Transport that connects only to public addresses."""

    def __init__(self, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_PublicOnlyBackend(),
        )


class _PublicOnlyBackend(httpcore2.AnyIOBackend):
    """Network backend that resolves a name once and connects to the checked address."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to one of the host's addresses; raise ``ModelRefused`` if one is private."""
        error: Exception = httpcore2.ConnectError("the name has no address")
        try:
            addresses = await _resolve_public(host, port)
        except gaierror as unknown:
            raise httpcore2.ConnectError(str(unknown)) from unknown
        for address in addresses:
            try:
                return await super().connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failed:
                error = failed
        raise error


def is_public_endpoint(base_url: str) -> bool:
    """Return whether an endpoint is on the public internet, as far as its name resolves here."""
    try:
        url = httpx2.URL(parse_base_url(base_url).url)
        lookup = event_loops.submit(_resolve_public(url.host, url.port or 443))
    except (ModelRefused, httpx2.InvalidURL):
        return False
    try:
        return bool(lookup.result(_LOOKUP_SECONDS))
    except (ModelRefused, gaierror):
        return False
    except TimeoutError:
        lookup.cancel()
        return False


async def refuse_private(request: httpx2.Request) -> None:
    """Refuse requests to private addresses, including requests through a proxy."""
    try:
        await _resolve_public(request.url.host, request.url.port or 443)
    except gaierror as unknown:
        if isinstance(unknown.__cause__, UnicodeError):
            raise httpx2.ConnectError(str(unknown)) from unknown
        return  # a proxy may resolve it; without a proxy, the connection fails with an error


async def _resolve_public(host: str, port: int) -> list[str]:
    try:
        results = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    except UnicodeError as error:
        raise gaierror(EAI_NONAME, "the host is no name") from error
    addresses = [str(each[4][0]) for each in results]
    if not all(is_public(address) for address in addresses):
        raise ModelRefused(_PRIVATE_ADDRESS_MESSAGE)
    return list(dict.fromkeys(addresses))
