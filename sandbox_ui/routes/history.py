"""All runs over HTTP: listed and searched, renamed, pinned, deleted."""

import time
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import StudioError
from agent.history import Entry, Page
from sandbox_ui.people.access import access_of
from sandbox_ui.routes.serving import RUN, as_json, body_of, route, run_of
from sandbox_ui.shelf import Shelf

_MOST, _WORDS, _RUNS = 200, 200, 500
_TASK = 300


class HistoryRoutes:
    """The routes of the list of runs.

    Args:
        shelf: The runs.
        kept: How long they are kept, in words.
    """

    def __init__(self, shelf: Shelf, kept: str) -> None:
        self._shelf = shelf
        self._kept = kept

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route("/api/runs", self.list),
            route("/api/runs", self.delete_several, "DELETE"),
            route("/api/space", self.space),
            route(RUN, self.change, "PATCH"),
            route(RUN, self.delete, "DELETE"),
        ]

    async def list(self, request: Request) -> Response:
        """Runs that have begun, newest first.

        ``q``: words that are all to be found in title, task, messages, answer, model and file
        names; ``before``: the answer's ``next``, for those that follow; ``most``: how many;
        ``pinned=1``: only those that are pinned.
        """
        if access_of(request).guest:
            return as_json(listed(Page([], "", 0, 0, 0)) | {"now": time.time()})
        asked = request.query_params
        most = asked.get("most", "50")
        if not most.isdecimal() or not 1 <= int(most[:6]) <= _MOST:
            raise StudioError(f"“most” is a number from 1 to {_MOST}.")
        words, before = asked.get("q", "")[:_WORDS], asked.get("before", "")
        owner, pinned = access_of(request).owner, asked.get("pinned", "") == "1"
        ask = partial(self._shelf.list, words, before, int(most), pinned=pinned, owner=owner)
        page = await run_sync(ask)
        return as_json(listed(page) | {"now": time.time(), "kept": self._kept})

    async def space(self, request: Request) -> Response:
        """What deleting these runs (``run``, given again for each) frees: ``{"frees": bytes}``."""
        return as_json({"frees": await run_sync(self._shelf.frees, await _several(request))})

    async def change(self, request: Request) -> Response:
        """Another ``title`` (empty: the task's first line again), or whether it is ``pinned``."""
        wish, run = await body_of(request), run_of(request)
        title, pinned = wish.get("title", ""), wish.get("pinned", False)
        if not wish.keys() & {"title", "pinned"}:
            raise StudioError("What can be changed is the title, and whether it is pinned.")
        if not isinstance(title, str) or not isinstance(pinned, bool):
            raise StudioError("It is changed with JSON: {“title”: “…”, “pinned”: true}.")
        told: dict[str, Any] = {}
        if "title" in wish:
            told["title"] = await run_sync(self._shelf.rename, run, title)
        if "pinned" in wish:
            told["pinned"] = await run_sync(self._shelf.pin, run, pinned)
        return as_json(told)

    async def delete(self, request: Request) -> Response:
        """Delete a run with all that is its own: ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, [run_of(request)])})

    async def delete_several(self, request: Request) -> Response:
        """Delete runs (``run``, given again for each): ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, await _several(request))})


def listed(page: Page) -> dict[str, Any]:
    """A part of the list as JSON values."""
    return {
        "runs": [_row(entry) for entry in page.entries],
        "next": page.next,
        "total": page.total,
        "size": page.size + page.versions,
    }


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": entry.run,
        "title": entry.title,
        "renamed": entry.renamed,
        "pinned": entry.pinned,
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
        "workspace": summary.workspace,
        "versions": summary.versions,
    }


async def _several(request: Request) -> list[str]:
    """The runs that are named, all of which must be the person's."""
    runs = request.query_params.getlist("run")
    if len(runs) > _RUNS:
        raise StudioError(f"At most {_RUNS} runs at once.")
    access = access_of(request)
    for run in runs:
        await run_sync(access.change, run)
    return runs
