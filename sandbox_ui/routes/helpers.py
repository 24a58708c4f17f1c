"""Route helpers: byte-exact paths, and errors as JSON with a message."""

import errno
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Literal

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import (
    ChangedMeanwhile,
    NoRoom,
    NotKept,
    OverLimit,
    RunAtWork,
    RunError,
    RunPinned,
    StudioError,
    WorkspaceError,
)
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import ReadOnly, SignedOut, access_of

Endpoint = Callable[[Request], Awaitable[Response]]
RUN = "/api/runs/{run}"
_MOST_JSON = 4 * 1024**2
_STATUS: dict[type[Exception], int] = {
    RunError: 404,
    OverLimit: 429,
    RunAtWork: 409,
    RunPinned: 409,
    ChangedMeanwhile: 412,
    NoRoom: 507,
    NotKept: 404,
    SignedOut: 401,
    ReadOnly: 403,
}
FULL = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full, or its quota is used up."""
_DISK_FULL = "The studio's disk is full, so nothing was saved. Make room and try again."
Needs = Literal["see", "change"]


class _Anything(Convertor[str]):
    """Path convertor ``{path:any}``: any characters, line ends included."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Anything())


def route(
    path: str, endpoint: Endpoint, method: str = "GET", *, needs: Needs | None = None
) -> Route:
    """Create a route that reports errors as JSON: ``{"error": message}``.

    If its path has a ``{run}``, the request's permissions for that run are checked first.

    Args:
        path: The URL path.
        endpoint: The handler.
        method: The only allowed method.
        needs: The required permission for the run; by default it follows from the method.
    """
    needs = needs or ("see" if method == "GET" else "change")
    return Route(path, _speaking(endpoint, needs), methods=[method])


def run_of(request: Request) -> str:
    """Return the id of the run in the URL."""
    run: str = request.path_params["run"]
    return run


def path_of(request: Request, after: bytes) -> RelPath:
    """Return the workspace path in a request's URL, byte for byte.

    Args:
        request: The request.
        after: The part of the URL before the path.

    Raises:
        WorkspaceError: if it is not a path below a workspace.
    """
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return RelPath.from_url(raw.partition(b"?")[0].partition(after)[2])


def step_of(request: Request) -> int | None:
    """Return the step after which to read a file; None for the current state.

    Raises:
        WorkspaceError: if ``step`` is not a number.
    """
    step = request.query_params.get("step", "")
    if step and not (step.isascii() and step.isdecimal() and len(step) < 10):
        raise WorkspaceError(f"“{step[:40]}” is not the number of a step.")
    return int(step) if step else None


async def bytes_of(request: Request, most: int) -> bytes | None:
    """Return a request's body; None, without reading on, beyond ``most`` bytes."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            return None
    return bytes(raw)


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body of at most 4 MB.

    Raises:
        WorkspaceError: if the body is not a JSON object.
    """
    raw = await bytes_of(request, _MOST_JSON)
    if raw is None:
        raise WorkspaceError("That is too much for one request.")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise WorkspaceError("The request's body is not JSON.") from error
    if not isinstance(value, dict):
        raise WorkspaceError("The request's body is not a JSON object.")
    return value


def as_json(value: Any, status: int = 200) -> Response:
    """Return a JSON response for any value, dataclasses included."""
    return Response(to_json(value), status, media_type="application/json")


def saved(name: str) -> dict[str, str]:
    """Return headers for downloading a response as ``name`` (plain ASCII)."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _speaking(endpoint: Endpoint, needs: Needs) -> Endpoint:
    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            if "run" in request.path_params:
                access = access_of(request)
                check = access.see if needs == "see" else access.change
                await run_sync(check, run_of(request))
            return await endpoint(request)
        except StudioError as error:
            return JSONResponse({"error": str(error)}, _status(error))
        except OSError as error:
            if error.errno not in FULL:
                raise
            return JSONResponse({"error": _DISK_FULL}, 507)

    return answer


def _status(error: StudioError) -> int:
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 400)
