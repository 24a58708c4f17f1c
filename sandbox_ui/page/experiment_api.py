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

import asyncio
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
    parse_own,
)
from sandbox_ui.page.handlers import gradio_errors
from sandbox_ui.runs.sse import thread_safe_setter, wait_with_timeout

_POLL_SECONDS = 5.0
_MIN_SECONDS = 1.0
State = dict[str, Any]


class ExperimentFunctions:
    """Functions that a program may call."""

    def __init__(self, experiments: ExperimentManager) -> None:
        self._experiments = experiments

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
        return self._start(request, ComparisonRequest, body)

    async def follow_comparison(self, request: gr.Request, comparison: str) -> AsyncIterator[State]:
        """Follow a comparison until it ends.

        Args:
            comparison: The comparison's id.

        Yields:
            The comparison as `GET /api/comparisons/{id}`, when a run has started or ended: `state`,
            `members` with their runs, `table`, `verdict`. An input's path is its `name`.
        """
        async with aclosing(
            self._follow(request, comparison, self._experiments.describe)
        ) as states:
            async for described in states:
                yield _for_client(described)

    def stop_comparison(self, request: gr.Request, comparison: str) -> str:
        """Stop all runs of a comparison.

        Args:
            comparison: The comparison's id.

        Returns:
            The comparison's id.
        """
        return self._stop(request, comparison)

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
        return self._start(request, EvaluationRequest, body)

    async def follow_evaluation(self, request: gr.Request, evaluation: str) -> AsyncIterator[State]:
        """Follow an evaluation until it ends.

        Args:
            evaluation: The evaluation's id.

        Yields:
            The evaluation as `GET /api/evaluations/{id}?overview=1`, when a run has ended:
            `state`, `counts`, `remaining`, `results`.
        """
        async with aclosing(
            self._follow(request, evaluation, self._experiments.overview)
        ) as states:
            async for described in states:
                yield described

    def stop_evaluation(self, request: gr.Request, evaluation: str) -> str:
        """Stop all runs of an evaluation.

        Args:
            evaluation: The evaluation's id.

        Returns:
            The evaluation's id.
        """
        return self._stop(request, evaluation)

    def _start(self, request: gr.Request, kind: type[ExperimentRequest], body: State) -> str:
        with gradio_errors():
            access = get_access(request)
            return self._experiments.create(parse_own(kind, body, access), access.user)

    async def _follow(
        self, request: gr.Request, experiment: str, describe: Callable[[str], State]
    ) -> AsyncGenerator[State, None]:
        """Yield an experiment at first and after changes, at most once a second, until it ends."""
        with gradio_errors():
            await run_sync(get_access(request).require_edit_group, str(experiment))
        changed = asyncio.Event()
        live = await run_sync(self._experiments.registry.get, experiment)
        unfollow = live.follow(thread_safe_setter(changed))
        try:
            while True:
                changed.clear()
                with gradio_errors():
                    described = await run_sync(describe, experiment)
                yield described
                if described["state"] != "running":
                    return
                await wait_with_timeout(changed, _POLL_SECONDS)
                await asyncio.sleep(_MIN_SECONDS)
        finally:
            unfollow()

    def _stop(self, request: gr.Request, experiment: str) -> str:
        with gradio_errors():
            get_access(request).require_edit_group(str(experiment))
            self._experiments.stop(experiment)
            return experiment


def _for_client(described: State) -> State:
    """Return a comparison without keys named path: the client would download such files."""
    inputs = [
        {("name" if key == "path" else key): value for key, value in each.items()}
        for each in described["inputs"]
    ]
    return described | {"inputs": inputs}
