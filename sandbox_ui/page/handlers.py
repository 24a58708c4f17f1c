"""Event handlers of the page's buttons."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gradio as gr

from agent import examples
from agent.errors import StudioError
from agent.models.base import ModelConfig
from agent.models.builtin.install import BUILTIN_DESCRIPTION, BUILTIN_ID, BUILTIN_NAME, find_files
from agent.models.resolve import NoModelAvailable
from agent.settings import Settings
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.page import run_options
from sandbox_ui.page.run_options import RunOptions
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter

Notice = dict[str, Any] | None
_MAX_TESTS = 8


class ButtonHandlers:
    """Handlers of Run, Stop and Test.

    Args:
        runs: The live runs.
        settings: The operator's settings.
    """

    def __init__(self, runs: RunManager, settings: Settings) -> None:
        self._runs = runs
        self._settings = settings
        self._test_limiter = PerUserLimiter(_MAX_TESTS, 2)

    def send(
        self,
        text_box: str,
        run_id: str | None,
        message: dict[str, Any] | None,
        request: gr.Request,
        *fields: Any,
    ) -> tuple[str | None, Notice, Any]:
        """Start a run, or send a message to one that has ended.

        Args:
            text_box: Content of the text box: the task or the message.
            run_id: The displayed run, a draft with attached files, or None.
            message: Replacement for the text box's content, with the key ``text``; with ``play``
                the example's demonstration is played regardless of the connected model. None to
                use the text box.
            request: The caller's request.
            fields: The fields of ``RunOptions``.

        Returns:
            The run's id, an error notice (or None), and the text box's new content, which is
            unchanged if none of it was sent.
        """
        message = message if isinstance(message, dict) else {}
        text = str(message.get("text") or text_box).strip()
        if not text:
            return run_id, _notice("Describe a task first."), gr.skip()
        options, play = RunOptions(*fields), message.get("play") is True
        try:
            run_id = self._send(text, run_id, get_access(request), options, play=play)
        except StudioError as error:
            notice = _notice(str(error), connect=isinstance(error, NoModelAvailable))
            return run_id, notice, gr.skip() if text_box.strip() else text
        return run_id, None, gr.skip() if message else ""

    def stop(self, run_id: str | None, request: gr.Request) -> None:
        """Stop a run: its command is terminated, its files and its sandbox are kept."""
        if run_id:
            with gradio_errors():
                get_access(request).require_edit(run_id)
                self._runs.stop(run_id)

    async def test_endpoint(self, request: gr.Request, *fields: Any) -> tuple[Any, str]:
        """Request the endpoint's list of models and a short answer from the model.

        Returns:
            The choices for the model field, and a message with the result.
        """
        try:
            user = get_access(request).user
            config = run_options.model_config(RunOptions(*fields), self._settings, user)
        except StudioError as error:
            return gr.skip(), str(error)
        return await self._test_limiter.run(user.id, partial(_test_endpoint, config))

    def _send(
        self, text: str, run_id: str | None, access: Access, options: RunOptions, *, play: bool
    ) -> str:
        user = access.user
        previous_model = ""
        if run_id:
            access.require_edit(run_id)
            previous_model = self._runs.feed(run_id).status()["model"]
        model = run_options.model_for(
            text, options, self._settings, user, previous_model, prefer_demonstration=play
        )
        limits = run_options.limits_for(options, self._settings, model)
        if run_id and self._runs.has_started(run_id):
            self._runs.follow_up(run_id, text, model, limits)
            return run_id
        task = run_options.task_for(text, options, model)
        run_id = run_id or self._runs.create_draft(user.id)
        copy_example_inputs(self._runs, run_id, text)
        self._runs.start(run_id, task, model, limits)
        return run_id


def copy_example_inputs(runs: RunManager, run_id: str, task: str) -> None:
    """Copy the files that an example's task refers to into a draft's ``input/``.

    Raises:
        StudioError: if they cannot be written.
    """
    example = examples.find(task)
    for path in example.inputs if example else ():
        copy_in(runs.workspace(run_id), path, RelPath("input"))


def _test_endpoint(config: ModelConfig) -> tuple[Any, str]:
    if not config.base_url and find_files():
        return gr.skip(), f"{BUILTIN_DESCRIPTION}."
    from agent.models.openai import probe  # slow to import, and rarely needed

    try:
        result = probe.check_endpoint(config)
        names = probe.list_models(config)
    except StudioError as error:
        return gr.skip(), str(error)
    return gr.update(
        choices=[*names, *([(BUILTIN_NAME, BUILTIN_ID)] if find_files() else [])]
    ), result


@contextmanager
def gradio_errors() -> Iterator[None]:
    """Raise a failure as a Gradio error with its message."""
    try:
        yield
    except StudioError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _notice(text: str, *, connect: bool = False) -> Notice:
    return {"text": text, "connect": connect, "at": time.time()}
