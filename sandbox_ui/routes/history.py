"""Routes for the catalog of runs: list, search, rename, pin, delete."""

import re
from dataclasses import dataclass
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import StudioError, UsageError
from agent.events import StepNoted, now
from agent.history.index import HistoryEntry, HistoryPage
from sandbox_ui.auth.access import get_access
from sandbox_ui.experiments.listing import RunListing
from sandbox_ui.history.catalog import Catalog, Relations
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    change_title_or_pin,
    get_run_id,
    json_response,
    read_json,
)

_MAX_PAGE_SIZE, _MAX_QUERY, _MAX_RUNS = 200, 200, 500
_MAX_TEXT = 300
_NO_RELATIONS = Relations()


@dataclass(frozen=True)
class HistoryRoutes(Routes):
    """Routes for the catalog of runs."""

    _catalog: Catalog
    _listing: RunListing
    _retention_text: str

    @at("/api/runs")
    def list(self, request: Request) -> Response:
        """List the started runs, the comparisons and the evaluations, newest first.

        The first page has the ``drafts``, too. Runs that a comparison or an evaluation started are
        listed only in answer to ``q`` and ``comparison``.

        Query parameters: ``q``: words that must all occur in the title, conversation, outputs,
        model or file names; ``before``: the previous response's ``next``, for the next page;
        ``limit``: the page size; ``pinned=1``: pinned ones only;
        ``comparison``: the runs of this comparison only, oldest first.
        """
        if get_access(request).is_guest:
            empty = page_row(HistoryPage([], "", 0, 0, 0))
            return json_response(
                empty | {"comparisons": [], "evaluations": [], "drafts": [], "now": now()}
            )
        query = request.query_params
        if "comparison" in query:
            return self._list_runs_of(request, query["comparison"])
        limit = query.get("limit", "50")
        if not re.fullmatch("[0-9]{1,4}", limit) or not 1 <= int(limit) <= _MAX_PAGE_SIZE:
            raise StudioError(f"“limit” must be a number from 1 to {_MAX_PAGE_SIZE}.")
        words, before = query.get("q", "")[:_MAX_QUERY], query.get("before", "")
        owner, pinned = get_access(request).owner_filter, query.get("pinned", "") == "1"
        page, groups = self._listing.page(words, before, int(limit), pinned=pinned, owner=owner)
        relations = self._catalog.relations(page.entries, owner)
        body = page_row(page, relations) | {
            "comparisons": [each for each in groups if each["kind"] == "comparison"],
            "evaluations": [each for each in groups if each["kind"] == "evaluation"],
            "now": now(), "retention": self._retention_text,
        }  # fmt: skip
        if not before and not pinned:
            body["drafts"] = self._catalog.drafts(words, owner)
        return json_response(body)

    def _list_runs_of(self, request: Request, comparison: str) -> Response:
        access = get_access(request)
        access.require_edit_group(comparison)
        page = self._listing.runs_of(comparison, access.owner_filter)
        rows = page_row(page)
        for row in rows["runs"]:
            row["comparison"] = comparison
        return json_response(rows | {"now": now()})

    @at(f"{RUN_PATH}/steps/{{step:int}}/notes", method="POST")
    async def add_note(self, request: Request) -> Response:
        """Add the note ``text`` to a step."""
        text, step = (await read_json(request)).get("text"), request.path_params["step"]
        if not isinstance(text, str):
            raise UsageError("“text” must be a text.")
        await run_sync(self._catalog.annotate, get_run_id(request), StepNoted(step=step, text=text))
        return Response(status_code=204)

    @at("/api/space")
    def reclaimable_bytes(self, request: Request) -> Response:
        """Return the bytes that deletion frees: ``{"reclaimable": bytes}``; ``run`` repeats."""
        freed = self._catalog.reclaimable_bytes(_get_run_ids(request))
        return json_response({"reclaimable": freed})

    @at(RUN_PATH, method="PATCH")
    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the task's first line) or ``pinned``."""
        return await change_title_or_pin(request, self._catalog, get_run_id(request))

    @at(RUN_PATH, method="DELETE")
    def delete(self, request: Request) -> Response:
        """Delete a run with all its data: ``{"freed": bytes}``."""
        return json_response({"freed": self._catalog.delete([get_run_id(request)])})

    @at("/api/runs", method="DELETE")
    def delete_several(self, request: Request) -> Response:
        """Delete runs (``run``, repeated): ``{"freed": bytes}``."""
        return json_response({"freed": self._catalog.delete(_get_run_ids(request))})


def page_row(page: HistoryPage, relations: Relations = _NO_RELATIONS) -> dict[str, Any]:
    """Return a page of the catalog as JSON values."""
    return {
        "runs": [_entry_row(entry, relations) for entry in page.entries],
        "next": page.next,
        "total": page.total,
        "size": page.size + page.versions,
        "indexing": page.indexing,
    }


def _entry_row(entry: HistoryEntry, relations: Relations) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": entry.run,
        "title": entry.title,
        "renamed": entry.renamed,
        "pinned": entry.pinned,
        "comparison": entry.comparison,
        "parent": entry.parent,
        "parent_title": relations.titles.get(entry.parent.run, "") if entry.parent else "",
        "forked": entry.run in relations.forked,
        "imported": entry.imported,
        "at": entry.at,
        "error": entry.problem,
        "excerpt": entry.excerpt,
        "in_title": entry.in_title,
        "match": entry.match
        and {"part": entry.match.part, "round": entry.match.round, "step": entry.match.step},
        "word": entry.word,
    }
    summary = entry.summary
    if summary is None:
        return row
    return row | {
        "task": summary.task[:_MAX_TEXT],
        "model": summary.model,
        "metered": summary.metered,
        "mode": summary.mode,
        "state": summary.state,
        "reason": summary.reason[:_MAX_TEXT],
        "running": summary.running,
        "started_at": summary.began,
        "seconds": summary.seconds,
        "steps": summary.steps,
        "copied_steps": summary.copied_steps,
        "prompt_tokens": summary.prompt_tokens,
        "generated_tokens": summary.generated_tokens,
        "estimated": summary.estimated,
        "images": summary.images,
        "size": summary.size,
        "workspace": summary.workspace,
        "versions": summary.versions,
    }


def _get_run_ids(request: Request) -> list[str]:
    """Return the runs in the query; the user must be allowed to change all of them."""
    runs = request.query_params.getlist("run")
    if len(runs) > _MAX_RUNS:
        raise StudioError(f"At most {_MAX_RUNS} runs per request.")
    access = get_access(request)
    for run in runs:
        access.require_edit(run)
    return runs
