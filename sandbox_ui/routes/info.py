"""Routes of the studio itself: health, usage, examples, rendered Markdown."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agent.examples import examples
from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.usage import UsageReporter
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.routes.helpers import Routes, at, json_response


@dataclass(frozen=True)
class InfoRoutes(Routes):
    """Routes that do not belong to a run."""

    _health: Callable[[], Any]
    _usage: UsageReporter
    _previews: PreviewService

    @at("/healthz")
    async def healthz(self, request: Request) -> Response:
        """Return the state of engine, image and model; guests get only ``ok``."""
        health = self._health()
        return json_response({"ok": health["ok"]} if get_access(request).is_guest else health)

    @at("/api/usage")
    def usage(self, request: Request) -> Response:
        """Return the user's usage and limits; for the operator, everything."""
        return json_response(self._usage.report(get_access(request).owner_filter))

    @at("/api/examples")
    def examples(self, _request: Request) -> Response:
        """Return the examples; those with ``seconds`` play without a model."""
        return json_response(
            [
                {
                    "title": each.title,
                    "description": each.about,
                    "task": each.task,
                    "prompt": each.prompt,
                    "seconds": each.seconds,
                    "demonstration": each.demonstration,
                    "builtin": each.builtin,
                    "inputs": each.input_names,
                    "expected": each.expected or None,
                }
                for each in examples()
            ]
        )

    @at("/api/markdown", method="POST")
    async def markdown(self, request: Request) -> Response:
        """Return the body's Markdown as sanitized HTML."""
        text = await request.body()
        preview_request = PreviewRequest("text.md", len(text), {"model_text": "1"})
        render = partial(self._previews.render, "markdown", BytesIO(text), preview_request)
        result = await self._previews.limiter.run(get_access(request).limiter_key, render)
        return Response(result.content, media_type="application/json")
