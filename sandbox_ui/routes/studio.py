"""What the page asks of the studio itself: its health, examples, Markdown rendered."""

from collections.abc import Callable
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.examples import examples
from sandbox_ui.preview import markdown
from sandbox_ui.routes.serving import as_json, route


class StudioRoutes:
    """The routes that belong to no run.

    Args:
        health: What ``/healthz`` answers.
    """

    def __init__(self, health: Callable[[], Any]) -> None:
        self._health = health

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route("/healthz", self.healthz),
            route("/api/examples", self.examples),
            route("/api/markdown", self.markdown, "POST"),
        ]

    async def healthz(self, _request: Request) -> Response:
        """The state of engine, image and model."""
        return as_json(self._health())

    async def examples(self, _request: Request) -> Response:
        """What can be tried; those with ``seconds`` play without a model."""
        known = await run_sync(examples)
        return as_json(
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
        return as_json({"html": await run_sync(markdown.render, text)})
