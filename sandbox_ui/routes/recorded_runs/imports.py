"""Routes to import traces of other tools, and to export runs in their formats."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent.errors import RunError, TraceError
from agent.runs.folder import RunFolder
from agent.traces.formats import atif, otel, sts
from agent.traces.importing import MAX_FILE_BYTES, ImportedRun, import_file
from agent.traces.journal_items import (
    anthropic_of_journal,
    items_of_journal,
    messages_of_journal,
)
from agent.util.text import one_line
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.quota import Quota, Reservation
from sandbox_ui.limits.receiving import Receiver
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    download_headers,
    get_run_id,
    json_response,
)
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter
from sandbox_ui.workspace.body_writer import write_body

_MAX_NAME = 120
_CONCURRENT_IMPORTS = 2
_TOO_LARGE = "The file has more than 1 GB. Split it."


@dataclass(frozen=True)
class ImportRoutes(Routes):
    """Routes of traces."""

    _runs: RunManager
    _catalog: Catalog
    _quota: Quota
    _receiver: Receiver
    _data: Path
    _limiter: PerUserLimiter = field(default_factory=lambda: PerUserLimiter(_CONCURRENT_IMPORTS, 1))

    @at("/api/imports", method="POST")
    async def create(self, request: Request) -> Response:
        """Import the file in the body, called ``name``: ``{"runs": [{run, format, title}]}``."""
        access = get_access(request)
        owner = access.user.id
        name = one_line(request.query_params.get("name", ""))[-_MAX_NAME:] or "file"
        async with self._receiver.receive(
            request, access, MAX_FILE_BYTES, partial(TraceError, _TOO_LARGE)
        ) as receiving:
            file = receiving.folder / "trace"
            file.touch()
            if not await write_body(receiving.request, partial(_append, file)):
                raise TraceError(f"{name}: the upload was interrupted.")
            async with receiving.client_left() as left:
                job = partial(
                    self._import, file, name, owner, receiving.reservation, left.is_set
                )  # fmt: skip
                runs = await self._limiter.run(access.limiter_key, job)
        self._catalog.history.indexer.changed(*(each.run for each in runs))
        return json_response({"runs": runs}, 201)

    def _import(
        self,
        file: Path,
        name: str,
        owner: str,
        reservation: Reservation,
        stopped: Callable[[], bool],
    ) -> list[ImportedRun]:
        remaining = self._quota.remaining(owner)
        space = None if remaining is None else remaining + reservation.size  # it is deleted
        return import_file(
            file, self._data, name=name, owner=owner, space=space, blobs=self._runs.contents,
            stopped=stopped,
        )  # fmt: skip

    @at(f"{RUN_PATH}/export/{{format}}")
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
    "anthropic": ("anthropic.jsonl", lambda folder: anthropic_of_journal(folder.journal)),
    "sts": ("session.jsonl", _sts),
    "otel": ("spans.otlp.json", _otel),
}


def _append(file: Path, *chunks: bytes) -> None:
    with file.open("ab") as out:
        out.writelines(chunks)
