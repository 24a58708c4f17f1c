"""Routes of replays: start one, and list those of a run."""

from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import RunActive, RunError
from agent.limits import Limits
from agent.replay.recording import IN_PROGRESS
from agent.replay.replay import open_recording, prepare
from agent.runs.folder import Parent
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, json_response
from sandbox_ui.runs.manager import RunManager

_MAX_LISTED = 20


@dataclass(frozen=True)
class ReplayRoutes(Routes):
    """Routes of replays."""

    _runs: RunManager
    _catalog: Catalog
    _limits: Limits

    @at(f"{RUN_PATH}/replays", method="POST")
    async def create(self, request: Request) -> Response:
        """Execute the run's recorded calls again in a new run: ``{"run": id}``."""
        owner = get_access(request).user.id
        replay = await run_sync(self._start, get_run_id(request), owner)
        return json_response({"run": replay}, 201)

    @at(f"{RUN_PATH}/replays")
    async def replays(self, request: Request) -> Response:
        """Return the latest replays of the run that the user may see, latest first."""
        access, run = get_access(request), get_run_id(request)
        found = await run_sync(self._catalog.history.replays_of, run)
        shown = [each for each in found if access.can_view(each)][:_MAX_LISTED]
        return json_response({"replays": await run_sync(self._describe, shown)})

    def _start(self, run: str, owner: str) -> str:
        """Start a replay of a run that has ended; return the new run's id."""
        runs, folder = self._runs, self._runs.folder(run)
        if run in runs.active_ids():
            raise RunActive(IN_PROGRESS)
        recording = open_recording(folder.journal, folder)
        runs.admission.check_start(owner, recording.started.task)
        with self._catalog.new_draft(owner, parent=Parent(run, 0, kind="replay")) as new:
            replay = prepare(recording, runs.folder(new))
            runs.start_events(
                new,
                recording.started.task,
                lambda each, stop, ticket: replay.events(
                    each, runs.contents, stop, ticket, self._limits
                ),
            )
        return new

    def _describe(self, runs: list[str]) -> list[dict[str, Any]]:
        described = []
        for run in runs:
            try:
                status = self._runs.feed(run).status()
            except RunError:  # it has been deleted meanwhile
                continue
            described.append({"run": run, **{key: status[key] for key in ("running", "replay")}})
        return described
