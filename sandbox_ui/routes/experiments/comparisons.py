"""Routes of comparisons: those of experiments, and comparisons of runs that exist."""

from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import UsageError
from agent.experiments.experiment import MAX_MEMBERS
from sandbox_ui.auth.access import get_access
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.request import ComparisonRequest
from sandbox_ui.compare.selection import NotComparable
from sandbox_ui.compare.stream import (
    ComparisonStream,
    parse_cursors,
    parse_runs,
    stream_response,
)
from sandbox_ui.routes.experiments.base import ExperimentRoutes
from sandbox_ui.routes.helpers import json_response, read_json, route


class ComparisonRoutes(ExperimentRoutes[ComparisonManager]):
    """Routes of comparisons."""

    request_class = ComparisonRequest

    def _further_routes(self) -> list[Route]:
        return [route(f"{self._place}/from-runs", self.create_from_runs, "POST")]

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
            comparison = await run_sync(self._manager.create_from_runs, runs, title, user)
        except NotComparable as error:
            return json_response({"error": str(error), "differences": error.differences}, 409)
        return json_response({"id": comparison}, 201)

    async def events(self, request: Request) -> Response:
        """Stream the comparison and its runs; see ``sandbox_ui.compare.stream``.

        Query parameters: ``runs``: the ids of the runs to follow, with commas; by default each
        member's latest. ``cursor`` (repeated, or with commas): ``RUN:CURSOR``, to continue.
        """
        comparison, access = self._id(request), get_access(request)
        query = request.query_params
        known = await run_sync(self._manager.registry.run_ids, comparison)
        stream = ComparisonStream(
            comparison,
            self._manager,
            self._runs,
            parse_runs(query.get("runs"), known),
            parse_cursors(query.getlist("cursor")),
            partial(self._for_reader, access=access, experiment=comparison),
        )
        return stream_response(
            stream,
            lambda: self._is_over(access, comparison),
            can_edit=access.can_edit_group("comparison", comparison),
        )

    async def stop(self, request: Request) -> Response:
        """Stop all runs, or those of the ``member`` with this index."""
        body = await read_json(request) if await request.body() else {}
        member = body.get("member")
        if member is not None and (not isinstance(member, int) or isinstance(member, bool)):
            raise UsageError("“member” must be the index of a member.")
        await run_sync(self._manager.stop, self._id(request), member)
        return Response(status_code=204)

    def _hidden(self, described: dict[str, Any]) -> dict[str, Any]:
        expected = described["expected"]
        if expected and expected.get("judge"):
            expected = expected | {"judge": expected["judge"] | {"baseUrl": ""}}
        return {"expected": expected}
