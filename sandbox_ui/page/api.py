"""Functions for programs: on Gradio's API page, called by ``gradio_client``.

client = Client("http://127.0.0.1:7860")
run = client.predict("Plot sin(x).", api_name="/start")
for state in client.submit(run, api_name="/follow"):
    print(state["state"], state["steps"])
print(client.predict(run, api_name="/files"))
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr
from anyio.to_thread import run_sync
from gradio.events import api

from agent.errors import RunError
from agent.models.parameters import from_json
from agent.settings import Settings
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import get_access
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.page.handlers import gradio_errors
from sandbox_ui.routes.history import page_row
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunRequest, RunService
from sandbox_ui.runs.sse import thread_safe_setter, wait_with_timeout

_POLL_SECONDS = 5.0


class ApiFunctions:
    """Functions that a program may call; runs started here use the settings' endpoint."""

    def __init__(self, runs: RunManager, catalog: Catalog, settings: Settings) -> None:
        self._runs = runs
        self._catalog = catalog
        self._service = RunService(runs, settings)

    def register(self) -> None:
        """Register the functions in the Blocks under construction."""
        for function in (
            self.start, self.message, self.stop, self.follow, self.files, self.runs,
        ):  # fmt: skip
            api(function, api_name=function.__name__, concurrency_limit=None)

    def start(
        self,
        request: gr.Request,
        task: str,
        run: str = "",
        prompt: str = "general",
        mode: str = "sandbox",
        network: str = "open",
        approve: str = "",
        summarise: bool = False,
        parameters: dict[str, Any] | None = None,
        pdfs: str = "auto",
    ) -> str:
        """Start a run.

        Args:
            task: The task for the model.
            run: A draft with uploaded files (`POST /api/runs`, then
                `PUT /api/runs/{run}/files/input/{name}`); empty for a new run.
            prompt: Name of one of the studio's prompts.
            mode: `sandbox` or `plain`.
            network: `open`, `none`, `packages` (PyPI, Debian, npm), or host names.
            approve: Which calls wait for approval: `every`, `network`, `delete`, `install`, `long`,
                `risky`, several of them, or none.
            summarise: Whether the model summarises older steps near the limit of its context.
            parameters: Request parameters where they differ from the endpoint's defaults: `api`,
                `effort`, `thinking`, `verbosity`, `seed`, `temperature`, `topP`, `maxTokens`,
                `extraBody`, `calls`, `sendReasoning`, `images`.
            pdfs: In plain mode, whether PDFs are sent as `text`, `pages` or `both`; `auto` sends
                pages only of those without text.

        Returns:
            The run's id.
        """
        with gradio_errors():
            _require_text(run=run)
            access = get_access(request)
            if run:
                access.require_edit(run)
            given = _parameters(parameters, task=task, prompt=prompt, mode=mode, network=network,
                                approve=approve, summarise=summarise, pdfs=pdfs)  # fmt: skip
            return self._service.start(given, access.user, run)

    def message(
        self,
        request: gr.Request,
        run: str,
        text: str,
        summarise: bool = False,
        parameters: dict[str, Any] | None = None,
    ) -> str:
        """Send a message: a run that has ended continues in the same sandbox.

        A run that works receives it with its next observation.

        Args:
            run: The run's id.
            text: The message.
            summarise: As in `start`, if the run has ended.
            parameters: As in `start`, if the run has ended.

        Returns:
            The run's id.
        """
        with gradio_errors():
            _require_text(run=run, text=text)
            access = get_access(request)
            access.require_edit(run)
            if run in self._runs.active_ids():
                self._runs.active_steering(run, text).queue_message(text)
                return run
            wanted = _parameters(parameters, task=text, summarise=summarise)
            self._service.follow_up(run, wanted, access.user)
            return run

    def stop(self, request: gr.Request, run: str) -> str:
        """Stop a run; its files and its sandbox are kept.

        Args:
            run: The run's id.

        Returns:
            The run's id.
        """
        with gradio_errors():
            _require_text(run=run)
            get_access(request).require_edit(run)
            self._runs.stop(run)
            return run

    async def follow(self, request: gr.Request, run: str) -> AsyncIterator[dict[str, Any]]:
        """Follow a run until it ends.

        Args:
            run: The run's id.

        Yields:
            The run's state after each change: `state`, `detail`, `model`, `steps`, `totals`,
            `running`; at the end also `reason` and `answer`.
        """
        with gradio_errors():
            _require_text(run=run)
            access = get_access(request)
            await run_sync(access.require_view, run)
            feed = self._runs.feed(run)
        changed = asyncio.Event()
        unfollow = await run_sync(feed.follow, thread_safe_setter(changed))
        try:
            last: dict[str, Any] = {}
            while True:
                changed.clear()
                state = await run_sync(feed.status)
                if state != last:
                    last = state
                    yield state
                if not state["running"] or not await run_sync(access.can_view, run):
                    return
                await wait_with_timeout(changed, _POLL_SECONDS)
        finally:
            asyncio.get_running_loop().run_in_executor(None, unfollow)

    def files(self, request: gr.Request, run: str, folder: str = "output") -> list[dict[str, Any]]:
        """List a folder of a run's workspace.

        Args:
            run: The run's id.
            folder: A folder of the workspace.

        Returns:
            For each entry its `kind`, `size` and, for files, the download `address`, relative to
            the studio's own.
        """
        with gradio_errors():
            _require_text(run=run, folder=folder)
            get_access(request).require_view(run)
            path = RelPath(folder) if folder else RelPath.from_url("")
            return [
                {
                    "name": RelPath(entry.name).display,
                    "kind": entry.kind,
                    "size": entry.size,
                    "address": f"/api/runs/{run}/files/{path.child(entry.name).to_url()}"
                    if entry.kind == "file"
                    else None,
                }
                for entry in self._runs.workspace(run).list(path)
            ]

    def runs(self, request: gr.Request, words: str = "") -> list[dict[str, Any]]:
        """List the latest runs, newest first.

        Args:
            words: Return only runs that contain all of these words in title, task, messages,
                answer, model or file names.

        Returns:
            At most 200 entries, each with `run`, `title`, `model`, `state`, `at`, `seconds`,
            `steps`, tokens, `size` and `images`.
        """
        with gradio_errors():
            _require_text(words=words)
            rows: list[dict[str, Any]] = page_row(
                self._catalog.list(words, limit=200, owner=get_access(request).owner_filter)
            )["runs"]
            return rows


def _require_text(**values: object) -> None:
    """Check that all values are text; Gradio does not."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise RunError(f"“{name}” must be text.")


def _parameters(parameters: object, **fields: Any) -> RunRequest:
    return RunRequest.of(from_json(parameters or {}) | fields)
