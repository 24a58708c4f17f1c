"""Routes of recorded runs to try: those that ship with the studio, and saved ones that play."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agent.errors import RunActive
from agent.history import recordings
from agent.replay import examples
from agent.replay.examples import ExampleLimits
from agent.replay.recording import IN_PROGRESS
from agent.replay.replay import open_recording
from agent.titles import title_for_task
from agent.workspace.versions.blobs import BlobStore
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, json_response
from sandbox_ui.runs.manager import RunManager


@dataclass(frozen=True)
class ExampleRoutes(Routes):
    """Routes of recorded runs to try."""

    _runs: RunManager
    _catalog: Catalog
    _data: Path
    _blobs: BlobStore
    _limits: ExampleLimits

    @at("/api/recordings")
    def list_recordings(self, _request: Request) -> Response:
        """Return the recorded runs: ``name``, ``title``, ``about``, ``steps``, ``seconds``."""
        found = recordings.recordings()
        names = ("name", "title", "about", "steps", "seconds")
        return json_response([{name: getattr(each, name) for name in names} for each in found])

    @at("/api/recordings/{name}", method="POST")
    def open_recording(self, request: Request) -> Response:
        """Return the user's ``run`` of a recording; it is copied from it the first time."""
        owner, name = get_access(request).user.id, request.path_params["name"]
        run, is_new = recordings.open_recording(
            self._data,
            owner,
            recordings.find(name),
            lambda: self._runs.create_draft(owner),
            self._blobs,
        )
        if is_new:
            self._catalog.history.indexer.changed(run)
        return json_response({"run": run})

    @at(f"{RUN_PATH}/example", method="POST")
    def save(self, request: Request) -> Response:
        """Save the run as an example of the user: ``{"id": …, "title": …}``."""
        run, owner = get_run_id(request), get_access(request).user.id
        folder = self._runs.folder(run)
        if run in self._runs.active_ids():
            raise RunActive(IN_PROGRESS)
        recording = open_recording(folder.journal, folder)
        title = folder.title or title_for_task(recording.started.task)
        saved = examples.save(recording, self._data, title, owner, self._limits)
        return json_response({"id": saved.id, "title": saved.title}, 201)

    @at("/api/examples/saved")
    def list_saved(self, request: Request) -> Response:
        """Return the user's saved examples, as in ``/api/examples``."""
        if get_access(request).is_guest:
            return json_response([])
        found = examples.load_all(self._data, get_access(request).user.id)
        return json_response([_row(each) for each in found])

    @at("/api/examples/saved/{example}", method="DELETE")
    def delete(self, request: Request) -> Response:
        """Delete one of the user's saved examples."""
        owner, example = get_access(request).user.id, request.path_params["example"]
        examples.delete(self._data, owner, example)
        return Response(status_code=204)


def _row(example: examples.SavedExample) -> dict[str, Any]:
    return {
        "title": example.title,
        "description": example.task,
        "task": example.task,
        "prompt": "general",
        "seconds": example.seconds,
        "demonstration": "",
        "saved": example.id,
        "builtin": False,
        "inputs": example.inputs,
        "expected": None,
    }
