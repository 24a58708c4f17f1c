"""Routes for zip exports: files and folders, or the whole run."""

import json
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agent.events import RunStarted
from agent.history.export import conversation_markdown
from agent.history.trajectory import trajectory
from agent.workspace.paths import RelPath
from agent.workspace.transfer.archive import Packing
from agent.workspace.transfer.zip_stream import Member, Zip
from sandbox_ui.routes.helpers import RUN, route, run_of
from sandbox_ui.runs.manager import Runs
from sandbox_ui.workspace.file_response import disposition

_IN_MEMORY = 1024**2
_FILE = stat.S_IFREG | 0o644
_NAME = 60


class Archives:
    """Routes for zip exports.

    Args:
        runs: The live runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route(f"{RUN}/zip", self.files), route(f"{RUN}/run.zip", self.run)]

    async def files(self, request: Request) -> Response:
        """Export files and folders, each a percent-encoded ``path``; default all."""
        paths = [RelPath.from_url(each) for each in request.query_params.getlist("path")]
        made = await run_sync(self._packed, run_of(request), [path for path in paths if path])
        if len(paths) == 1 and paths[0]:
            name = RelPath(paths[0].name).shown
        else:
            name = await run_sync(self._name, run_of(request))
        return _sent(request, made, name)

    async def run(self, request: Request) -> Response:
        """Export the whole run: files, journal, long outputs, derived exports."""
        made = await run_sync(self._whole, run_of(request))
        return _sent(request, made, await run_sync(self._name, run_of(request)))

    def _packed(self, run: str, paths: list[RelPath]) -> Zip:
        packing = Packing()
        packing.take(self._runs.workspace(run), paths)
        return packing.zip()

    def _whole(self, run: str) -> Zip:
        folder, packing = self._runs.folder(run), Packing()
        if self._runs.begun(run):
            feed = self._runs.feed(run)
            packing.add(_on_disk("journal.jsonl", folder.journal))
            packing.add(_written("trajectory.json", _as_json(trajectory(feed.events()))))
            packing.add(_written("conversation.md", conversation_markdown(feed.events())))
            packing.add(_written("steps.csv", [feed.steps_csv()]))
            for output in sorted(folder.outputs.iterdir()):
                packing.add(_on_disk(f"outputs/{output.name}", output))
        packing.take(self._runs.workspace(run), prefix="files/")
        return packing.zip()

    def _name(self, run: str) -> str:
        """Return the run's title, else its task, as a file name."""
        title = self._runs.folder(run).title
        if not title and self._runs.begun(run):
            events = self._runs.feed(run).events()
            title = next((each.task for each in events if isinstance(each, RunStarted)), "")
        title = "".join(c if c.isprintable() else " " for c in title).replace("/", "-")
        return " ".join(title.split())[:_NAME].strip(" .") or "workspace"


def _sent(request: Request, made: Zip, name: str) -> Response:
    headers = {
        "Content-Disposition": disposition(f"{name}.zip"),
        "Content-Length": str(made.size),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if request.method == "HEAD":
        return Response(headers=headers, media_type="application/zip")
    return StreamingResponse(made.chunks(), headers=headers, media_type="application/zip")


def _on_disk(name: str, path: Path) -> Member:
    info = path.stat()
    return Member(name, info.st_size, info.st_mtime, _FILE, lambda: path.open("rb"))


def _written(name: str, parts: Iterable[str]) -> Member:
    """Return a generated text file of known size; a long one is buffered on disk."""
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
    for part in parts:
        file.write(part.encode("utf-8", "backslashreplace"))
    size = file.tell()

    def opened() -> BinaryIO:
        file.seek(0)
        return file

    return Member(name, size, time.time(), _FILE, opened)


def _as_json(value: object) -> Iterable[str]:
    return json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
