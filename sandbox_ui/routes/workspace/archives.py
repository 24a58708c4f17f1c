"""Routes for zip exports: files and folders, or the whole run."""

import json
import stat
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent.errors import RecordNotAFile
from agent.events import RunStarted
from agent.history.export import conversation_markdown
from agent.history.trajectory import build_trajectory
from agent.runs.folder import RunFolder
from agent.workspace.paths import RelPath
from agent.workspace.transfer.archive import ArchiveBuilder
from agent.workspace.transfer.zip_stream import Member, ZipStream
from agent.workspace.versions.blobs import content_path
from agent.workspace.versions.manifest import Manifest, ManifestLog
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id, get_step
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.file_response import content_disposition

_MAX_MEMORY_BYTES = 1024**2
_FILE_MODE = stat.S_IFREG | 0o644
_MAX_NAME = 60


@dataclass(frozen=True)
class ArchiveRoutes(Routes):
    """Routes for zip exports."""

    _runs: RunManager

    @at(f"{RUN_PATH}/zip")
    def files(self, request: Request) -> Response:
        """Export files and folders, each a percent-encoded ``path``; default all.

        With ``step`` as they were after it; what was not kept is named in ``LEFT-OUT.txt``.
        """
        paths = [RelPath.from_url(each) for each in request.query_params.getlist("path")]
        chosen, step = [path for path in paths if path], get_step(request)
        archive = self._zip_files(get_run_id(request), chosen, step)
        if len(paths) == 1 and paths[0]:
            name = RelPath(paths[0].name).display
        else:
            name = download_name(self._runs, get_run_id(request))
        if step is not None:
            name = f"{name}, step {step}"
        return _zip_response(request, archive, name)

    @at(f"{RUN_PATH}/run.zip")
    def run(self, request: Request) -> Response:
        """Export the whole run: files and their versions, journal, long outputs, other formats."""
        name = download_name(self._runs, get_run_id(request))
        return _zip_response(request, self._zip_run(get_run_id(request)), name)

    def _zip_files(self, run: str, paths: list[RelPath], step: int | None) -> ZipStream:
        builder = ArchiveBuilder()
        if step is None:
            builder.add_files(self._runs.workspace(run), paths)
        else:
            builder.add_versions(self._runs.file_versions(run), step, paths)
        return builder.build()

    def _zip_run(self, run: str) -> ZipStream:
        folder, builder = self._runs.folder(run), ArchiveBuilder()
        if self._runs.has_started(run):
            feed = self._runs.feed(run)
            builder.add(_file_member("journal.jsonl", folder.journal))
            builder.add(
                _text_member("trajectory.json", _encode_json(build_trajectory(feed.events())))
            )
            builder.add(_text_member("conversation.md", conversation_markdown(feed.events())))
            builder.add(_text_member("steps.csv", [feed.steps_csv()]))
            _add_outputs(builder, folder.outputs)
            _add_versions(builder, folder)
        builder.add_files(self._runs.workspace(run), prefix="files/")
        return builder.build()


def _add_outputs(builder: ArchiveBuilder, outputs: Path) -> None:
    if not outputs.is_dir():
        builder.leave_out("The run's record is damaged: outputs is not a folder.")
        return
    for output in sorted(outputs.iterdir()):
        if output.is_file():
            builder.add(_file_member(f"outputs/{output.name}", output))
        else:
            builder.leave_out(f"The run's record is damaged: {output.name} is not a file.")


def _add_versions(builder: ArchiveBuilder, folder: RunFolder) -> None:
    """Add the versions of the run's files: their list, and the contents that files/ lacks."""
    if not folder.manifests.exists():
        return
    log, manifest, contents = ManifestLog(folder.manifests), Manifest(), set[str]()
    try:
        for _, delta in log.read():
            contents |= {each.hash for each in delta.changed.values() if each.hash and each.stored}
            manifest.apply(delta)
    except RecordNotAFile as error:
        builder.leave_out(str(error))
        return
    builder.add(_file_member("manifests.jsonl", folder.manifests))
    if log.damage:
        builder.leave_out(log.damage)
    contents -= {node.hash for node in manifest.nodes.values() if node.hash}
    for digest in sorted(contents):
        path = content_path(folder.data / "blobs", digest)
        if path.is_file():
            builder.add(_file_member(f"contents/{digest}", path))


def download_name(runs: RunManager, run: str) -> str:
    """Return a run's title, else its task, as a file name without an extension."""
    title = runs.folder(run).title
    if not title and runs.has_started(run):
        events = runs.feed(run).events()
        title = next((each.task for each in events if isinstance(each, RunStarted)), "")
    title = "".join(c if c.isprintable() else " " for c in title).replace("/", "-")
    return " ".join(title.split())[:_MAX_NAME].strip(" .") or "workspace"


def _zip_response(request: Request, archive: ZipStream, name: str) -> Response:
    headers = {
        "Content-Disposition": content_disposition(f"{name}.zip"),
        "Content-Length": str(archive.size),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if request.method == "HEAD":
        return Response(headers=headers, media_type="application/zip")
    return StreamingResponse(archive.chunks(), headers=headers, media_type="application/zip")


def _file_member(name: str, path: Path) -> Member:
    info = path.stat()
    return Member(name, info.st_size, info.st_mtime, _FILE_MODE, lambda: path.open("rb"))


def _text_member(name: str, parts: Iterable[str]) -> Member:
    """Return a generated text file of known size; a long one is buffered on disk."""
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES))  # noqa: SIM115
    for part in parts:
        file.write(part.encode("utf-8", "backslashreplace"))
    size = file.tell()

    def rewind() -> BinaryIO:
        file.seek(0)
        return file

    return Member(name, size, time.time(), _FILE_MODE, rewind)


def _encode_json(value: object) -> Iterable[str]:
    return json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
