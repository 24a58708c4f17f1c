"""Route of a run's report: one HTML file, for download."""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from agent.errors import UsageError
from agent.report.budget import Budget
from agent.report.report import report_parts
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_run_id
from sandbox_ui.routes.workspace.archives import download_name
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.file_response import content_disposition

_HTML = "text/html; charset=utf-8"
_MB = 1024**2
_MAX_MEGABYTES = 500
_DEFAULT_MEGABYTES = 20


@dataclass(frozen=True)
class ReportRoutes(Routes):
    """Routes of reports; none shows the key of the operator's endpoint."""

    _runs: RunManager
    _key: str

    @at(f"{RUN_PATH}/report.html")
    def report(self, request: Request) -> Response:
        """Return the run as one HTML file with at most ``files`` MB of its files."""
        run, budget = get_run_id(request), get_budget(request)
        parts = report_parts(self._runs.folder(run), budget, (self._key,))
        return report_response(parts, f"{download_name(self._runs, run)}.html")


def get_budget(request: Request) -> Budget:
    """Return the budget that the query parameter ``files`` asks for, in MB."""
    text = request.query_params.get("files", str(_DEFAULT_MEGABYTES))
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and int(text) <= _MAX_MEGABYTES):
        raise UsageError(f"“files” must be a whole number of MB from 0 to {_MAX_MEGABYTES}.")
    return Budget.of_files(int(text) * _MB)


def report_response(parts: Iterator[str], name: str) -> Response:
    """Return a report, which a browser saves and does not open here."""
    headers = {"Content-Disposition": content_disposition(name), "Cache-Control": "no-store"}
    return StreamingResponse(parts, headers=headers, media_type=_HTML)
