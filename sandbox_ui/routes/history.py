"""All runs over HTTP: listed and searched, renamed, deleted."""

import time
from typing import Any

from anyio.to_thread import run_sync
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import StudioError
from agent.history import Entry, Page
from sandbox_ui.routes.serving import RUN, as_json, route, run_of
from sandbox_ui.shelf import Shelf

_MOST, _WORDS, _BODY, _RUNS = 200, 200, 100_000, 500
_TASK = 300


class HistoryRoutes:
    """The routes of the list of runs.

    Args:
        shelf: The runs.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route("/api/runs", self.list),
            route("/api/runs", self.delete_several, "DELETE"),
            route("/api/space", self.space),
            route(RUN, self.rename, "PATCH"),
            route(RUN, self.delete, "DELETE"),
        ]

    async def list(self, request: Request) -> Response:
        """Runs that have begun, newest first.

        ``q``: words that are all to be found in title, task, messages, answer, model and file
        names; ``before``: the answer's ``next``, for those that follow; ``most``: how many.
        """
        asked = request.query_params
        most = asked.get("most", "50")
        if not most.isdecimal() or not 1 <= int(most[:6]) <= _MOST:
            raise StudioError(f"“most” is a number from 1 to {_MOST}.")
        words, before = asked.get("q", "")[:_WORDS], asked.get("before", "")
        page = await run_sync(self._shelf.list, words, before, int(most))
        return as_json(listed(page) | {"now": time.time()})

    async def space(self, request: Request) -> Response:
        """What deleting these runs (``run``, given again for each) frees: ``{"frees": bytes}``."""
        return as_json({"frees": await run_sync(self._shelf.frees, _several(request))})

    async def rename(self, request: Request) -> Response:
        """Another title, as ``{"title": …}``; an empty one is the task's first line again."""
        body = await request.body()
        try:
            title = from_json(body[:_BODY])["title"]
        except (ValueError, KeyError, TypeError):
            title = None
        if not isinstance(title, str):
            raise StudioError("A title is given as JSON: {“title”: “…”}.")
        return as_json({"title": await run_sync(self._shelf.rename, run_of(request), title)})

    async def delete(self, request: Request) -> Response:
        """Delete a run with all that is its own: ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, [run_of(request)])})

    async def delete_several(self, request: Request) -> Response:
        """Delete runs (``run``, given again for each): ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, _several(request))})


def listed(page: Page) -> dict[str, Any]:
    """A part of the list as JSON values."""
    return {
        "runs": [_row(entry) for entry in page.entries],
        "next": page.next,
        "total": page.total,
        "size": page.size,
    }


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": entry.run,
        "title": entry.title,
        "renamed": entry.renamed,
        "at": entry.at,
        "problem": entry.problem,
        "found": entry.found,
    }
    summary = entry.summary
    if summary is None:
        return row
    return row | {
        "task": summary.task[:_TASK],
        "model": summary.model,
        "metered": summary.metered,
        "mode": summary.mode,
        "state": summary.state,
        "reason": summary.reason[:_TASK],
        "alive": summary.alive,
        "began": summary.began,
        "seconds": summary.seconds,
        "steps": summary.steps,
        "prompt_tokens": summary.prompt_tokens,
        "generated_tokens": summary.generated_tokens,
        "estimated": summary.estimated,
        "pictures": summary.pictures,
        "size": summary.size,
    }


def _several(request: Request) -> list[str]:
    runs = request.query_params.getlist("run")
    if len(runs) > _RUNS:
        raise StudioError(f"At most {_RUNS} runs at once.")
    return runs
