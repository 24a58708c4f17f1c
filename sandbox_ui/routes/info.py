"""Routes of the studio itself: health, examples, rendered Markdown."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.examples import examples
from sandbox_ui.auth.access import access_of
from sandbox_ui.preview.base import Ask
from sandbox_ui.preview.service import Workshop
from sandbox_ui.routes.helpers import as_json, bytes_of, route

_LONGEST = 1024**2


class StudioRoutes:
    """Routes that do not belong to a run.

    Args:
        health: Returns the report for ``/healthz``.
        workshop: Renders Markdown.
    """

    def __init__(self, health: Callable[[], Any], workshop: Workshop) -> None:
        self._health = health
        self._workshop = workshop

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/healthz", self.healthz),
            route("/api/examples", self.examples),
            route("/api/markdown", self.markdown, "POST"),
        ]

    async def healthz(self, request: Request) -> Response:
        """Return the state of engine, image and model; guests get only ``ok``."""
        health = self._health()
        return as_json({"ok": health["ok"]} if access_of(request).guest else health)

    async def examples(self, _request: Request) -> Response:
        """Return the examples; those with ``seconds`` play without a model."""
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
                    "builtin": each.builtin,
                    "inputs": [path.name for path in each.inputs],
                }
                for each in known
            ]
        )

    async def markdown(self, request: Request) -> Response:
        """Return the body's Markdown as sanitized HTML."""
        text = await bytes_of(request, _LONGEST)
        if text is None:
            return as_json({"error": "The text is longer than 1 MB."}, 413)
        ask = Ask("said.md", len(text), {"said": "1"})
        ask_for = partial(self._workshop.look, "markdown", BytesIO(text), ask)
        look = await self._workshop.turns.take(access_of(request).who, ask_for)
        return Response(look.content, media_type="application/json")
