"""Routes of the recorded runs that ship with the studio."""

from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from agent.history import recordings
from agent.workspace.versions.blobs import BlobStore
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.routes.helpers import Routes, at, json_response
from sandbox_ui.runs.manager import RunManager


@dataclass(frozen=True)
class RecordingRoutes(Routes):
    """Routes of the recorded runs that ship with the studio."""

    _runs: RunManager
    _catalog: Catalog
    _data: Path
    _blobs: BlobStore

    @at("/api/recordings")
    def list(self, _request: Request) -> Response:
        """Return the recorded runs: ``name``, ``title``, ``about``, ``steps``, ``seconds``."""
        found = recordings.recordings()
        names = ("name", "title", "about", "steps", "seconds")
        return json_response([{name: getattr(each, name) for name in names} for each in found])

    @at("/api/recordings/{name}", method="POST")
    def open(self, request: Request) -> Response:
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
