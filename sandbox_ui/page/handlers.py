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
from agent.models.builtin.install import ABOUT, CHOSEN, NAME, parts
from agent.models.resolve import ModelNeeded
from agent.settings import Settings
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in
from sandbox_ui.auth.access import Access, access_of
from sandbox_ui.page import run_options as choosing
from sandbox_ui.page.run_options import Choices
from sandbox_ui.runs.manager import Runs
from sandbox_ui.scheduling.limiter import Turns

Notice = dict[str, Any] | None
_TESTS = 8


class Controls:
    """Handlers of Run, Stop and Test.

    Args:
        runs: The live runs.
        settings: The operator's settings.
    """

    def __init__(self, runs: Runs, settings: Settings) -> None:
        self._runs = runs
        self._settings = settings
        self._tests = Turns(_TESTS, 2)

    def run(
        self,
        typed: str,
        run_id: str | None,
        given: dict[str, Any] | None,
        request: gr.Request,
        *fields: Any,
    ) -> tuple[str | None, Notice, Any]:
        """Start a run, or send a message to one that has ended.

        Args:
            typed: Content of the text box: the task or the message.
            run_id: The displayed run, a draft with attached files, or None.
            given: Replacement for the text box's content, with the key ``text``; with ``play`` the
                example's demonstration is played regardless of the connected model. None to use
                the text box.
            request: The caller's request.
            fields: The fields of ``Choices``.

        Returns:
            The run's id, an error notice (or None), and the text box's new content, which is
            unchanged if none of it was sent.
        """
        given = given if isinstance(given, dict) else {}
        text = str(given.get("text") or typed).strip()
        if not text:
            return run_id, _notice("Describe a task first."), gr.skip()
        choices, play = Choices(*fields), given.get("play") is True
        try:
            run_id = self._send(text, run_id, access_of(request), choices, play=play)
        except StudioError as error:
            notice = _notice(str(error), connect=isinstance(error, ModelNeeded))
            return run_id, notice, gr.skip() if typed.strip() else text
        return run_id, None, gr.skip() if given else ""

    def stop(self, run_id: str | None, request: gr.Request) -> None:
        """Stop a run: its command is terminated, its files and its sandbox are kept."""
        if run_id:
            with spoken():
                access_of(request).change(run_id)
                self._runs.stop(run_id)

    async def test(self, request: gr.Request, *fields: Any) -> tuple[Any, str]:
        """Request the endpoint's list of models and a short answer from the model.

        Returns:
            The choices for the model field, and a message with the result.
        """
        try:
            person = access_of(request).person
            config = choosing.config(Choices(*fields), self._settings, person)
        except StudioError as error:
            return gr.skip(), str(error)
        return await self._tests.take(person.id, partial(_tested, config))

    def _send(
        self, text: str, run_id: str | None, access: Access, choices: Choices, *, play: bool
    ) -> str:
        person = access.person
        begun = ""
        if run_id:
            access.change(run_id)
            begun = self._runs.feed(run_id).state()["model"]
        model = choosing.model_for(text, choices, self._settings, person, begun, play=play)
        limits = choosing.limits_for(choices, self._settings, model)
        if run_id and self._runs.begun(run_id):
            self._runs.follow_up(run_id, text, model, limits)
            return run_id
        task = choosing.task_for(text, choices, model)
        run_id = run_id or self._runs.create_draft(person.id)
        bring(self._runs, run_id, text)
        self._runs.start(run_id, task, model, limits)
        return run_id


def bring(runs: Runs, run_id: str, task: str) -> None:
    """Copy the files that an example's task refers to into a draft's ``input/``.

    Raises:
        StudioError: if they cannot be written.
    """
    example = examples.find(task)
    for path in example.inputs if example else ():
        copy_in(runs.workspace(run_id), path, RelPath("input"))


def _tested(config: ModelConfig) -> tuple[Any, str]:
    if not config.base_url and parts():
        return gr.skip(), f"{ABOUT}."
    from agent.models.openai import probe  # slow to import, and rarely needed

    try:
        told = probe.check(config)
        names = probe.list_models(config)
    except StudioError as error:
        return gr.skip(), str(error)
    return gr.update(choices=[*names, *([(NAME, CHOSEN)] if parts() else [])]), told


@contextmanager
def spoken() -> Iterator[None]:
    """Raise a failure as a Gradio error with its message."""
    try:
        yield
    except StudioError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _notice(text: str, *, connect: bool = False) -> Notice:
    return {"text": text, "connect": connect, "at": time.time()}
