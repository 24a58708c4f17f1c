"""Routes that comparisons and evaluations share: start, read, stop, continue, export, delete."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import UsageError
from agent.experiments.figures.exports import KINDS, MEDIA_TYPES, export
from agent.experiments.folder import KINDS as FOLDERS
from agent.report import groups
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import ExperimentRequest, ResumeRequest, parse
from sandbox_ui.experiments.stream import (
    ExperimentStream,
    parse_cursors,
    parse_runs,
    stream_response,
)
from sandbox_ui.routes.helpers import (
    change_title_or_pin,
    download_headers,
    json_response,
    read_json,
    route,
)
from sandbox_ui.routes.reports import report_response
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter

_MAX_AT_ONCE = 2
_HIDDEN_SETTINGS = ("baseUrl", "extraBody")


class ExperimentRoutes(ABC):
    """Routes of the experiments of one kind.

    Args:
        closing: Set when the application shuts down; streams then end.
    """

    request_class: ClassVar[type[ExperimentRequest]]

    def __init__(
        self, manager: ExperimentManager, runs: RunManager, closing: asyncio.Event
    ) -> None:
        self._manager = manager
        self._runs = runs
        self._closing = closing
        self._kind = manager.registry.kind
        self._place = f"/api/{FOLDERS[self._kind]}"
        self._path = f"{self._place}/{{{self._kind}}}"
        self._limiter = PerUserLimiter(_MAX_AT_ONCE, 1)

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(self._place, self.create, "POST"),
            *self._further_routes(),
            route(self._path, self.read),
            route(self._path, self.change, "PATCH"),
            route(self._path, self.delete, "DELETE"),
            route(f"{self._path}/events", self.events),
            route(f"{self._path}/export.{{kind}}", self.export),
            route(f"{self._path}/stop", self.stop, "POST"),
            route(f"{self._path}/resume", self.resume, "POST"),
            route(f"{self._path}/retry-infrastructure", self.retry, "POST"),
        ]

    @abstractmethod
    def _further_routes(self) -> list[Route]:
        """Return the routes that only this kind has."""

    @abstractmethod
    def _hidden(self, described: dict[str, Any]) -> dict[str, Any]:
        """Return what readers who may not change it see instead."""

    async def create(self, request: Request) -> Response:
        """Start an experiment: ``{"id": …}``."""
        access = get_access(request)
        user = access.user
        asked: Any = parse(self.request_class, await read_json(request))
        if asked.inputs:
            await run_sync(access.require_edit, asked.inputs)
        create = partial(self._manager.create, asked, user)
        return json_response({"id": await self._limiter.run(access.limiter_key, create)}, 201)

    async def read(self, request: Request) -> Response:
        """Return the experiment with its members, runs and results."""
        return json_response(await self._shown(request, self._manager.describe))

    async def events(self, request: Request) -> Response:
        """Stream the experiment and its runs; see ``sandbox_ui.experiments.stream``.

        Query parameters: ``runs``: the ids of the runs to follow, with commas; by default each
        member's latest, of a comparison. ``cursor`` (repeated, or with commas): ``RUN:CURSOR``, to
        continue; for an evaluation, that of the description or of the last message.
        """
        experiment, access, query = self._id(request), get_access(request), request.query_params
        known = await run_sync(self._manager.registry.run_ids, experiment)
        cells = self._kind == "evaluation"
        stream = ExperimentStream(
            experiment,
            self._manager,
            self._runs,
            parse_runs(query.get("runs"), known),
            {} if cells else parse_cursors(query.getlist("cursor")),
            query.get("cursor", "") if cells else "",
            partial(self._for_reader, access=access, experiment=experiment),
        )
        return stream_response(
            stream,
            lambda: self._is_over(access, experiment),
            can_edit=access.can_edit_group(self._kind, experiment),
        )

    async def export(self, request: Request) -> Response:
        """Return the table as csv, json, tex or md, the figure as svg or png, all as html."""
        kind = request.path_params["kind"]
        if kind not in (*KINDS, "html"):
            raise UsageError(f"An experiment is exported as {', '.join(KINDS)} or html.")
        shown = await self._shown(request, self._manager.describe)
        if kind == "html":
            return report_response(groups.parts(shown, self._runs.folder), f"{self._kind}.html")
        key = get_access(request).limiter_key
        content = await self._limiter.run(key, partial(export, shown, kind))
        headers = download_headers(f"{self._kind}.{kind}")
        return Response(content, headers=headers, media_type=MEDIA_TYPES[kind])

    async def stop(self, request: Request) -> Response:
        """Stop all runs, or those of the ``member`` with this index; start no more of them."""
        body = await read_json(request) if await request.body() else {}
        member = body.get("member")
        if member is not None and (not isinstance(member, int) or isinstance(member, bool)):
            raise UsageError("“member” must be the index of a member.")
        await run_sync(self._manager.stop, self._id(request), member)
        return Response(status_code=204)

    async def resume(self, request: Request) -> Response:
        """Start the runs that are missing; keys are given again."""
        return await self._continue(request, self._manager.resume)

    async def retry(self, request: Request) -> Response:
        """Start again the runs with infrastructure errors, and only those."""
        return await self._continue(request, self._manager.retry_infrastructure)

    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the task's first line, the suites' titles) or ``pinned``."""
        return await change_title_or_pin(request, self._manager, self._id(request))

    async def delete(self, request: Request) -> Response:
        """Delete the experiment; with ``runs=1`` also the runs that it started."""
        with_runs = request.query_params.get("runs", "") == "1"
        delete = partial(self._manager.delete, self._id(request), with_runs=with_runs)
        return json_response({"freed": await run_sync(delete)})

    async def _continue(
        self, request: Request, start: Callable[[str, ResumeRequest, User], None]
    ) -> Response:
        body = await read_json(request) if await request.body() else {}
        asked: ResumeRequest = parse(ResumeRequest, body)
        await run_sync(start, self._id(request), asked, get_access(request).user)
        return Response(status_code=204)

    async def _shown(
        self, request: Request, describe: Callable[[str], dict[str, Any]]
    ) -> dict[str, Any]:
        experiment, access = self._id(request), get_access(request)
        described = await run_sync(describe, experiment)
        return await run_sync(self._for_reader, described, access, experiment)

    def _id(self, request: Request) -> str:
        return str(request.path_params[self._kind])

    def _is_over(self, access: Access, experiment: str) -> bool:
        """Whether a stream ends: the application closes, or the reader lost the permission."""
        return self._closing.is_set() or not access.can_view_group(self._kind, experiment)

    def _for_reader(
        self, described: dict[str, Any], access: Access, experiment: str
    ) -> dict[str, Any]:
        """Return a description for this reader: others do not see addresses of endpoints."""
        if access.can_edit_group(self._kind, experiment):
            return described
        if access.owns_group(self._kind, experiment):
            return described | {"canEdit": False}
        members = [
            member | {"settings": {name: value for name, value in member["settings"].items()
                                   if name not in _HIDDEN_SETTINGS}}
            for member in described["members"]
        ]  # fmt: skip
        return described | self._hidden(described) | {
            "members": members, "canEdit": False, "canResume": False, "canRetry": False,
        }  # fmt: skip
