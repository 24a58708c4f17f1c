"""Routes of evaluations: start, read, follow, stop, continue, retry, export, change, delete."""

import asyncio
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import UsageError
from agent.experiments import suites
from agent.experiments.figures.exports import KINDS, MEDIA_TYPES, export
from agent.grading.checks import CHECKS, EXTRACTED, EXTRACTIONS
from agent.report.groups import evaluation_parts
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.compare.request import ResumeRequest, parse
from sandbox_ui.evals.manager import EvaluationManager
from sandbox_ui.evals.request import EvaluationRequest
from sandbox_ui.evals.stream import EvaluationStream, stream_response
from sandbox_ui.routes.comparisons import without_addresses
from sandbox_ui.routes.helpers import (
    EVALUATION_PATH,
    change_title_or_pin,
    download_headers,
    get_evaluation_id,
    json_response,
    read_json,
    route,
)
from sandbox_ui.routes.reports import report_response
from sandbox_ui.scheduling.limiter import PerUserLimiter

_MAX_AT_ONCE = 2


class EvaluationRoutes:
    """Routes of evaluations.

    Args:
        evaluations: The evaluations.
        closing: Set when the application shuts down; streams then end.
    """

    def __init__(self, evaluations: EvaluationManager, closing: asyncio.Event) -> None:
        self._evaluations = evaluations
        self._closing = closing
        self._limiter = PerUserLimiter(_MAX_AT_ONCE, 1)

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/api/suites", self.suites),
            route("/api/evaluations", self.create, "POST"),
            route("/api/evaluations", self.list),
            route(EVALUATION_PATH, self.read),
            route(EVALUATION_PATH, self.change, "PATCH"),
            route(EVALUATION_PATH, self.delete, "DELETE"),
            route(f"{EVALUATION_PATH}/events", self.events),
            route(f"{EVALUATION_PATH}/export.{{kind}}", self.export),
            route(f"{EVALUATION_PATH}/stop", self.stop, "POST"),
            route(f"{EVALUATION_PATH}/resume", self.resume, "POST"),
            route(f"{EVALUATION_PATH}/retry-infrastructure", self.retry, "POST"),
        ]

    async def suites(self, request: Request) -> Response:
        """Return the ``suites``, and whether the user may name data on the server (``paths``)."""
        user = get_access(request).user
        return json_response({"suites": await run_sync(_suites), "paths": user.operator})

    async def create(self, request: Request) -> Response:
        """Start an evaluation: ``{"id": …}``."""
        access = get_access(request)
        user = access.user
        asked: EvaluationRequest = parse(EvaluationRequest, await read_json(request))
        if asked.inputs:
            await run_sync(access.require_edit, asked.inputs)
        create = partial(self._evaluations.create, asked, user)
        return json_response({"id": await self._limiter.run(access.limiter_key, create)}, 201)

    async def list(self, request: Request) -> Response:
        """List the user's ``evaluations``, newest first."""
        owner = get_access(request).owner_filter
        return json_response({"evaluations": await run_sync(self._evaluations.in_brief, owner)})

    async def read(self, request: Request) -> Response:
        """Return the evaluation; with ``overview=1`` without its tasks and cells."""
        evaluation, access = get_evaluation_id(request), get_access(request)
        short = request.query_params.get("overview", "") == "1"
        describe = self._evaluations.overview if short else self._evaluations.describe
        described = await run_sync(describe, evaluation)
        return json_response(await run_sync(_for_reader, described, access, evaluation))

    async def events(self, request: Request) -> Response:
        """Stream the evaluation; see ``sandbox_ui.evals.stream``.

        Query parameters: ``cursor``: that of the description, or of the last message.
        """
        evaluation, access = get_evaluation_id(request), get_access(request)
        stream = EvaluationStream(
            evaluation,
            self._evaluations,
            request.query_params.get("cursor", ""),
            partial(_for_reader, access=access, evaluation=evaluation),
        )
        return stream_response(
            stream,
            lambda: self._closing.is_set() or not access.can_view_group("evaluation", evaluation),
        )

    async def export(self, request: Request) -> Response:
        """Return the results as csv, json or tex, the figure as svg, all as html."""
        kind = request.path_params["kind"]
        if kind not in (*KINDS, "html"):
            raise UsageError(f"An evaluation is exported as {', '.join(KINDS)} or html.")
        evaluation, access = get_evaluation_id(request), get_access(request)
        described = await run_sync(self._evaluations.describe, evaluation)
        shown = await run_sync(_for_reader, described, access, evaluation)
        if kind == "html":
            return report_response(evaluation_parts(shown), "evaluation.html")
        content = await self._limiter.run(access.limiter_key, partial(export, shown, kind))
        headers = download_headers(f"evaluation.{kind}")
        return Response(content, headers=headers, media_type=MEDIA_TYPES[kind])

    async def stop(self, request: Request) -> Response:
        """Stop all runs, and start no more of them."""
        await run_sync(self._evaluations.stop, get_evaluation_id(request))
        return Response(status_code=204)

    async def resume(self, request: Request) -> Response:
        """Start the runs that are missing; keys are given again."""
        return await self._continue(request, self._evaluations.resume)

    async def retry(self, request: Request) -> Response:
        """Start again the runs with infrastructure errors, and only those."""
        return await self._continue(request, self._evaluations.retry_infrastructure)

    async def _continue(self, request: Request, start: Any) -> Response:
        body = await read_json(request) if await request.body() else {}
        asked: ResumeRequest = parse(ResumeRequest, body)
        await run_sync(start, get_evaluation_id(request), asked, get_access(request).user)
        return Response(status_code=204)

    async def change(self, request: Request) -> Response:
        """Change the ``title`` (empty: the suites' titles) or ``pinned``."""
        return await change_title_or_pin(request, self._evaluations, get_evaluation_id(request))

    async def delete(self, request: Request) -> Response:
        """Delete the evaluation; with ``runs=1`` also the runs that it started."""
        with_runs = request.query_params.get("runs", "") == "1"
        delete = partial(self._evaluations.delete, get_evaluation_id(request), with_runs=with_runs)
        return json_response({"freed": await run_sync(delete)})


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


def _for_reader(described: dict[str, Any], access: Access, evaluation: str) -> dict[str, Any]:
    """Return a description for this reader: others do not see addresses of endpoints."""
    if access.can_edit_group("evaluation", evaluation):
        return described
    if access.owns_group("evaluation", evaluation):
        return described | {"canEdit": False}
    judge = described["judge"]
    return described | {
        "members": without_addresses(described["members"]),
        "judge": judge and judge | {"baseUrl": ""},
        "canEdit": False,
        "elsewhere": "",
        "canResume": False,
        "canRetry": False,
    }
