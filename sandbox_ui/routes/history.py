"""Routes for the catalog of runs: list, search, rename, pin, delete."""

import re
import time
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import StudioError
from agent.history.index import Entry, Page
from sandbox_ui.auth.access import access_of
from sandbox_ui.history.catalog import Shelf
from sandbox_ui.routes.helpers import RUN, as_json, body_of, route, run_of

_MOST, _WORDS, _RUNS = 200, 200, 500
_TASK = 300


class HistoryRoutes:
    """Routes for the catalog of runs.

    Args:
        shelf: The catalog of all runs.
        kept: The retention rule, in words.
    """

    def __init__(self, shelf: Shelf, kept: str) -> None:
        self._shelf = shelf
        self._kept = kept

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/api/runs", self.list),
            route("/api/runs", self.delete_several, "DELETE"),
            route("/api/space", self.space),
            route(RUN, self.change, "PATCH"),
            route(RUN, self.delete, "DELETE"),
        ]

    async def list(self, request: Request) -> Response:
        """List the started runs, newest first; the first page also has the ``drafts``.

        Query parameters: ``q``: words that must all occur in title, task, messages, answer, model
        or file names; ``before``: the previous response's ``next``, for the next page; ``most``:
        the page size; ``pinned=1``: pinned runs only.
        """
        if access_of(request).guest:
            return as_json(listed(Page([], "", 0, 0, 0)) | {"drafts": [], "now": time.time()})
        asked = request.query_params
        most = asked.get("most", "50")
        if not re.fullmatch("[0-9]{1,4}", most) or not 1 <= int(most) <= _MOST:
            raise StudioError(f"“most” is a number from 1 to {_MOST}.")
        words, before = asked.get("q", "")[:_WORDS], asked.get("before", "")
        owner, pinned = access_of(request).owner, asked.get("pinned", "") == "1"
        ask = partial(self._shelf.list, words, before, int(most), pinned=pinned, owner=owner)
        page = await run_sync(ask)
        told = listed(page) | {"now": time.time(), "kept": self._kept}
        if not before and not pinned:
            told["drafts"] = await run_sync(self._shelf.drafts, words, owner)
        return as_json(told)

    async def space(self, request: Request) -> Response:
        """Return the bytes that deletion frees: ``{"frees": bytes}``; ``run`` repeats."""
        return as_json({"frees": await run_sync(self._shelf.frees, await _several(request))})

    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the task's first line) or ``pinned``."""
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
        """Delete a run with all its data: ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, [run_of(request)])})

    async def delete_several(self, request: Request) -> Response:
        """Delete runs (``run``, repeated): ``{"freed": bytes}``."""
        return as_json({"freed": await run_sync(self._shelf.delete, await _several(request))})


def listed(page: Page) -> dict[str, Any]:
    """Return a page of the catalog as JSON values."""
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
    """Return the runs in the query; the user must be allowed to change all of them."""
    runs = request.query_params.getlist("run")
    if len(runs) > _RUNS:
        raise StudioError(f"At most {_RUNS} runs at once.")
    access = access_of(request)
    for run in runs:
        await run_sync(access.change, run)
    return runs
