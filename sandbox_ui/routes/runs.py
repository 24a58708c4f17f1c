"""Routes of runs: start and stop, drafts, the event stream, steps, search and exports."""

import asyncio
from dataclasses import dataclass

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from agent.history.export import conversation_markdown
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    download_headers,
    get_run_id,
    get_step,
    json_response,
    read_json,
)
from sandbox_ui.runs import sse
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunRequest, RunService

_MARKDOWN = "text/markdown; charset=utf-8"
_WORDS = 200


@dataclass(frozen=True)
class RunRoutes(Routes):
    """Routes of runs."""

    _service: RunService
    _closing: asyncio.Event

    @property
    def _runs(self) -> RunManager:
        return self._service.runs

    @at("/api/runs", method="POST")
    async def create(self, request: Request) -> Response:
        """Start a run; without a body, create a draft to attach files to: ``{"run": …}``.

        The body is a ``RunSpec`` and ``apiKey``, the key of its endpoint. Its ``inputs`` is a
        draft, which becomes the run.
        """
        access = get_access(request)
        given = await read_json(request) if await request.body() else {}
        if given:
            run = await run_sync(self._start, RunRequest.of(given), access)
        else:
            run = await run_sync(self._runs.create_draft, access.user.id)
        return JSONResponse({"run": run}, 201)

    def _start(self, wanted: RunRequest, access: Access) -> str:
        draft = wanted.spec.inputs
        if draft:
            access.require_edit(draft)
        return self._service.start(wanted, access.user, draft)

    @at(f"{RUN_PATH}/stop", method="POST")
    def stop(self, request: Request) -> Response:
        """Stop the run: its command is terminated, its files and its sandbox are kept."""
        run = get_run_id(request)
        self._runs.stop(run)
        return JSONResponse({"run": run})

    @at("/api/presence")
    async def presence(self, _request: Request) -> Response:
        """Stream pings, so that a page without a run notices when the server is gone."""
        return sse.presence(self._closing)

    @at(f"{RUN_PATH}/events")
    async def events(self, request: Request) -> Response:
        """Stream the run's events; ``Last-Event-ID`` or ``cursor`` resumes the stream."""
        run, access = get_run_id(request), get_access(request)
        feed, cursor = self._runs.feed(run), sse.get_cursor(request)
        return await sse.stream_response(
            feed,
            cursor,
            lambda: self._closing.is_set() or not access.can_view(run),
            can_edit=access.can_edit(run),
        )

    @at(f"{RUN_PATH}/steps/{{step:int}}")
    def step(self, request: Request) -> Response:
        """Return the events of one step."""
        feed = self._runs.feed(get_run_id(request))
        body = feed.step_events(request.path_params["step"])
        return Response(body, media_type="application/json")

    @at(f"{RUN_PATH}/find")
    def find(self, request: Request) -> Response:
        """Return the matches for the words ``q`` in the run."""
        feed = self._runs.feed(get_run_id(request))
        words = request.query_params.get("q", "")[:_WORDS]
        return json_response({"matches": feed.find(words)})

    @at(f"{RUN_PATH}/conversation.md")
    async def conversation(self, request: Request) -> Response:
        """Return the whole run as a Markdown download."""
        events = self._runs.feed(get_run_id(request)).events()
        text = conversation_markdown(events)
        return StreamingResponse(
            text, headers=download_headers("conversation.md"), media_type=_MARKDOWN
        )

    @at(f"{RUN_PATH}/steps.csv")
    def steps_csv(self, request: Request) -> Response:
        """Return the steps as a CSV download."""
        table = self._runs.feed(get_run_id(request)).steps_csv()
        return Response(
            table, headers=download_headers("steps.csv"), media_type="text/csv; charset=utf-8"
        )

    @at(f"{RUN_PATH}/tokens")
    def tokens(self, request: Request) -> Response:
        """Return the tokens of each step after the number ``after``, and their totals."""
        after = get_step(request, "after") or 0
        return json_response(self._runs.feed(get_run_id(request)).tokens(after))
