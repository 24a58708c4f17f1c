"""What the page asks for besides Gradio's own: plain Starlette routes."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agent.errors import JournalError, RunError, StudioError, WorkspaceError
from agent.examples import examples
from agent.export import conversation_markdown
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from sandbox_ui import stream, transfers
from sandbox_ui.preview import markdown
from sandbox_ui.runs import Runs


class _Anything(Convertor[str]):
    """A rest of an address that may hold any character, line ends too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Anything())
Endpoint = Callable[[Request], Awaitable[Response]]
_FILE = "/api/runs/{run}/files/{path:any}"
_MARKDOWN = "text/markdown; charset=utf-8"
_WORDS = 200


class Api:
    """The routes over the runs.

    Args:
        runs: The runs.
        health: What ``/healthz`` answers.
        closing: Set when the application ends; streams then end.
    """

    def __init__(self, runs: Runs, health: Callable[[], Any], closing: asyncio.Event) -> None:
        self._runs = runs
        self._health = health
        self._closing = closing

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        run = "/api/runs/{run}"
        return [
            _route("/healthz", self.healthz),
            _route("/api/examples", self.examples),
            _route("/api/markdown", self.markdown, "POST"),
            _route("/api/runs", self.create, "POST"),
            _route(f"{run}/events", self.events),
            _route(f"{run}/steps/{{step:int}}", self.step),
            _route(f"{run}/find", self.find),
            _route(f"{run}/conversation.md", self.conversation),
            _route(f"{run}/steps.csv", self.steps_csv),
            _route(f"{run}/files", self.files),
            _route(_FILE, self.download),
            _route(_FILE, self.upload, "PUT"),
            _route(_FILE, self.remove, "DELETE"),
            _route(f"{run}/outputs/{{name}}", self.output),
        ]

    async def healthz(self, _request: Request) -> Response:
        """The state of engine, image and model."""
        return _json(self._health())

    async def examples(self, _request: Request) -> Response:
        """What can be tried; those with ``seconds`` play without a model."""
        known = await run_sync(examples)
        return _json(
            [
                {
                    "title": each.title,
                    "about": each.about,
                    "task": each.task,
                    "prompt": each.prompt,
                    "seconds": each.seconds,
                    "demonstration": each.demonstration,
                    "inputs": [path.name for path in each.inputs],
                }
                for each in known
            ]
        )

    async def markdown(self, request: Request) -> Response:
        """The body's Markdown as HTML that can do no harm."""
        text = (await request.body()).decode(errors="replace")
        return _json({"html": await run_sync(markdown.render, text)})

    async def create(self, _request: Request) -> Response:
        """A draft, to attach files to."""
        return JSONResponse({"run": await run_sync(self._runs.create_draft)}, 201)

    async def events(self, request: Request) -> Response:
        """The run's stream; ``Last-Event-ID`` or ``cursor`` resumes it."""
        feed = self._runs.feed(_run(request))
        return await stream.respond(feed, stream.cursor_of(request), self._closing)

    async def step(self, request: Request) -> Response:
        """The events of one step."""
        feed = self._runs.feed(_run(request))
        body = await run_sync(feed.step, request.path_params["step"])
        return Response(body, media_type="application/json")

    async def find(self, request: Request) -> Response:
        """The places of the run that hold the words ``q``."""
        feed = self._runs.feed(_run(request))
        words = request.query_params.get("q", "")[:_WORDS]
        return _json({"found": await run_sync(feed.find, words)})

    async def conversation(self, request: Request) -> Response:
        """The whole run as Markdown, to be downloaded."""
        events = self._runs.feed(_run(request)).events()
        text = conversation_markdown(events)
        return StreamingResponse(text, headers=_saved("conversation.md"), media_type=_MARKDOWN)

    async def steps_csv(self, request: Request) -> Response:
        """The steps as a table, to be downloaded."""
        table = await run_sync(self._runs.feed(_run(request)).steps_csv)
        return Response(table, headers=_saved("steps.csv"), media_type="text/csv; charset=utf-8")

    async def files(self, request: Request) -> Response:
        """What a folder holds; ``folder`` is percent-encoded, the workspace itself if empty."""
        folder = RelPath.from_url(request.query_params.get("folder", ""))
        workspace = self._workspace(request)
        try:
            return _json(await run_sync(transfers.listing, workspace, folder))
        except WorkspaceError:
            if workspace.root.is_dir():
                raise
        # It is being moved into a sandbox; the stream says when to list it again.
        return _json({"folder": folder.to_url(), "entries": [], "more": 0})

    async def download(self, request: Request) -> Response:
        """A file; with ``inline=1`` to be shown, where that is safe."""
        path = transfers.path_of(request, b"/files/")
        file = await run_sync(self._workspace(request).open_read, path)
        inline = request.query_params.get("inline") == "1"
        name = RelPath(path.name).shown
        return await transfers.hand_out(request, file, name, inline=inline)

    async def upload(self, request: Request) -> Response:
        """A new file; a name that exists keeps both."""
        path = transfers.path_of(request, b"/files/")
        return await transfers.take_in(request, self._workspace(request), path)

    async def remove(self, request: Request) -> Response:
        """Remove a file."""
        path = transfers.path_of(request, b"/files/")
        await run_sync(self._workspace(request).remove, path)
        return Response(status_code=204)

    async def output(self, request: Request) -> Response:
        """An output that was too long for the journal, whole."""
        outputs = Workspace(self._runs.folder(_run(request)).outputs)
        name = request.path_params["name"]
        file = await run_sync(outputs.open_read, RelPath(name))
        return await transfers.hand_out(request, file, f"{name}.txt", inline=False)

    def _workspace(self, request: Request) -> Workspace:
        return self._runs.workspace(_run(request))


def _saved(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _run(request: Request) -> str:
    run: str = request.path_params["run"]
    return run


def _route(path: str, endpoint: Endpoint, method: str = "GET") -> Route:
    return Route(path, _speaking(endpoint), methods=[method])


def _speaking(endpoint: Endpoint) -> Endpoint:
    """The endpoint, its failures told as JSON with a sentence."""

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except StudioError as error:
            return JSONResponse({"error": str(error)}, _status(error))

    return answer


def _status(error: StudioError) -> int:
    return {RunError: 404, JournalError: 400}.get(type(error), 400)


def _json(value: Any) -> Response:
    return Response(to_json(value), media_type="application/json")
