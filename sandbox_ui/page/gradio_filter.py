"""What reaches Gradio: only needed routes; others accept files, fetch URLs or expose sessions."""

import inspect
import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from gradio import Blocks
from gradio import Request as GradioRequest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.body_limit import parse_body, replay_body
from sandbox_ui.middleware.path_prefix import path_without_prefix
from sandbox_ui.page.gradio_queue import OwnedQueue

_ALLOWED_PATHS = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json"
    r"|/(static|assets)/.+"
    r"|/gradio_api/(info|openapi\.json|app_id|startup-events|theme\.css|cancel|reset)/?"
    r"|/gradio_api/(queue/join|queue/data|heartbeat/[^/]+)"
    r"|/gradio_api/(run|api|call|call/v2)/[^/]+/?"
    r"|/gradio_api/(call|call/v2)/[^/]+/[^/]+"
)
# The API page requests call counts over all users; it gets an empty answer.
_SUMMARY_PATH = "/monitoring/summary"
_DIRECT_CALL = re.compile(r"/gradio_api/(run|api)/[^/]+/?")
_BY_NAME = re.compile(r"/gradio_api/(?:run|api|call)/([^/]+)/?")
_RESULT = re.compile(r"/gradio_api/(?:call|call/v2)/[^/]+/([^/]+)")
_HEARTBEAT = re.compile(r"/gradio_api/heartbeat/([^/]+)")
_DATA = "/gradio_api/queue/data"
_CANCEL = re.compile(r"/gradio_api/cancel/?")
_NOT_JSON = JSONResponse(
    {"error": "The request body must be JSON without NaN, infinity or lone surrogates."}, 400
)
_NOT_FOUND = JSONResponse({"error": "There is no such call, or it is another user's."}, 404)
_CANCELLED = JSONResponse({"success": True})


Parameters = Mapping[str, list[inspect.Parameter]]


class GradioGate:
    """Refuses other routes, invalid bodies and other users' calls; adds default values."""

    def __init__(self, app: ASGIApp, queue: OwnedQueue, parameters: Parameters) -> None:
        self._app = app
        self._queue = queue
        self._parameters = parameters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, request = path_without_prefix(scope), Request(scope, receive)
        call: Any = None
        if not _ALLOWED_PATHS.fullmatch(path):
            unknown = JSONResponse({"error": "Not found."}, 404)
            answer = JSONResponse({"functions": {}}) if path == _SUMMARY_PATH else unknown
            await answer(scope, receive, send)
            return
        if scope["method"] == "POST":
            body = await request.body()
            try:
                call = await parse_body(request, partial(_parse, body)) if body else None
            except ValueError:
                await _NOT_JSON(scope, receive, send)
                return
            if function := _BY_NAME.fullmatch(path):
                defaults, missing = _defaults(call, self._parameters.get(function[1], []))
                if defaults:
                    body = json.dumps({**call, "data": [*call["data"], *defaults]}).encode()
                if missing:
                    error = f"A value is missing for: {', '.join(missing)}."
                    await JSONResponse({"error": error}, 400)(scope, receive, send)
                    return
            receive = replay_body(body, receive)
            send = _with_client_errors(send) if _DIRECT_CALL.fullmatch(path) else send
        await (self._refusal(path, request, call) or self._app)(scope, receive, send)

    def _refusal(self, path: str, request: Request, call: Any) -> ASGIApp | None:
        """Return the answer to a request for another user's calls or sessions."""
        owner, queue = get_access(request).result_owner, self._queue
        if match := _RESULT.fullmatch(path):
            return None if queue.owner_of_event(match[1]) == owner else _NOT_FOUND
        if path == _DATA:
            session = request.query_params.get("session_hash", "")
            return None if queue.owner_of(session) == owner else _NOT_FOUND
        if match := _HEARTBEAT.fullmatch(path):
            return None if queue.owner_of(match[1]) in (None, owner) else _NOT_FOUND
        if _CANCEL.fullmatch(path) and request.method == "POST":
            fields = call if isinstance(call, dict) else {}
            session, event = (str(fields.get(name, "")) for name in ("session_hash", "event_id"))
            owners = {queue.owner_of(session), queue.owner_of_event(event)}
            return None if owners <= {None, owner} else _CANCELLED
        return None


def parameters_of(blocks: Blocks) -> Parameters:
    """Return each API function's parameters, without the request that Gradio injects."""
    return {
        function.api_name: [
            parameter
            for parameter in inspect.signature(function.fn).parameters.values()
            if parameter.annotation is not GradioRequest
        ]
        for function in blocks.fns.values()
        if isinstance(function.api_name, str) and callable(function.fn)
    }


def _defaults(call: Any, parameters: list[inspect.Parameter]) -> tuple[list[Any], list[str]]:
    """Return the defaults of the values that a call lacks, or the names that have no default."""
    values = call.get("data") if isinstance(call, dict) else None
    if not isinstance(values, list):
        return [], []
    omitted = parameters[len(values) :]
    missing = [each.name for each in omitted if each.default is inspect.Parameter.empty]
    return ([], missing) if missing else ([each.default for each in omitted], [])


def _parse(body: bytes) -> Any:
    """Return a body's value. Raises ``ValueError`` unless it can be answered in JSON."""
    value = json.loads(body)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _with_client_errors(send: Send) -> Send:
    """Change Gradio's 500 to 400 for errors that have a message for the user."""
    pending: list[Message] = []

    async def send_with_client_errors(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 500:
            pending.append(message)
            return
        if pending and message["type"] == "http.response.body":
            start = pending.pop()
            await send({**start, "status": 400 if _has_error_message(message["body"]) else 500})
        await send(message)

    return send_with_client_errors


def _has_error_message(body: bytes) -> bool:
    try:
        return bool(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return False
