"""Runs over HTTP: drafts, the stream of events, steps, what can be taken home of them."""

import asyncio

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agent.export import conversation_markdown
from sandbox_ui import stream
from sandbox_ui.people.access import access_of
from sandbox_ui.routes.serving import RUN, as_json, route, run_of, saved
from sandbox_ui.runs import Runs

_MARKDOWN = "text/markdown; charset=utf-8"
_WORDS = 200


class RunRoutes:
    """The routes of the runs themselves.

    Args:
        runs: The runs.
        closing: Set when the application ends; streams then end.
    """

    def __init__(self, runs: Runs, closing: asyncio.Event) -> None:
        self._runs = runs
        self._closing = closing

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route("/api/runs", self.create, "POST"),
            route(f"{RUN}/events", self.events),
            route(f"{RUN}/steps/{{step:int}}", self.step),
            route(f"{RUN}/find", self.find),
            route(f"{RUN}/conversation.md", self.conversation),
            route(f"{RUN}/steps.csv", self.steps_csv),
        ]

    async def create(self, request: Request) -> Response:
        """A draft, to attach files to."""
        owner = access_of(request).person.id
        return JSONResponse({"run": await run_sync(self._runs.create_draft, owner)}, 201)

    async def events(self, request: Request) -> Response:
        """The run's stream; ``Last-Event-ID`` or ``cursor`` resumes it."""
        run, access = run_of(request), access_of(request)
        feed, cursor = self._runs.feed(run), stream.cursor_of(request)
        return await stream.respond(
            feed,
            cursor,
            lambda: self._closing.is_set() or not access.sees(run),
            owned=access.owns(run),
        )

    async def step(self, request: Request) -> Response:
        """The events of one step."""
        feed = self._runs.feed(run_of(request))
        body = await run_sync(feed.step, request.path_params["step"])
        return Response(body, media_type="application/json")

    async def find(self, request: Request) -> Response:
        """The places of the run that hold the words ``q``."""
        feed = self._runs.feed(run_of(request))
        words = request.query_params.get("q", "")[:_WORDS]
        return as_json({"found": await run_sync(feed.find, words)})

    async def conversation(self, request: Request) -> Response:
        """The whole run as Markdown, to be downloaded."""
        events = self._runs.feed(run_of(request)).events()
        text = conversation_markdown(events)
        return StreamingResponse(text, headers=saved("conversation.md"), media_type=_MARKDOWN)

    async def steps_csv(self, request: Request) -> Response:
        """The steps as a table, to be downloaded."""
        table = await run_sync(self._runs.feed(run_of(request)).steps_csv)
        return Response(table, headers=saved("steps.csv"), media_type="text/csv; charset=utf-8")
