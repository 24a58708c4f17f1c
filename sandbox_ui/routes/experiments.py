"""Routes of comparisons and evaluations: start, read, stop, continue, export, delete.

They are the same below ``/api/comparisons`` and ``/api/evaluations``; only what starts one differs.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import UsageError
from agent.experiments import suites
from agent.experiments.description import for_readers
from agent.experiments.experiment import MAX_MEMBERS
from agent.experiments.publish.rows import from_json
from agent.experiments.reading import filters
from agent.experiments.reading.labels import label_of
from agent.grading.checks import CHECKS, EXTRACTED, EXTRACTIONS
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ExperimentRequest,
    ExtendRequest,
    MergeRequest,
    ResumeRequest,
    StrictRequest,
    parse,
    parse_own,
)
from sandbox_ui.experiments.selection import NotComparable
from sandbox_ui.experiments.stream import (
    ExperimentStream,
    parse_runs,
    stream_response,
)
from sandbox_ui.routes.helpers import (
    EXPERIMENT_PATHS,
    Routes,
    at,
    change_title_or_pin,
    download_headers,
    json_response,
    read_json,
)
from sandbox_ui.routes.reports import report_response
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter

_MAX_AT_ONCE = 2
_T = TypeVar("_T")


def _below(path: str) -> list[str]:
    return [f"{experiment}/{path}" for experiment in EXPERIMENT_PATHS]


class ExperimentRoutes(Routes):
    """Routes of experiments; streams end when ``closing`` is set, as the application shuts down."""

    def __init__(
        self, manager: ExperimentManager, runs: RunManager, closing: asyncio.Event
    ) -> None:
        self._manager = manager
        self._runs = runs
        self._closing = closing
        self._limiter = PerUserLimiter(_MAX_AT_ONCE, 1)

    @at("/api/comparisons", method="POST")
    async def create_comparison(self, request: Request) -> Response:
        """Start a comparison: ``{"id": …}``."""
        return await self._create(ComparisonRequest, request)

    @at("/api/evaluations", method="POST")
    async def create_evaluation(self, request: Request) -> Response:
        """Start an evaluation: ``{"id": …}``."""
        return await self._create(EvaluationRequest, request)

    @at("/api/evaluations/check", method="POST")
    async def check_evaluation(self, request: Request) -> Response:
        """Check what an evaluation needs and estimate what it takes, before it is started."""
        return await self._check(EvaluationRequest, request)

    @at("/api/evaluations/merge", method="POST")
    async def merge_evaluations(self, request: Request) -> Response:
        """Make one evaluation of the runs of several, which are named by id: ``{"id": …}``."""
        asked: Any = parse(MergeRequest, await read_json(request))
        for each in asked.evaluations:
            await run_sync(get_access(request).require_edit_group, each)
        merge = self._manager.merge
        merged = await self._limited(request, merge, asked.evaluations, asked.title)
        return json_response({"id": merged}, 201)

    @at("/api/evaluations/{experiment}/extend", method="POST")
    async def extend_evaluation(self, request: Request) -> Response:
        """Add members and tasks, and start their runs: how many ``members`` and ``tasks``."""
        asked, user = await _asked(ExtendRequest, request)
        added = await self._limited(request, self._manager.extend, _id(request), asked, user)
        return json_response(added)

    @at("/api/evaluations/{experiment}/extend/check", method="POST")
    async def check_extension(self, request: Request) -> Response:
        """Check what the new runs need and estimate what they take, before they are started."""
        return await self._check(ExtendRequest, request, _id(request))

    async def _check(
        self, kind: type[StrictRequest], request: Request, experiment: str = ""
    ) -> Response:
        asked, user = await _asked(kind, request)
        check = self._manager.check
        return json_response(await self._limited(request, check, asked, user, experiment))

    async def _create(self, kind: type[ExperimentRequest], request: Request) -> Response:
        asked, user = await _asked(kind, request)
        created = await self._limited(request, self._manager.create, asked, user)
        return json_response({"id": created}, 201)

    async def _limited(self, request: Request, work: Callable[..., _T], *arguments: Any) -> _T:
        """Carry out slow work of a user, a little at a time."""
        key = get_access(request).limiter_key
        return await self._limiter.run(key, partial(work, *arguments))

    @at("/api/comparisons/from-runs", method="POST")
    async def create_from_runs(self, request: Request) -> Response:
        """Compare 2 to 12 ``runs`` that exist: ``{"id": …}``; 409 with what differs."""
        access, body = get_access(request), await read_json(request)
        user = access.user
        runs, title = body.get("runs"), body.get("title", "")
        if not isinstance(runs, list) or not all(isinstance(each, str) for each in runs):
            raise UsageError("“runs” must be a list of run ids.")
        if not isinstance(title, str):
            raise UsageError("“title” must be a string.")
        for run in runs[: MAX_MEMBERS + 1]:
            await run_sync(access.require_edit, run)
        try:
            comparison = await run_sync(self._manager.create_from_runs, runs, title, user)
        except NotComparable as error:
            return json_response({"error": str(error), "differences": error.differences}, 409)
        return json_response({"id": comparison}, 201)

    @at("/api/suites")
    async def suites(self, request: Request) -> Response:
        """Return the ``suites``, and whether the user may name data on the server (``paths``)."""
        user = get_access(request).user
        return json_response({"suites": await run_sync(_suites), "paths": user.operator})

    @at("/api/evaluations")
    async def list_evaluations(self, request: Request) -> Response:
        """List the user's ``evaluations``, newest first."""
        owner = get_access(request).owner_filter
        listed = await run_sync(self._manager.in_brief, "evaluation", owner)
        return json_response({"evaluations": listed})

    @at(*EXPERIMENT_PATHS)
    async def read(self, request: Request) -> Response:
        """Return the experiment; with ``overview=1`` without an evaluation's tasks and cells."""
        short = request.query_params.get("overview", "") == "1"
        describe = self._manager.overview if short else self._manager.describe
        return json_response(await self._shown(request, describe))

    @at(*_below("events"))
    async def events(self, request: Request) -> Response:
        """Stream the experiment and its runs; see ``sandbox_ui.experiments.stream``.

        Query parameters: ``runs``: the ids of the runs to follow, with commas; by default each
        member's latest, of a comparison. ``cursor`` (repeated, or with commas): ``RUN:CURSOR``, to
        continue; for an evaluation, that of the description or of the last message.
        """
        experiment, access, query = _id(request), get_access(request), request.query_params
        live = await run_sync(self._manager.registry.get, experiment)
        stream = ExperimentStream(
            live,
            self._manager,
            self._runs,
            parse_runs(query.get("runs"), live.run_ids()),
            query.getlist("cursor"),
            partial(_for_reader, access=access, experiment=experiment),
        )
        return stream_response(
            stream,
            lambda: self._closing.is_set() or not access.can_view_group(experiment),
            can_edit=access.can_edit_group(experiment),
        )

    @at(*_below("export.{kind}"))
    async def export(self, request: Request) -> Response:
        """Return a table, a figure, the rows of all runs or the report; see ``exports.kinds``.

        Query parameters: ``k``: for pass@k and pass^k; ``filter``: of ``runs.KIND``, see
        ``agent.experiments.reading.filters``.
        """
        from agent.experiments.publish import exports  # only to export
        from agent.experiments.publish.selection import chosen_runs
        from agent.report import groups

        kind = request.path_params["kind"]
        k = _number(request.query_params.get("k", ""))
        wanted = filters.parse(request.query_params.get("filter", ""))
        shown = await self._shown(request, self._manager.describe)
        if kind == "appendix.html" and "suites" in shown:
            published = self._manager.published
            whole = await self._limited(request, published, _id(request), shown)
            chosen = chosen_runs(from_json(whole["runs"]))
            parts = groups.parts(shown, self._runs.folder, appendix=chosen)
            return report_response(parts, "evaluation.appendix.html")
        if kind == "html":
            name = f"{exports.kind_of(shown)}.html"
            return report_response(groups.parts(shown, self._runs.folder), name)

        def content() -> bytes:
            exports.require(shown, kind)
            whole = self._manager.published(_id(request), shown, k)
            if wanted:
                whole = filters.only(whole, kind, wanted)
            return exports.export(whole, kind)

        headers = download_headers(f"{exports.kind_of(shown)}.{kind}")
        body = await self._limited(request, content)
        return Response(body, headers=headers, media_type=exports.media_type(kind))

    @at(*_below("labels"))
    async def labels(self, request: Request) -> Response:
        """Return what each rater says of the ``runs`` (ids, with commas), and who would label.

        ``rater`` is empty where its name is to be typed.
        """
        live = await run_sync(self._manager.registry.get, _id(request))
        runs = parse_runs(request.query_params.get("runs", ""), live.run_ids()) or []
        found = await run_sync(self._manager.labels_of, _id(request), runs)
        access = get_access(request)
        return json_response(
            {"labels": found, "rater": "" if access.is_guest else access.user.name}
        )

    @at(*_below("labels/{labelled}"), method="PUT")
    async def set_label(self, request: Request) -> Response:
        """Set the ``label`` and the ``note`` of a run by a ``rater``: with accounts, the user."""
        user, body = get_access(request).user, await read_json(request)
        texts = [body.get(name, "") for name in ("label", "note", "rater")]
        if not all(isinstance(each, str) for each in texts):
            raise UsageError("“label”, “note” and “rater” must be strings.")
        label, note, rater = texts
        run = str(request.path_params["labelled"])
        entry = label_of(run, user.name or rater, label, note, time.time())
        await run_sync(self._manager.label, _id(request), entry)
        return Response(status_code=204)

    @at(*_below("stop"), method="POST")
    async def stop(self, request: Request) -> Response:
        """Stop all runs, or those of the ``member`` with this index; start no more of them."""
        body = await read_json(request) if await request.body() else {}
        member = body.get("member")
        if member is not None and (not isinstance(member, int) or isinstance(member, bool)):
            raise UsageError("“member” must be the index of a member.")
        await run_sync(self._manager.stop, _id(request), member)
        return Response(status_code=204)

    @at(*_below("resume"), method="POST")
    async def resume(self, request: Request) -> Response:
        """Start the runs that are missing; keys are given again."""
        return await self._resume(request)

    @at(*_below("retry-infrastructure"), method="POST")
    async def retry(self, request: Request) -> Response:
        """Start again the runs with infrastructure errors, and only those."""
        return await self._resume(request, only_infrastructure=True)

    @at(*EXPERIMENT_PATHS, method="PATCH")
    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the task's first line, the suites' titles) or ``pinned``."""
        return await change_title_or_pin(request, self._manager, _id(request))

    @at(*EXPERIMENT_PATHS, method="DELETE")
    async def delete(self, request: Request) -> Response:
        """Delete the experiment; with ``runs=1`` also the runs that it started."""
        with_runs = request.query_params.get("runs", "") == "1"
        delete = partial(self._manager.delete, _id(request), with_runs=with_runs)
        return json_response({"freed": await run_sync(delete)})

    async def _resume(self, request: Request, *, only_infrastructure: bool = False) -> Response:
        body = await read_json(request) if await request.body() else {}
        asked: ResumeRequest = parse(ResumeRequest, body)
        resume = partial(self._manager.resume, only_infrastructure=only_infrastructure)
        await run_sync(resume, _id(request), asked, get_access(request).user)
        return Response(status_code=204)

    async def _shown(
        self, request: Request, describe: Callable[[str], dict[str, Any]]
    ) -> dict[str, Any]:
        described = await run_sync(describe, _id(request))
        return await run_sync(_for_reader, described, get_access(request), _id(request))


async def _asked(kind: type[StrictRequest], request: Request) -> tuple[Any, User]:
    """Return the parsed request, whose draft must be the user's, and the user."""
    access, body = get_access(request), await read_json(request)
    return await run_sync(parse_own, kind, body, access), access.user


def _id(request: Request) -> str:
    return str(request.path_params["experiment"])


def _number(text: str) -> int | None:
    """Return a number that a query names; None if it names none."""
    if text and not (text.isascii() and text.isdecimal() and len(text) < 4):
        raise UsageError("“k” must be a whole number.")
    return int(text) if text else None


def _for_reader(described: dict[str, Any], access: Access, experiment: str) -> dict[str, Any]:
    """Return a description for this reader: others do not see addresses of endpoints."""
    if access.can_edit_group(experiment):
        return described
    if access.owns_group(experiment):
        return described | {"canEdit": False}
    return for_readers(described)


def _suites() -> list[dict[str, Any]]:
    """Return what a user must know of each suite before starting it."""
    return [
        {
            "name": suite.name,
            "title": suite.title,
            "domain": suite.domain,
            "licence": suite.licence,
            "source": suite.source,
            "scorer": suite.scorer,
            "check": CHECKS[suite.scorer].title,
            "extractions": EXTRACTIONS if suite.scorer in EXTRACTED else ("lenient",),
            "repetitions": suite.repetitions,
            "judgePrompt": suite.judge_prompt,
            "sampleTasks": len(suites.load(name).tasks),
        }
        for name in suites.NAMES
        for suite in (suites.describe(name),)
    ]
