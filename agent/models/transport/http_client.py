"""HTTP clients for requests to endpoints: proxies, certificates, size limits."""

import threading
from functools import cache

import httpx2

from agent.models.transport.bounds import limit_response
from agent.models.transport.ssrf import PublicOnlyTransport, refuse_private

_MAX_IDLE_CONNECTIONS = 16
_lock = threading.Lock()


def shared_client(loopback: bool, public_only: bool) -> httpx2.AsyncClient:
    """Return the client shared by all models; idle connections are closed after 30 s."""
    with _lock:  # two models that start at the same time share one client, too
        return _create_client(loopback, public_only)


@cache
def _create_client(loopback: bool, public_only: bool) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_keepalive_connections=_MAX_IDLE_CONNECTIONS, keepalive_expiry=30.0)
    request_hooks = [_remove_cookies, refuse_private] if public_only else [_remove_cookies]
    client = httpx2.AsyncClient(
        trust_env=not loopback,  # proxies
        verify=httpx2.create_ssl_context(),
        follow_redirects=False,
        limits=limits,
        event_hooks={"request": request_hooks, "response": [limit_response]},
    )
    if public_only:
        # As a constructor argument, it would disable the environment's proxies.
        client._transport = PublicOnlyTransport(httpx2.create_ssl_context(), limits)
    return client


async def _remove_cookies(request: httpx2.Request) -> None:
    """Remove cookies, since runs share the client and must not share cookies."""
    request.headers.pop("cookie", None)
