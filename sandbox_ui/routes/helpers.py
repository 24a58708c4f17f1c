"""Route helpers: byte-exact paths, and errors as JSON with a message."""

import errno
import json
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeVar, cast

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.errors import (
    EditConflict,
    NotStored,
    QuotaExceeded,
    RunActive,
    RunError,
    RunPinned,
    SteeringRefused,
    StorageFull,
    StudioError,
    WorkspaceError,
)
from agent.experiments.folder import KINDS
from agent.models.parameters import InvalidValue, camel_case
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import ReadOnly, SignInRequired, get_access
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.body_limit import parse_body
from sandbox_ui.limits.receiving import UploadStalled

Endpoint = Callable[[Request], Awaitable[Response]] | Callable[[Request], Response]
"""A handler; one that is not asynchronous is called in a thread."""

RUN_PATH = "/api/runs/{run}"
EXPERIMENT_PATHS = tuple(f"/api/{name}/{{experiment}}" for name in KINDS.values())
_STATUS_BY_ERROR: dict[type[Exception], int] = {
    RunError: 404,
    QuotaExceeded: 429,
    RunActive: 409,
    RunPinned: 409,
    SteeringRefused: 409,
    EditConflict: 412,
    StorageFull: 507,
    NotStored: 404,
    SignInRequired: 401,
    ReadOnly: 403,
    UploadStalled: 408,
}
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full, or its quota is used up."""
DISK_FULL_MESSAGE = (
    "The studio's disk is full, or has too many files, and nothing was saved. "
    "Delete runs that are no longer needed and try again."
)
Permission = Literal["view", "edit"]
_Handler = TypeVar("_Handler", bound=Callable[..., Awaitable[Response] | Response])


class _AnyPathConvertor(Convertor[str]):
    """Path convertor ``{path:any}``: any characters, line ends included."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _AnyPathConvertor())


def route(
    path: str, endpoint: Endpoint, method: str = "GET", *, permission: Permission | None = None
) -> Route:
    """Create a route that reports errors as JSON: ``{"error": message}``.

    If its path has a ``{run}`` or an ``{experiment}``, the request's permissions for it are checked
    first; which one is required follows by default from the method.
    """
    permission = permission or ("view" if method == "GET" else "edit")
    return Route(path, _with_json_errors(endpoint, permission), methods=[method])


class Routes:
    """Handlers of requests, with their addresses, to be registered before Gradio's."""

    @property
    def routes(self) -> list[Route]:
        """Return the routes in the order of the handlers."""
        return [
            self._route(path, getattr(self, name), method, permission)
            for name, handler in vars(type(self)).items()
            for path, method, permission in getattr(handler, "addresses", ())
        ]

    def _route(
        self, path: str, endpoint: Endpoint, method: str, permission: Permission | None
    ) -> Route:
        return route(path, endpoint, method, permission=permission)


def at(
    *paths: str, method: str = "GET", permission: Permission | None = None
) -> Callable[[_Handler], _Handler]:
    """Give a method of ``Routes`` its addresses; see ``route``."""

    def add(handler: _Handler) -> _Handler:
        vars(handler)["addresses"] = [(path, method, permission) for path in paths]
        return handler

    return add


def get_run_id(request: Request) -> str:
    """Return the id of the run in the URL."""
    run: str = request.path_params["run"]
    return run


def get_path(request: Request, prefix: bytes) -> RelPath:
    """Return the workspace path in a request's URL after ``prefix``, byte for byte."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return RelPath.from_url(raw.partition(b"?")[0].partition(prefix)[2])


def get_step(request: Request, name: str = "step") -> int | None:
    """Return the step number in a query parameter; None without it."""
    step = request.query_params.get(name, "")
    if step and not (step.isascii() and step.isdecimal() and len(step) < 10):
        raise WorkspaceError(f"“{step[:40]}” is not a step number.")
    return int(step) if step else None


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body."""
    value = await parse_body(request, partial(_parse_json, await request.body()))
    if not isinstance(value, dict):
        raise WorkspaceError("The request body is not a JSON object.")
    return value


def _parse_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError as error:
        raise WorkspaceError("The request body is not JSON.") from error


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response for any value, dataclasses included."""
    return Response(to_json(value), status, media_type="application/json")


def download_headers(name: str) -> dict[str, str]:
    """Return headers for downloading a response as ``name`` (plain ASCII)."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _with_json_errors(endpoint: Endpoint, permission: Permission) -> Endpoint:
    @wraps(endpoint)
    async def checked_endpoint(request: Request) -> Response:
        try:
            if request.path_params.keys() & {"run", "experiment"}:
                await run_sync(_check_permission, request, permission)
            return await call(endpoint, request)
        except StudioError as error:
            if isinstance(error, InvalidValue):
                error = error.named(camel_case(error.name))
            return JSONResponse({"error": str(error)}, _status(error))
        except OSError as error:
            if error.errno not in DISK_FULL_ERRNOS:
                raise
            return JSONResponse({"error": DISK_FULL_MESSAGE}, 507)

    return checked_endpoint


async def call(endpoint: Endpoint, request: Request) -> Response:
    """Return a handler's response."""
    if iscoroutinefunction(endpoint):
        return cast(Response, await endpoint(request))
    return cast(Response, await run_sync(endpoint, request))


def _check_permission(request: Request, permission: Permission) -> None:
    """Check the permissions for the run, or the comparison or evaluation, in the URL."""
    access, ids = get_access(request), request.path_params
    if "run" in ids:
        (access.require_view if permission == "view" else access.require_edit)(ids["run"])
    else:
        require = access.require_view_group if permission == "view" else access.require_edit_group
        require(ids["experiment"])


def _status(error: StudioError) -> int:
    return next(
        (_STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _STATUS_BY_ERROR), 400
    )


async def change_title_or_pin(
    request: Request, items: Catalog | ExperimentManager, item: str
) -> Response:
    """Change an item's ``title`` or ``pinned`` to the body's; return what was saved."""
    body = await read_json(request)
    title, pinned = body.get("title", ""), body.get("pinned", False)
    if not body.keys() & {"title", "pinned"}:
        raise StudioError("Only “title” and “pinned” can be changed.")
    if not isinstance(title, str) or not isinstance(pinned, bool):
        raise StudioError("“title” must be a string and “pinned” true or false.")
    saved: dict[str, Any] = {}
    if "title" in body:
        saved["title"] = await run_sync(items.rename, item, title)
    if "pinned" in body:
        saved["pinned"] = await run_sync(items.pin, item, pinned)
    return json_response(saved)
