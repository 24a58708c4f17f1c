"""Routes to import traces of other tools, and to export runs in their formats."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agent.errors import RunError, StorageFull, TraceError
from agent.runs.folder import RunFolder
from agent.traces.formats import atif, otel, sts
from agent.traces.importing import MAX_FILE_BYTES, ImportedRun, import_file
from agent.traces.journal_items import items_of_journal, messages_of_journal
from agent.util.text import one_line
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota
from sandbox_ui.routes.helpers import RUN_PATH, download_headers, get_run_id, json_response, route
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter
from sandbox_ui.workspace.body_writer import write_body

_MAX_NAME = 120
_CONCURRENT_IMPORTS = 2
_TOO_LARGE = "The file has more than 1 GB. Split it."
_NO_SPACE = "The file is larger than the storage that your runs may still use. Delete some first."


class ImportRoutes:
    """Routes of traces.

    Args:
        runs: The live runs.
        catalog: The catalog of all runs.
        quota: The quota of users.
        data: The data folder.
    """

    def __init__(self, runs: RunManager, catalog: Catalog, quota: Quota, data: Path) -> None:
        self._runs = runs
        self._catalog = catalog
        self._quota = quota
        self._data = data
        self._received = data / "imports"
        shutil.rmtree(self._received, ignore_errors=True)  # of a process that was killed
        self._limiter = PerUserLimiter(_CONCURRENT_IMPORTS, 1)

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/api/imports", self.create, "POST"),
            route(f"{RUN_PATH}/export/{{format}}", self.export),
        ]

    async def create(self, request: Request) -> Response:
        """Import the file in the body, called ``name``: ``{"runs": [{run, format, title}]}``."""
        access = get_access(request)
        owner = access.user.id
        name = one_line(request.query_params.get("name", ""))[-_MAX_NAME:] or "file"
        self._quota.check(owner)
        remaining = self._quota.remaining(owner)
        self._received.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._received) as folder:
            file = Path(folder) / "trace"
            if not await write_body(request, _bounded_writer(file, remaining)):
                raise TraceError(f"{name}: the upload was interrupted.")
            job = partial(
                import_file, file, self._data, name=name, owner=owner, space=remaining,
                blobs=self._runs.contents,
            )  # fmt: skip
            runs: list[ImportedRun] = await self._limiter.run(access.limiter_key, job)
        self._catalog.history.indexer.changed(*(each.run for each in runs))
        return json_response({"runs": runs}, 201)

    async def export(self, request: Request) -> Response:
        """Return the whole run in another tool's format, as a download."""
        name = request.path_params["format"]
        if name not in _FORMATS:
            raise RunError(f"“{name[:40]}” is not one of {', '.join(_FORMATS)}.")
        file_name, write = _FORMATS[name]
        folder = self._runs.folder(get_run_id(request))
        if not folder.journal.exists():
            raise RunError("The run has not begun.")
        text = (part.encode("utf-8", "backslashreplace") for part in write(folder))
        return StreamingResponse(
            text, headers=download_headers(file_name), media_type="application/json"
        )


def _atif(folder: RunFolder) -> Iterator[str]:
    return atif.write(items_of_journal(folder.journal), folder.id)


def _sts(folder: RunFolder) -> Iterator[str]:
    return sts.write(items_of_journal(folder.journal), folder.id)


def _otel(folder: RunFolder) -> Iterator[str]:
    return otel.write(items_of_journal(folder.journal), folder.id)


_FORMATS: dict[str, tuple[str, Callable[[RunFolder], Iterator[str]]]] = {
    "atif": ("trajectory.atif.json", _atif),
    "messages": ("messages.jsonl", lambda folder: messages_of_journal(folder.journal)),
    "sts": ("session.jsonl", _sts),
    "otel": ("spans.otlp.json", _otel),
}


def _bounded_writer(file: Path, remaining: int | None) -> Callable[..., None]:
    """Return a function that appends bytes to a file of limited size."""
    size = 0

    def write(*chunks: Any) -> None:
        nonlocal size
        size += sum(map(len, chunks))
        if size > MAX_FILE_BYTES:
            raise TraceError(_TOO_LARGE)
        if remaining is not None and size > remaining:
            raise StorageFull(_NO_SPACE)
        with file.open("ab") as out:
            out.writelines(chunks)

    file.touch()
    return write
