"""Routes of replays: start one, and list those of a run."""

from contextlib import suppress
from dataclasses import dataclass

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
_SHOWN = ("running", "replay")


@dataclass(frozen=True)
class ReplayRoutes(Routes):
    """Routes of replays."""

    _runs: RunManager
    _catalog: Catalog
    _limits: Limits

    @at(f"{RUN_PATH}/replays", method="POST")
    def create(self, request: Request) -> Response:
        """Execute the run's recorded calls again in a new run: ``{"run": id}``."""
        run, owner = get_run_id(request), get_access(request).user.id
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
        return json_response({"run": new}, 201)

    @at(f"{RUN_PATH}/replays")
    def replays(self, request: Request) -> Response:
        """Return the latest replays of the run that the user may see, latest first."""
        access, run = get_access(request), get_run_id(request)
        found = self._catalog.history.replays_of(run)
        shown = [each for each in found if access.can_view(each)][:_MAX_LISTED]
        described = []
        for each in shown:
            with suppress(RunError):  # it has been deleted meanwhile
                status = self._runs.feed(each).status()
                described.append({"run": each, **{key: status[key] for key in _SHOWN}})
        return json_response({"replays": described})
