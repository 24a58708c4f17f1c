"""Functions for programs that evaluate, called by ``gradio_client``.

evaluation = client.predict(
    [{"name": "aime"}], [{"mode": "plain"}, {"mode": "sandbox"}], api_name="/evaluate"
)
for state in client.submit(evaluation, api_name="/follow_evaluation"):
    print(state["state"], state["counts"])
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from gradio.events import api

from sandbox_ui.auth.access import get_access
from sandbox_ui.compare.request import parse
from sandbox_ui.evals.manager import EvaluationManager
from sandbox_ui.evals.request import EvaluationRequest
from sandbox_ui.page.handlers import follow_until_end, gradio_errors


class EvaluationFunctions:
    """Functions that a program may call.

    Args:
        evaluations: The evaluations.
    """

    def __init__(self, evaluations: EvaluationManager) -> None:
        self._evaluations = evaluations

    def register(self) -> None:
        """Register the functions in the Blocks under construction."""
        for function in (self.evaluate, self.follow_evaluation, self.stop_evaluation):
            api(function, api_name=function.__name__, concurrency_limit=None)

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
        with gradio_errors():
            access = get_access(request)
            user = access.user
            asked: EvaluationRequest = parse(
                EvaluationRequest,
                {
                    "suites": suites,
                    "members": members,
                    "repetitions": repetitions,
                    "atOnce": at_once,
                    "limit": limit or None,
                    "inputs": run,
                    "judge": judge or None,
                },
            )
            if run:
                access.require_edit(run)
            return self._evaluations.create(asked, user)

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
        with gradio_errors():
            access = get_access(request)
            await run_sync(access.require_edit_group, "evaluation", str(evaluation))
        evaluations = self._evaluations
        states = follow_until_end(evaluations.followers, evaluation, evaluations.overview)
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
        with gradio_errors():
            get_access(request).require_edit_group("evaluation", str(evaluation))
            self._evaluations.stop(evaluation)
            return evaluation
