"""Routes of forks: what one would lack, making one, and a run's family."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent import prompts
from agent.errors import RunError, UsageError
from agent.history.family import Member
from agent.history.index import HistoryEntry
from agent.run_fields import BY_NAME
from agent.runs.folder import Parent
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    get_run_id,
    get_step,
    json_response,
    read_json,
)
from sandbox_ui.runs.manager import RunManager


@dataclass(frozen=True)
class ForkRoutes(Routes):
    """Routes of forks."""

    _runs: RunManager
    _catalog: Catalog

    @at(f"{RUN_PATH}/fork")
    def describe(self, request: Request) -> Response:
        """Return what a fork after ``step`` would start with and lack; see ``ForkDescription``."""
        step = get_step(request) or 0
        return json_response(self._runs.describe_fork(get_run_id(request), step))

    @at(f"{RUN_PATH}/fork", method="POST")
    async def create(self, request: Request) -> Response:
        """Make a fork, which waits for its first message: ``{"run": …}``.

        The body has the ``step`` (0: the beginning), and if wanted another ``prompt`` and ``mode``,
        and ``reinstall``: whether to install again first what the steps have installed.
        """
        run, user = get_run_id(request), get_access(request).user
        body = await read_json(request)
        fork = partial(self._runs.fork, run, _step(body), user.id, **_changes(body))
        return json_response({"run": await run_sync(fork)}, 201)

    @at(f"{RUN_PATH}/family")
    def family(self, request: Request) -> Response:
        """Return the ``parent``, or null, and the ``children``, the newest first.

        A parent that was deleted (``exists``), or that the user may not see (``visible``), has no
        ``title``.
        """
        run, access = get_run_id(request), get_access(request)
        parent = self._runs.folder(run).parent
        owner = None if access.is_guest else access.owner_filter
        children = [] if access.is_guest else self._catalog.history.children(run, owner)
        return json_response({
            "parent": self._parent_row(parent, access) if parent else None,
            "children": [_child_row(child) for child in children],
        })  # fmt: skip

    @at(f"{RUN_PATH}/family/tree")
    def family_tree(self, request: Request) -> Response:
        """Return the whole family as ``members``, depth first, and whether there are ``more``.

        A member has ``status``, ``depth`` and, if it is ``open``, ``run``, ``title``, ``kind``,
        the ``step`` of its parent at which it starts, ``model`` and ``state``.
        """
        run, access = get_run_id(request), get_access(request)
        family = self._catalog.family(run, access.can_view)
        rows = [_member_row(member) for member in family.members]
        return json_response({"members": rows, "more": family.more})

    def _parent_row(self, parent: Parent, access: Access) -> dict[str, Any]:
        row = {"run": parent.run, "step": parent.step, "kind": parent.kind}
        try:
            self._runs.peek_folder(parent.run)
            visible = access.can_view(parent.run)
            title = self._catalog.title(parent.run) if visible else ""
        except RunError:
            return row | {"exists": False, "visible": False, "title": ""}
        return row | {"exists": True, "visible": visible, "title": title}


def _child_row(child: HistoryEntry) -> dict[str, Any]:
    return {"run": child.run} | _facts(child, child.parent)


def _member_row(member: Member) -> dict[str, Any]:
    row = {"status": member.status, "depth": member.depth, "run": member.run}
    return row | _facts(member.entry, member.parent) if member.status == "open" else row


def _facts(entry: HistoryEntry | None, parent: Parent | None) -> dict[str, Any]:
    summary = entry.summary if entry else None
    return {
        "title": entry.title if entry else "",
        "at": entry.at if entry else None,
        "step": parent.step if parent else 0,
        "kind": parent.kind if parent else "",
        "model": summary.model if summary else "",
        "state": summary.state if summary else "",
        "running": bool(summary and summary.running),
    }


def _step(body: dict[str, Any]) -> int:
    step = body.get("step")
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise UsageError("“step” must be the number of a step, or 0 for the beginning.")
    return step


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    prompt, mode = (BY_NAME[name].check(body.get(name)) for name in ("prompt", "mode"))
    reinstall = body.get("reinstall", False)
    if not isinstance(reinstall, bool):
        raise UsageError("“reinstall” must be true or false.")
    prompt = prompts.get_bundled(prompt) if prompt else None
    return {"prompt": prompt, "mode": mode, "reinstall": reinstall}
