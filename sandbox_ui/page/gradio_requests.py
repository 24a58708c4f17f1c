"""Validation of requests to Gradio's functions; status codes of their errors."""

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

from sandbox_ui.limits.body_limit import parse_body, replay_body
from sandbox_ui.middleware.path_prefix import path_without_prefix

_DIRECT_CALL = re.compile(r"/gradio_api/(run|api)/[^/]+/?")
_BY_NAME = re.compile(r"/gradio_api/(?:run|api|call)/([^/]+)/?")
_NOT_JSON = JSONResponse(
    {"error": "The request body must be JSON without NaN, infinity or lone surrogates."},
    400,
)


Parameters = Mapping[str, list[inspect.Parameter]]


class RequestValidation:
    """Refuses bodies that Gradio cannot answer; separates errors from failures.

    Values missing at the end get their defaults, so that a program written for fewer parameters
    keeps working; Gradio requires them all.
    """

    def __init__(self, app: ASGIApp, parameters: Parameters) -> None:
        self._app = app
        self._parameters = parameters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        try:
            call: Any = await parse_body(request, partial(_parse, body)) if body else None
        except ValueError:
            await _NOT_JSON(scope, receive, send)
            return
        path = path_without_prefix(scope)
        if function := _BY_NAME.fullmatch(path):
            defaults, missing = _defaults(call, self._parameters.get(function[1], []))
            if defaults:
                body = json.dumps({**call, "data": [*call["data"], *defaults]}).encode()
            if missing:
                error = f"A value is missing for: {', '.join(missing)}."
                await JSONResponse({"error": error}, 400)(scope, receive, send)
                return
        direct = _DIRECT_CALL.fullmatch(path) is not None
        await self._app(
            scope, replay_body(body, receive), _with_client_errors(send) if direct else send
        )


def parameters_of(blocks: Blocks) -> Parameters:
    """Return the parameters of each function of the API, without Gradio's own request."""
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
