"""Functions for programs that compare, called by ``gradio_client``.

comparison = client.predict(
    "How many lines?", [{"mode": "plain"}, {"mode": "sandbox"}], 5, api_name="/compare"
)
for state in client.submit(comparison, api_name="/follow_comparison"):
    print(state["state"], state["verdict"])
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from gradio.events import api

from sandbox_ui.auth.access import get_access
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.compare.request import ComparisonRequest, parse
from sandbox_ui.page.handlers import follow_until_end, gradio_errors


class ComparisonFunctions:
    """Functions that a program may call.

    Args:
        comparisons: The comparisons.
    """

    def __init__(self, comparisons: ComparisonManager) -> None:
        self._comparisons = comparisons

    def register(self) -> None:
        """Register the functions in the Blocks under construction."""
        for function in (self.compare, self.follow_comparison, self.stop_comparison):
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
        with gradio_errors():
            access = get_access(request)
            user = access.user
            asked: ComparisonRequest = parse(
                ComparisonRequest,
                {
                    "task": task,
                    "members": members,
                    "repetitions": repetitions,
                    "inputs": run,
                    "expected": expected or None,
                },
            )
            if run:
                access.require_edit(run)
            return self._comparisons.create(asked, user)

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
        with gradio_errors():
            access = get_access(request)
            await run_sync(access.require_edit_group, "comparison", str(comparison))
        comparisons = self._comparisons
        states = follow_until_end(comparisons.followers, comparison, comparisons.describe)
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
        with gradio_errors():
            get_access(request).require_edit_group("comparison", str(comparison))
            self._comparisons.stop(comparison)
            return comparison


def _for_client(described: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison without keys named path: the client would download such files."""
    inputs = [
        {("name" if key == "path" else key): value for key, value in each.items()}
        for each in described["inputs"]
    ]
    return described | {"inputs": inputs}
