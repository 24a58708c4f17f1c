"""Routes of questions to a model about an evaluation's runs."""

from dataclasses import asdict
from functools import partial
from typing import Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from agent.models.parameters import camel_case
from sandbox_ui.auth.access import get_access
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.questions import QuestionRequest, Questions
from sandbox_ui.experiments.request import EndpointRequest, parse
from sandbox_ui.experiments.stream import parse_runs
from sandbox_ui.routes.helpers import Routes, at, json_response, read_json
from sandbox_ui.scheduling.limiter import PerUserLimiter

_EVALUATION = "/api/evaluations/{experiment}"
_MAX_AT_ONCE = 2


class QuestionRoutes(Routes):
    """Routes of questions."""

    def __init__(self, questions: Questions, experiments: ExperimentManager) -> None:
        self._questions = questions
        self._experiments = experiments
        self._limiter = PerUserLimiter(_MAX_AT_ONCE, 1)

    @at(f"{_EVALUATION}/questions/estimate", method="POST")
    async def estimate(self, request: Request) -> Response:
        """Estimate a question about the runs that a ``filter`` names: tokens, cost, its basis."""
        asked: Any = parse(QuestionRequest, await read_json(request))
        estimate = partial(self._questions.estimate, _id(request), asked)
        found = await self._limiter.run(get_access(request).limiter_key, estimate)
        return json_response({camel_case(name): each for name, each in asdict(found).items()})

    @at(f"{_EVALUATION}/questions", method="POST")
    async def ask(self, request: Request) -> Response:
        """Ask a question about the runs that a ``filter`` names: ``{"id": …}``."""
        asked: Any = parse(QuestionRequest, await read_json(request))
        user = get_access(request).user
        question = await run_sync(self._questions.ask, _id(request), asked, user)
        return json_response({"id": question}, 201)

    @at(f"{_EVALUATION}/questions/{{question}}/resume", method="POST")
    async def resume(self, request: Request) -> Response:
        """Ask about the runs without an answer; the key is given again."""
        asked: Any = parse(EndpointRequest, await read_json(request))
        question, user = str(request.path_params["question"]), get_access(request).user
        await run_sync(self._questions.resume, _id(request), question, asked, user)
        return Response(status_code=204)

    @at(f"{_EVALUATION}/questions/{{question}}/stop", method="POST")
    async def stop(self, request: Request) -> Response:
        """Stop a question; its answers stay."""
        question = str(request.path_params["question"])
        await run_sync(self._questions.stop, _id(request), question)
        return Response(status_code=204)

    @at(f"{_EVALUATION}/answers")
    async def answers(self, request: Request) -> Response:
        """Return the ``answers`` about the ``runs`` (ids, with commas) by run."""
        live = await run_sync(self._experiments.registry.get, _id(request))
        runs = parse_runs(request.query_params.get("runs", ""), live.run_ids()) or []
        found = await run_sync(self._questions.answers, _id(request), runs)
        return json_response({"answers": found})


def _id(request: Request) -> str:
    return str(request.path_params["experiment"])
