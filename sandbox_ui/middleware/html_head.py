"""The page's own head, since Gradio's comes late; nonces keep later scripts from running."""

import gzip
import re
import secrets
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.middleware.path_prefix import path_without_prefix
from sandbox_ui.middleware.security import page_policy

_SCRIPT = re.compile(rb"<script(?=[ >])")


class HeadInjection:
    """Inserts text into the head of the page at ``/``: after its start ``head()``, and ``end``."""

    def __init__(self, app: ASGIApp, head: Callable[[], str], end: str) -> None:
        self._app = app
        self._head = head
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; buffer the page's response until it is complete."""
        if scope["type"] != "http" or path_without_prefix(scope) != "/" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()

        async def buffer(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                content = self._insert_head(start, bytes(body))
                if "gzip" in Headers(scope=scope).get("accept-encoding", ""):
                    content = _compress(start, content)
                await send(start)
                await send({"type": "http.response.body", "body": content})

        await self._app(_without_compression(scope), receive, buffer)

    def _insert_head(self, start: Message, body: bytes) -> bytes:
        headers = MutableHeaders(scope=start)
        if headers.get("content-type", "").startswith("text/html"):
            nonce = secrets.token_urlsafe(16)
            body = body.replace(b"<head>", b"<head>" + self._head().encode(), 1)
            body = body.replace(b"</head>", self._end.encode() + b"</head>", 1)
            body = _SCRIPT.sub(b'<script nonce="%b"' % nonce.encode(), body)
            headers["content-length"] = str(len(body))
            headers["vary"] = "accept-encoding"
            headers["content-security-policy"] = page_policy(nonce)
        return body


def _compress(start: Message, body: bytes) -> bytes:
    compressed = gzip.compress(body)
    headers = MutableHeaders(scope=start)
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(compressed))
    return compressed


def _without_compression(scope: Scope) -> Scope:
    headers = [(name, value) for name, value in Headers(scope=scope).raw
               if name != b"accept-encoding"]  # fmt: skip
    return {**scope, "headers": headers}
