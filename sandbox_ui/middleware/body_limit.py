"""Limit on the size of request bodies other than file uploads."""

import re

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.middleware.path_prefix import path_without_prefix

MAX_BODY_BYTES = 8 * 1024**2
"""Maximum size in bytes of a request that is not an upload; fits any task."""

# These stream to the disk and have other limits: the disk's, the run's and the user's.
_UPLOAD_PATHS = re.compile(r"/api/runs/[^/]+/(files/|uploads/)|/api/imports$|/v1/files$")
_MESSAGE = (
    f"A request may have at most {MAX_BODY_BYTES // 1024**2} MB. Upload longer texts as files."
)


class BodyLimit:
    """Refuses requests that are too large, before reading them.

    A request without a declared size is read up to the limit, then forwarded.

    Args:
        app: The wrapped application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http" or _UPLOAD_PATHS.match(path_without_prefix(scope)):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        if length and (not length.isdecimal() or len(length) > 20 or int(length) > MAX_BODY_BYTES):
            await _refuse(scope, receive, send)
        elif length or "transfer-encoding" not in headers:
            await self._app(scope, receive, send)
        else:
            await self._buffer_body(scope, receive, send)

    async def _buffer_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[Message] = []
        size, more = 0, True
        while more:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            if size > MAX_BODY_BYTES:
                await _refuse(scope, receive, send)
                return
            more = message["type"] == "http.request" and message.get("more_body", False)

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, replay, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    response = JSONResponse({"error": _MESSAGE}, 413, headers={"Connection": "close"})
    await response(scope, receive, send)
