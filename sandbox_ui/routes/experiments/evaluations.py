"""Routes of evaluations: those of experiments, suites and the list."""

from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.experiments import suites
from agent.grading.checks import CHECKS, EXTRACTED, EXTRACTIONS
from sandbox_ui.auth.access import get_access
from sandbox_ui.experiments.request import EvaluationRequest
from sandbox_ui.routes.experiments.base import ExperimentRoutes
from sandbox_ui.routes.helpers import json_response, route


class EvaluationRoutes(ExperimentRoutes):
    """Routes of evaluations."""

    request_class = EvaluationRequest

    def _further_routes(self) -> list[Route]:
        return [
            route("/api/suites", self.suites),
            route(self._place, self.list),
        ]

    async def suites(self, request: Request) -> Response:
        """Return the ``suites``, and whether the user may name data on the server (``paths``)."""
        user = get_access(request).user
        return json_response({"suites": await run_sync(_suites), "paths": user.operator})

    async def list(self, request: Request) -> Response:
        """List the user's ``evaluations``, newest first."""
        owner = get_access(request).owner_filter
        return json_response({"evaluations": await run_sync(self._manager.in_brief, owner)})

    async def read(self, request: Request) -> Response:
        """Return the evaluation; with ``overview=1`` without its tasks and cells."""
        short = request.query_params.get("overview", "") == "1"
        describe = self._manager.overview if short else self._manager.describe
        return json_response(await self._shown(request, describe))

    def _hidden(self, described: dict[str, Any]) -> dict[str, Any]:
        judge = described["judge"]
        return {
            "judge": judge and judge | {"baseUrl": ""}, "elsewhere": ""
        }  # fmt: skip


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
