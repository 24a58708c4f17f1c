"""What the page's buttons do."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gradio as gr

from agent import examples
from agent.errors import StudioError
from agent.models.answering import ModelNeeded
from agent.models.base import ModelConfig
from agent.models.builtin.parts import ABOUT, CHOSEN, NAME, parts
from agent.settings import Settings
from agent.workspace.paths import RelPath
from agent.workspace.transfer import copy_in
from sandbox_ui import choices as choosing
from sandbox_ui.choices import Choices
from sandbox_ui.people.access import Access, access_of
from sandbox_ui.runs import Runs
from sandbox_ui.turns import Turns

Notice = dict[str, Any] | None
_TESTS = 8


class Controls:
    """The functions behind Run, Stop and Test.

    Args:
        runs: The runs.
        settings: What the operator set.
    """

    def __init__(self, runs: Runs, settings: Settings) -> None:
        self._runs = runs
        self._settings = settings
        self._tests = Turns(_TESTS, 2)

    def run(
        self, text: str, run_id: str | None, request: gr.Request, *fields: Any
    ) -> tuple[str | None, Notice, Any]:
        """Begin a run, or send a message to one that has come to an end.

        Args:
            text: The task or the message.
            run_id: The run that is shown, or a draft with attached files, or None.
            request: Who asks.
            fields: The fields of ``Choices``.

        Returns:
            The run's id, what could not be done (or None), and the text box's new content,
            which is left alone where nothing was begun.
        """
        text = text.strip()
        if not text:
            return run_id, _notice("Write what the model is to do."), gr.skip()
        try:
            return self._send(text, run_id, access_of(request), Choices(*fields)), None, ""
        except StudioError as error:
            return run_id, _notice(str(error), connect=isinstance(error, ModelNeeded)), gr.skip()

    def stop(self, run_id: str | None, request: gr.Request) -> None:
        """Stop a run: its command ends, its files and its sandbox stay."""
        if run_id:
            with spoken():
                access_of(request).change(run_id)
                self._runs.stop(run_id)

    async def test(self, request: gr.Request, *fields: Any) -> tuple[Any, str]:
        """Ask the endpoint for its models and the model for a word.

        Returns:
            The model's choices, and a sentence that says what is well or what is wrong.
        """
        try:
            person = access_of(request).person
            config = choosing.config(Choices(*fields), self._settings, person)
        except StudioError as error:
            return gr.skip(), str(error)
        return await self._tests.take(person.id, partial(_tested, config))

    def _send(self, text: str, run_id: str | None, access: Access, choices: Choices) -> str:
        person = access.person
        begun = ""
        if run_id:
            access.change(run_id)
            begun = self._runs.feed(run_id).state()["model"]
        model = choosing.model_for(text, choices, self._settings, person, begun)
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
    """Put the files that an example's task speaks of into a draft's ``input/``.

    Raises:
        StudioError: they cannot be written there.
    """
    example = examples.find(task)
    for path in example.inputs if example else ():
        copy_in(runs.workspace(run_id), path, RelPath("input"))


def _tested(config: ModelConfig) -> tuple[Any, str]:
    if not config.base_url and parts():
        return gr.skip(), f"{ABOUT}."
    from agent.models import listing  # takes its time, and few need it

    try:
        told = listing.check(config)
        names = listing.list_models(config)
    except StudioError as error:
        return gr.skip(), str(error)
    return gr.update(choices=[*names, *([(NAME, CHOSEN)] if parts() else [])]), told


@contextmanager
def spoken() -> Iterator[None]:
    """A failure as Gradio hands it on: its sentence."""
    try:
        yield
    except StudioError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _notice(text: str, *, connect: bool = False) -> Notice:
    return {"text": text, "connect": connect, "at": time.time()}
