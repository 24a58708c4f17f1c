"""Functions for programs that compare or evaluate, called by ``gradio_client``.

comparison = client.predict(
    "How many lines?", [{"mode": "plain"}, {"mode": "sandbox"}], 5, api_name="/compare"
)
for state in client.submit(comparison, api_name="/follow_comparison"):
    print(state["state"], state["verdict"])

evaluation = client.predict(
    [{"name": "aime"}], [{"mode": "plain"}, {"mode": "sandbox"}], api_name="/evaluate"
)
for state in client.submit(evaluation, api_name="/follow_evaluation"):
    print(state["state"], state["counts"])
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from gradio.events import api

from sandbox_ui.auth.access import get_access
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import (
    ComparisonRequest,
    EvaluationRequest,
    ExperimentRequest,
    parse,
)
from sandbox_ui.page.handlers import follow_until_end, gradio_errors


class ExperimentFunctions:
    """Functions that a program may call.

    Args:
        comparisons: The comparisons.
        evaluations: The evaluations.
    """

    def __init__(self, comparisons: ExperimentManager, evaluations: ExperimentManager) -> None:
        self._comparisons = comparisons
        self._evaluations = evaluations

    def register(self) -> None:
        """Register the functions in the Blocks under construction."""
        for function in (
            self.compare, self.follow_comparison, self.stop_comparison,
            self.evaluate, self.follow_evaluation, self.stop_evaluation,
        ):  # fmt: skip
            api(function, api_name=function.__name__, concurrency_limit=None)

    def compare(
        self,
        request: gr.Request,
        task: str,
        members: list[dict[str, Any]],
        repetitions: int = 1,
        run: str = "",
        expected: dict[str, Any] | None = None,
    ) -> str:
        """Start a comparison: the same task and inputs for 2 to 12 members.

        Args:
            request: The caller's request.
            task: The task.
            members: For each member `mode` (`plain` or `sandbox`) and, where they differ from the
                studio's, `label`, `baseUrl`, `apiKey`, `model`, `prompt`, `maxSteps`, `maxTokens`,
                `temperature`, `topP`, `extraBody`, `network`.
            repetitions: How often each member does the task, 1 to 64.
            run: A draft with uploaded files, as for `/start`; empty for none.
            expected: The right answer, to score the others: `kind` and `answer`; see
                docs/http-api.md.

        Returns:
            The comparison's id.
        """
        body = {
            "task": task, "members": members, "repetitions": repetitions, "inputs": run,
            "expected": expected or None,
        }  # fmt: skip
        return _start(request, self._comparisons, ComparisonRequest, body)

    async def follow_comparison(
        self, request: gr.Request, comparison: str
    ) -> AsyncIterator[dict[str, Any]]:
        """Follow a comparison until it ends.

        Args:
            request: The caller's request.
            comparison: The comparison's id.

        Yields:
            The comparison as `GET /api/comparisons/{id}`, when a run has started or ended: `state`,
            `members` with their runs, `table`, `verdict`. An input's path is its `name`.
        """
        states = _follow(request, self._comparisons, comparison, self._comparisons.describe)
        async with aclosing(states):
            async for described in states:
                yield _for_client(described)

    def stop_comparison(self, request: gr.Request, comparison: str) -> str:
        """Stop all runs of a comparison.

        Args:
            request: The caller's request.
            comparison: The comparison's id.

        Returns:
            The comparison's id.
        """
        return _stop(request, self._comparisons, comparison)

    def evaluate(
        self,
        request: gr.Request,
        suites: list[dict[str, Any]],
        members: list[dict[str, Any]],
        repetitions: int = 1,
        at_once: int = 4,
        limit: int = 0,
        run: str = "",
        judge: dict[str, Any] | None = None,
    ) -> str:
        """Start an evaluation: tasks with known answers, for each member.

        Args:
            request: The caller's request.
            suites: For each suite its `name` and, where it is not the packaged sample, `upload`:
                the data below `input/` of the draft.
            members: As for `/compare`.
            repetitions: How often each member does each task.
            at_once: How many runs at a time.
            limit: At most this many tasks of each suite; 0 for all.
            run: A draft with uploaded files, as for `/start`; empty for none.
            judge: The judge, for suites that need one: `model`, `baseUrl`, `apiKey`, `prompt`,
                `votes`.

        Returns:
            The evaluation's id.
        """
        body = {
            "suites": suites, "members": members, "repetitions": repetitions, "atOnce": at_once,
            "limit": limit or None, "inputs": run, "judge": judge or None,
        }  # fmt: skip
        return _start(request, self._evaluations, EvaluationRequest, body)

    async def follow_evaluation(
        self, request: gr.Request, evaluation: str
    ) -> AsyncIterator[dict[str, Any]]:
        """Follow an evaluation until it ends.

        Args:
            request: The caller's request.
            evaluation: The evaluation's id.

        Yields:
            The evaluation as `GET /api/evaluations/{id}?overview=1`, when a run has ended:
            `state`, `counts`, `remaining`, `results`.
        """
        states = _follow(request, self._evaluations, evaluation, self._evaluations.overview)
        async with aclosing(states):
            async for described in states:
                yield described

    def stop_evaluation(self, request: gr.Request, evaluation: str) -> str:
        """Stop all runs of an evaluation.

        Args:
            request: The caller's request.
            evaluation: The evaluation's id.

        Returns:
            The evaluation's id.
        """
        return _stop(request, self._evaluations, evaluation)


def _start(
    request: gr.Request,
    manager: ExperimentManager,
    kind: type[ExperimentRequest],
    body: dict[str, Any],
) -> str:
    with gradio_errors():
        access = get_access(request)
        user, asked = access.user, parse(kind, body)
        if asked.inputs:
            access.require_edit(asked.inputs)
        return manager.create(asked, user)


async def _follow(
    request: gr.Request,
    manager: ExperimentManager,
    experiment: str,
    describe: Callable[[str], dict[str, Any]],
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield an experiment when a run has started or ended, until it ends."""
    with gradio_errors():
        require = get_access(request).require_edit_group
        await run_sync(require, manager.registry.kind, str(experiment))
    states = follow_until_end(manager.followers, experiment, describe)
    async with aclosing(states):
        async for described in states:
            yield described


def _stop(request: gr.Request, manager: ExperimentManager, experiment: str) -> str:
    with gradio_errors():
        get_access(request).require_edit_group(manager.registry.kind, str(experiment))
        manager.stop(experiment)
        return experiment


def _for_client(described: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison without keys named path: the client would download such files."""
    inputs = [
        {("name" if key == "path" else key): value for key, value in each.items()}
        for each in described["inputs"]
    ]
    return described | {"inputs": inputs}
