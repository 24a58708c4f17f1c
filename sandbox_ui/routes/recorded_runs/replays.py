"""Routes of replays: start one, and list those of a run."""

from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import RunError
from agent.limits import Limits
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.routes.helpers import RUN_PATH, get_run_id, json_response, route
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.replays import start_replay

_MAX_LISTED = 20


class ReplayRoutes:
    """Routes of replays.

    Args:
        runs: The live runs.
        catalog: The catalog of all runs.
        limits: The operator's limits of a round.
    """

    def __init__(self, runs: RunManager, catalog: Catalog, limits: Limits) -> None:
        self._runs = runs
        self._catalog = catalog
        self._limits = limits

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN_PATH}/replays", self.create, "POST"),
            route(f"{RUN_PATH}/replays", self.replays),
        ]

    async def create(self, request: Request) -> Response:
        """Execute the run's recorded calls again in a new run: ``{"run": id}``."""
        owner = get_access(request).user.id
        replay = await run_sync(
            start_replay, get_run_id(request), owner, self._runs, self._catalog, self._limits
        )
        return json_response({"run": replay}, 201)

    async def replays(self, request: Request) -> Response:
        """Return the latest replays of the run that the user may see, latest first."""
        access, run = get_access(request), get_run_id(request)
        found = await run_sync(self._catalog.history.replays_of, run)
        shown = [each for each in found if access.can_view(each)][:_MAX_LISTED]
        return json_response({"replays": await run_sync(self._describe, shown)})

    def _describe(self, runs: list[str]) -> list[dict[str, Any]]:
        described = []
        for run in runs:
            try:
                status = self._runs.feed(run).status()
            except RunError:  # it has been deleted meanwhile
                continue
            described.append({"run": run, **{key: status[key] for key in ("running", "replay")}})
        return described
