"""Limits on request bodies: size, JSON values, levels, time, and how many at once."""

import asyncio
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import StudioError
from agent.util.text import format_size
from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.json_meter import JsonMeter, JsonRefused
from sandbox_ui.middleware.path_prefix import path_without_prefix
from sandbox_ui.scheduling.limiter import PerUserLimiter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BodyRule:
    """Limits on a body to some routes; ``values`` is 0 if it is not JSON."""

    routes: str
    path: re.Pattern[str]
    size: int
    values: int = 0
    depth: int = 0
    for_guests: bool = False


RULES = (
    BodyRule("`/gradio_api/…`", re.compile("/gradio_api/"), 4 * 1024**2, 1_000, 16),
    BodyRule("`/v1/…`", re.compile("/v1/"), 8 * 1024**2, 50_000, 64),
    BodyRule(
        "`/api/runs/…/file-links`", re.compile("/api/runs/[^/]+/file-links$"), 256 * 1024, 10_000,
        2, for_guests=True,
    ),
    BodyRule("`/api/markdown`", re.compile("/api/markdown$"), 1024**2, for_guests=True),
    BodyRule("`/api/…`", re.compile("/api/"), 4 * 1024**2, 20_000, 32),
    BodyRule("others", re.compile(""), 64 * 1024, for_guests=True),
)  # fmt: skip
"""The first rule that matches a path applies."""
GUEST_BYTES = 16 * 1024
GUEST_VALUES = 100
MAX_PARSED, MAX_PARSED_PER_USER = 2, 1
MAX_LARGE, MAX_LARGE_PER_USER = 16, 4
LARGE_BYTES = 64 * 1024
"""Of bodies above this size, ``MAX_LARGE`` are received at once; further ones wait."""
MAX_SECONDS = 120.0
"""Time for receiving a body."""
# These stream to the disk and have other limits: the disk's, the run's and the user's.
_UPLOAD_PATHS = re.compile(r"/api/runs/[^/]+/(files/|uploads/)|/api/imports$|/v1/files$")


class _Refused(StudioError):
    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class BodyLimit:
    """Reads bodies within their limits before the application does, and refuses the others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._parsing = PerUserLimiter(MAX_PARSED, MAX_PARSED_PER_USER)
        self._large = PerUserLimiter(MAX_LARGE, MAX_LARGE_PER_USER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or refuse a request."""
        if scope["type"] != "http" or _UPLOAD_PATHS.match(path_without_prefix(scope)):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request.state.parsing = self._parsing
        try:
            rule = _rule_for(request)
            size = _declared_size(request.headers, rule)
            if size == 0:
                await self._app(scope, receive, send)
                return
            body = await self._read(
                request, rule, receive, large=size is None or size > LARGE_BYTES
            )
        except _Refused as refused:
            error = {"error": str(refused)}
            response = JSONResponse(error, refused.status, headers={"Connection": "close"})
            await response(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, replay_body(body, receive), send)

    async def _read(
        self, request: Request, rule: BodyRule, receive: Receive, *, large: bool
    ) -> bytes | None:
        """Return the body; None if the client disconnected."""
        key = get_access(request).limiter_key
        async with self._large.slot(key) if large else nullcontext():
            try:
                async with asyncio.timeout(MAX_SECONDS):
                    return await _receive_body(rule, receive)
            except TimeoutError:
                raise _Refused("The request body did not arrive in time.", 408) from None


async def parse_body(request: Request, parse: Callable[[], T]) -> T:
    """Parse a body in a thread, with few others at a time and no other of the user's."""
    parsing: PerUserLimiter = request.state.parsing
    return await parsing.run(get_access(request).limiter_key, parse)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that replays a body that was already read."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _rule_for(request: Request) -> BodyRule:
    path = path_without_prefix(request.scope)
    rule = next(rule for rule in RULES if rule.path.match(path))
    if rule.for_guests or not get_access(request).is_guest:
        return rule
    return replace(rule, size=GUEST_BYTES, values=GUEST_VALUES)


def _declared_size(headers: Headers, rule: BodyRule) -> int | None:
    """Return the size of a body as its client says it; None if it does not."""
    length = headers.get("content-length", "")
    if not length:
        return None if "transfer-encoding" in headers else 0
    if not length.isdecimal() or len(length) > 20 or int(length) > rule.size:
        raise _too_large(rule)
    return int(length)


async def _receive_body(rule: BodyRule, receive: Receive) -> bytes | None:
    meter = JsonMeter(rule.values, rule.depth) if rule.values else None
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > rule.size:
            raise _too_large(rule)
        try:
            if meter is not None:
                meter.feed(chunk)
        except JsonRefused as refused:
            raise _Refused(str(refused), 400) from None
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _too_large(rule: BodyRule) -> _Refused:
    return _Refused(
        f"A request may have at most {format_size(rule.size)} here. Upload longer texts as files.",
        413,
    )
