"""Routes of comparisons: start, read, follow, stop, continue, change, delete."""

import asyncio
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import UsageError
from agent.experiments.experiment import MAX_MEMBERS
from agent.experiments.figures.exports import KINDS, MEDIA_TYPES, export
from agent.report.groups import comparison_parts
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.request import ComparisonRequest, ResumeRequest, parse
from sandbox_ui.compare.selection import NotComparable
from sandbox_ui.compare.stream import (
    ComparisonStream,
    parse_cursors,
    parse_runs,
    stream_response,
)
from sandbox_ui.routes.helpers import (
    COMPARISON_PATH,
    change_title_or_pin,
    download_headers,
    get_comparison_id,
    json_response,
    read_json,
    route,
)
from sandbox_ui.routes.reports import report_response
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter

_MAX_EXPORTS = 2
_HIDDEN_SETTINGS = ("baseUrl", "extraBody")


class ComparisonRoutes:
    """Routes of comparisons.

    Args:
        comparisons: The comparisons.
        runs: The live runs.
        closing: Set when the application shuts down; streams then end.
    """

    def __init__(
        self, comparisons: ComparisonManager, runs: RunManager, closing: asyncio.Event
    ) -> None:
        self._comparisons = comparisons
        self._runs = runs
        self._closing = closing
        self._limiter = PerUserLimiter(_MAX_EXPORTS, 1)

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/api/comparisons", self.create, "POST"),
            route("/api/comparisons/from-runs", self.create_from_runs, "POST"),
            route(COMPARISON_PATH, self.read),
            route(COMPARISON_PATH, self.change, "PATCH"),
            route(COMPARISON_PATH, self.delete, "DELETE"),
            route(f"{COMPARISON_PATH}/events", self.events),
            route(f"{COMPARISON_PATH}/export.{{kind}}", self.export),
            route(f"{COMPARISON_PATH}/stop", self.stop, "POST"),
            route(f"{COMPARISON_PATH}/resume", self.resume, "POST"),
        ]

    async def create(self, request: Request) -> Response:
        """Start a comparison: ``{"id": …}``."""
        access = get_access(request)
        user = access.user
        asked: ComparisonRequest = parse(ComparisonRequest, await read_json(request))
        if asked.inputs:
            await run_sync(access.require_edit, asked.inputs)
        comparison = await run_sync(self._comparisons.create, asked, user)
        return json_response({"id": comparison}, 201)

    async def create_from_runs(self, request: Request) -> Response:
        """Compare 2 to 12 ``runs`` that exist: ``{"id": …}``; 409 with what differs."""
        access, body = get_access(request), await read_json(request)
        user = access.user
        runs, title = body.get("runs"), body.get("title", "")
        if not isinstance(runs, list) or not all(isinstance(each, str) for each in runs):
            raise UsageError("“runs” must be a list of run ids.")
        if not isinstance(title, str):
            raise UsageError("“title” must be a string.")
        for run in runs[: MAX_MEMBERS + 1]:
            await run_sync(access.require_edit, run)
        try:
            comparison = await run_sync(self._comparisons.create_from_runs, runs, title, user)
        except NotComparable as error:
            return json_response({"error": str(error), "differences": error.differences}, 409)
        return json_response({"id": comparison}, 201)

    async def read(self, request: Request) -> Response:
        """Return the comparison with its members, runs and table."""
        comparison, access = get_comparison_id(request), get_access(request)
        described = await run_sync(self._comparisons.describe, comparison)
        return json_response(await run_sync(_for_reader, described, access, comparison))

    async def events(self, request: Request) -> Response:
        """Stream the comparison and its runs; see ``sandbox_ui.compare.stream``.

        Query parameters: ``runs``: the ids of the runs to follow, with commas; by default each
        member's latest. ``cursor`` (repeated, or with commas): ``RUN:CURSOR``, to continue.
        """
        comparison, access = get_comparison_id(request), get_access(request)
        query = request.query_params
        known = await run_sync(self._comparisons.registry.run_ids, comparison)
        stream = ComparisonStream(
            comparison,
            self._comparisons,
            self._runs,
            parse_runs(query.get("runs"), known),
            parse_cursors(query.getlist("cursor")),
            partial(_for_reader, access=access, comparison=comparison),
        )
        return stream_response(
            stream,
            lambda: self._closing.is_set() or not access.can_view_group("comparison", comparison),
            can_edit=access.can_edit_group("comparison", comparison),
        )

    async def export(self, request: Request) -> Response:
        """Return the table as csv, json, tex or md, the chart as svg or png, all as html."""
        kind = request.path_params["kind"]
        if kind not in (*KINDS, "html"):
            raise UsageError(f"A comparison is exported as {', '.join(KINDS)} or html.")
        comparison, access = get_comparison_id(request), get_access(request)
        described = await run_sync(self._comparisons.describe, comparison)
        shown = await run_sync(_for_reader, described, access, comparison)
        if kind == "html":
            parts = comparison_parts(shown, self._runs.folder)
            return report_response(parts, "comparison.html")
        content = await self._limiter.run(access.limiter_key, partial(export, shown, kind))
        headers = download_headers(f"comparison.{kind}")
        return Response(content, headers=headers, media_type=MEDIA_TYPES[kind])

    async def stop(self, request: Request) -> Response:
        """Stop all runs, or those of the ``member`` with this index."""
        body = await read_json(request) if await request.body() else {}
        member = body.get("member")
        if member is not None and (not isinstance(member, int) or isinstance(member, bool)):
            raise UsageError("“member” must be the index of a member.")
        await run_sync(self._comparisons.stop, get_comparison_id(request), member)
        return Response(status_code=204)

    async def resume(self, request: Request) -> Response:
        """Start the repetitions that are missing; keys are given again."""
        body = await read_json(request) if await request.body() else {}
        asked: ResumeRequest = parse(ResumeRequest, body)
        user, comparison = get_access(request).user, get_comparison_id(request)
        await run_sync(self._comparisons.resume, comparison, asked, user)
        return Response(status_code=204)

    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the task's first line) or ``pinned``."""
        return await change_title_or_pin(request, self._comparisons, get_comparison_id(request))

    async def delete(self, request: Request) -> Response:
        """Delete the comparison; with ``runs=1`` also the runs that it started."""
        with_runs = request.query_params.get("runs", "") == "1"
        delete = partial(self._comparisons.delete, get_comparison_id(request), with_runs=with_runs)
        return json_response({"freed": await run_sync(delete)})


def _for_reader(described: dict[str, Any], access: Access, comparison: str) -> dict[str, Any]:
    """Return a description for this reader: others do not see addresses of endpoints."""
    if access.can_edit_group("comparison", comparison):
        return described
    members = without_addresses(described["members"])
    expected = described["expected"]
    if expected and expected.get("judge"):
        expected = expected | {"judge": expected["judge"] | {"baseUrl": ""}}
    return described | {
        "members": members, "expected": expected, "canEdit": False, "canResume": False,
    }  # fmt: skip


def without_addresses(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return described members without the addresses of their endpoints."""
    return [
        member
        | {
            "settings": {
                name: value
                for name, value in member["settings"].items()
                if name not in _HIDDEN_SETTINGS
            }
        }
        for member in members
    ]
