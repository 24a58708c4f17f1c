"""Validation of requests to Gradio's functions; status codes of their errors."""

import json
import re

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.middleware.path_prefix import path_below

_DIRECT = re.compile(r"/gradio_api/(run|api)/[^/]+/?")
_NOT_JSON = JSONResponse(
    {"error": "The request's body must be JSON, without NaN, infinite numbers or lone surrogates."},
    400,
)


class Checked:
    """Refuses bodies that Gradio cannot answer; separates errors from failures.

    Args:
        app: Gradio's application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        if body and not _is_sound(body):
            await _NOT_JSON(scope, receive, send)
            return
        direct = _DIRECT.fullmatch(path_below(scope)) is not None
        await self._app(scope, again(body, receive), _told(send) if direct else send)


def again(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that replays a body that was already read."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _is_sound(body: bytes) -> bool:
    """Return whether the body is JSON that can be answered in JSON."""
    try:
        json.dumps(json.loads(body), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _told(send: Send) -> Send:
    """Change Gradio's 500 to 400 for errors that have a message for the user."""
    held: list[Message] = []

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 500:
            held.append(message)
            return
        if held and message["type"] == "http.response.body":
            start = held.pop()
            await send({**start, "status": 400 if _is_sentence(message["body"]) else 500})
        await send(message)

    return answer


def _is_sentence(body: bytes) -> bool:
    try:
        return bool(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return False
