"""Security headers for all responses; refusal of cross-origin requests."""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.middleware.path_prefix import path_without_prefix

# Gradio compiles its templates in the page and adds inline styles, hence the "unsafe" values.
PAGE_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)


def page_policy(nonce: str) -> str:
    """Return the policy of a page in which only scripts with this nonce run."""
    return PAGE_POLICY.replace("script-src 'self'", f"script-src 'self' 'nonce-{nonce}'")


_WRONG_HOST_MESSAGE = (
    "The studio is not served under this name. Whoever runs it can add the name to STUDIO_HOSTS."
)
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-DNS-Prefetch-Control": "off",  # browsers would resolve the hosts of a model's links
}


class SecurityHeaders:
    """Adds security headers, checks the host name, and refuses cross-origin requests.

    Another site can point its own name to this machine (DNS rebinding), but not an IP address:
    ``allowed_hosts`` are accepted besides those and ``localhost``.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str] = ()) -> None:
        self._app = app
        self._allowed_hosts = frozenset(name.lower() for name in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] == "websocket":  # the studio has none
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                _vary_by_no_origin(headers)
            await send(message)

        if not self._is_allowed_host(Headers(scope=scope).get("host", "")):
            refusal = JSONResponse({"error": _WRONG_HOST_MESSAGE}, 421)
            await refusal(scope, receive, with_headers)
        elif _is_forbidden_cross_origin(scope):
            refusal = JSONResponse(
                {"error": "This request came from another site and was refused."}, 403
            )
            await refusal(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _is_allowed_host(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        return name in ("", "localhost") or name in self._allowed_hosts or _is_ip_address(name)


def _vary_by_no_origin(headers: MutableHeaders) -> None:
    """Remove ``Origin`` from ``Vary``, which ``CORSMiddleware`` adds, so that caching works."""
    names = [each.strip() for each in headers.get("vary", "").split(",")]
    names = [each for each in names if each.lower() not in ("", "origin")]
    del headers["vary"]
    if names:
        headers["vary"] = ", ".join(names)


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_forbidden_cross_origin(scope: Scope) -> bool:
    """Return whether another origin tries to change or embed a resource.

    Other sites may link to the page, but not measure a response. A run's framed page is a foreign
    origin with URLs of its own.
    """
    headers = Headers(scope=scope)
    if scope["method"] in _SAFE_METHODS:
        is_document = headers.get("sec-fetch-dest") == "document"
        is_navigation = is_document and headers.get("sec-fetch-mode") == "navigate"
        if is_navigation or path_without_prefix(scope).startswith("/frames/"):
            return False
    return _is_cross_origin(headers)


def _is_cross_origin(headers: Headers) -> bool:
    """Return whether another origin's page sent the request, by its headers.

    ``Sec-Fetch-Site`` is correct even behind a proxy that changes the host. A client without it and
    without ``Origin`` is not a browser.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
