"""Errors in the shape of OpenAI's API: ``{"error": {"message", "type", "param", "code"}}``."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import (
    ModelError,
    QueueFull,
    QuotaExceeded,
    RunActive,
    RunError,
    StorageFull,
    StudioError,
)
from agent.models.parameters import InvalidValue
from sandbox_ui.auth.access import ReadOnly, SignInRequired
from sandbox_ui.limits.receiving import UploadStalled
from sandbox_ui.middleware.path_prefix import path_without_prefix

PREFIX = "/v1/"
_INVALID = "invalid_request_error"
NO_RETRY = {"X-Should-Retry": "false"}
"""Tells OpenAI's clients not to repeat a request that would start another run."""
_RETRY_SECONDS = "30"
_MAX_ERROR_BYTES = 64 * 1024
_TYPES = {403: "permission_error", 429: "requests"}
_STATUSES = {SignInRequired: 401, ReadOnly: 403, UploadStalled: 408, RunError: 404}
_CODES = {
    401: "invalid_api_key",
    404: "not_found",
    413: "request_too_large",
    429: "rate_limit_exceeded",
    507: "storage_full",
}


class ApiError(StudioError):
    """A request that is refused or has failed; the status implies ``kind`` and ``code``."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        kind: str = "",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind or _kind_of(status)
        self.param = param
        self.code = code or _CODES.get(status)
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The body of the response."""
        error = {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def response(self) -> Response:
        """Return the response."""
        return JSONResponse(self.body, self.status, self.headers)


SANDBOX_FIELDS = {
    name: "tool_calls" if name == "calls" else name
    for name in (
        "max_steps", "max_seconds", "max_conversation_tokens", "summarise", "memory", "network",
        "prompt", "calls", "send_reasoning", "images",
    )
}  # fmt: skip
"""The fields of ``RunSpec`` in a request's ``sandbox``, and their names there."""

_SHOWN = {name: f"sandbox.{shown}" for name, shown in SANDBOX_FIELDS.items()} | {
    "effort": "reasoning_effort"
}


def to_api_error(error: StudioError) -> ApiError:
    """Return an error of the studio as one of this API."""
    message = str(error)
    match error:
        case ApiError():
            return error
        case InvalidValue():
            shown = _SHOWN.get(error.name, error.name)
            return ApiError(str(error.named(shown)), param=shown)
        case QueueFull():
            return ApiError(message, 429, headers={"Retry-After": _RETRY_SECONDS})
        case QuotaExceeded():
            quota = "insufficient_quota"
            return ApiError(message, 429, kind=quota, code=quota, headers=NO_RETRY)
        case RunActive():
            return ApiError(message, 409, code="run_active", headers=NO_RETRY)
        case StorageFull():
            return ApiError(message, 507, headers=NO_RETRY)
        case ModelError():
            return ApiError(message, 502, code="model_unavailable", headers=NO_RETRY)
        case _:
            found = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
            return ApiError(message, next(found, 400))


class OpenAIErrors:
    """Gives the errors of the layers below it, ``{"error": "…"}``, OpenAI's shape."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request."""
        if scope["type"] != "http" or not path_without_prefix(scope).startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _ErrorRewriter(send))


class _ErrorRewriter:
    """Holds an error's response back until its body is complete, and converts it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_json_error(message):
            self._start = message
        elif self._start is not None and message["type"] == "http.response.body":
            await self._add(self._start, message)
        else:
            await self._send(message)

    async def _add(self, start: Message, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body", False) and len(self._body) <= _MAX_ERROR_BYTES:
            return
        body = _with_shape(self._body, start["status"])
        self._start = None
        MutableHeaders(scope=start)["content-length"] = str(len(body))
        await self._send(start)
        await self._send({**message, "body": body})


def _is_json_error(message: Message) -> bool:
    kind = Headers(raw=message["headers"]).get("content-type", "")
    return message["status"] >= 400 and kind.startswith("application/json")


def _with_shape(body: bytes, status: int) -> bytes:
    try:
        value = json.loads(body)
    except ValueError:
        return body
    text = value.get("error", value.get("detail")) if isinstance(value, dict) else None
    return json.dumps(ApiError(text, status).body).encode() if isinstance(text, str) else body


def _kind_of(status: int) -> str:
    return _TYPES.get(status, _INVALID if status < 500 else "server_error")
