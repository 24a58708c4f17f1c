"""Access control for Gradio's sessions and results."""

import json
import re

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.body_limit import replay_body
from sandbox_ui.middleware.path_prefix import path_without_prefix
from sandbox_ui.page.gradio_queue import OwnedQueue

_RESULT = re.compile(r"/gradio_api/(?:call|call/v2)/[^/]+/([^/]+)")
_HEARTBEAT = re.compile(r"/gradio_api/heartbeat/([^/]+)")
_DATA = "/gradio_api/queue/data"
_CANCEL = re.compile(r"/gradio_api/cancel/?")
_NOT_FOUND = JSONResponse({"error": "There is no such call, or it is another user's."}, 404)
_CANCELLED = JSONResponse({"success": True})


class GradioResultAccess:
    """Middleware that answers as "not found" for another user's calls and sessions."""

    def __init__(self, app: ASGIApp, queue: OwnedQueue) -> None:
        self._app = app
        self._queue = queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, request = path_without_prefix(scope), Request(scope, receive)
        owner = get_access(request).result_owner
        app: ASGIApp = self._app
        if match := _RESULT.fullmatch(path):
            app = app if self._queue.owner_of_event(match[1]) == owner else _NOT_FOUND
        elif path == _DATA:
            session = request.query_params.get("session_hash", "")
            app = app if self._queue.owner_of(session) == owner else _NOT_FOUND
        elif match := _HEARTBEAT.fullmatch(path):
            app = app if self._queue.owner_of(match[1]) in (None, owner) else _NOT_FOUND
        elif _CANCEL.fullmatch(path) and scope["method"] == "POST":
            body = await request.body()
            session, event = _session_and_event(body)
            owners = {self._queue.owner_of(session), self._queue.owner_of_event(event)}
            app = app if owners <= {None, owner} else _CANCELLED
            receive = replay_body(body, receive)
        await app(scope, receive, send)


def _session_and_event(body: bytes) -> tuple[str, str]:
    try:
        value = json.loads(body)
    except ValueError:
        return "", ""
    fields = value if isinstance(value, dict) else {}
    return str(fields.get("session_hash", "")), str(fields.get("event_id", ""))
