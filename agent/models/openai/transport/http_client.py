"""HTTP clients for requests to endpoints: proxies, certificates, size limits."""

from functools import cache

import httpx2

from agent.models.openai.transport.bounds import bound
from agent.models.openai.transport.ssrf import PublicTransport, refuse_private

_IDLE_CONNECTIONS = 16


@cache
def connections(loopback: bool, public: bool) -> httpx2.AsyncClient:
    """Return the client shared by all models; idle connections are closed after 30 s.

    Args:
        loopback: For endpoints on this machine, which bypass proxies.
        public: Whether to connect only to the public internet.
    """
    limits = httpx2.Limits(max_keepalive_connections=_IDLE_CONNECTIONS, keepalive_expiry=30.0)
    before = [_without_cookies, refuse_private] if public else [_without_cookies]
    client = httpx2.AsyncClient(
        trust_env=not loopback,  # proxies
        verify=httpx2.create_ssl_context(),
        follow_redirects=False,
        limits=limits,
        event_hooks={"request": before, "response": [bound]},
    )
    if public:
        # As a constructor argument, it would disable the environment's proxies.
        client._transport = PublicTransport(httpx2.create_ssl_context(), limits)
    return client


async def _without_cookies(request: httpx2.Request) -> None:
    """Remove cookies, since runs share the client and must not share cookies."""
    request.headers.pop("cookie", None)
