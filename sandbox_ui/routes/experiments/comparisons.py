"""Routes of comparisons: those of experiments, and comparisons of runs that exist."""

from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import UsageError
from agent.experiments.experiment import MAX_MEMBERS
from sandbox_ui.auth.access import get_access
from sandbox_ui.experiments.request import ComparisonRequest
from sandbox_ui.experiments.selection import NotComparable
from sandbox_ui.routes.experiments.base import ExperimentRoutes
from sandbox_ui.routes.helpers import json_response, read_json, route


class ComparisonRoutes(ExperimentRoutes):
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

    def _hidden(self, described: dict[str, Any]) -> dict[str, Any]:
        expected = described["expected"]
        if expected and expected.get("judge"):
            expected = expected | {"judge": expected["judge"] | {"baseUrl": ""}}
        return {"expected": expected}
