"""How much a request may bring: whatever is no file is small."""

import re

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.prefix import path_below

MOST = 8 * 1024**2
"""Bytes of a request that is no upload; a task, however long, and its settings fit well."""

# These stream to the disk, and have limits of their own: the disk, the run's and the person's.
_FILES = re.compile(r"/api/runs/[^/]+/(files/|uploads/)")
_SENTENCE = f"A request has at most {MOST // 1024**2} MB. Give what is longer as a file."


class Sizes:
    """Refuses requests that are too large, before anything of them is read.

    What does not say its size is read up to the limit first, then passed on.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or _FILES.match(path_below(scope)):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        if length and (not length.isdecimal() or len(length) > 20 or int(length) > MOST):
            await _refusal(scope, receive, send)
        elif length or "transfer-encoding" not in headers:
            await self._app(scope, receive, send)
        else:
            await self._read_first(scope, receive, send)

    async def _read_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        read: list[Message] = []
        size, more = 0, True
        while more:
            message = await receive()
            read.append(message)
            size += len(message.get("body", b""))
            if size > MOST:
                await _refusal(scope, receive, send)
                return
            more = message["type"] == "http.request" and message.get("more_body", False)

        async def again() -> Message:
            return read.pop(0) if read else await receive()

        await self._app(scope, again, send)


async def _refusal(scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse({"error": _SENTENCE}, 413, headers={"Connection": "close"})
    await answer(scope, receive, send)
