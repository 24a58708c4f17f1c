"""What the page's buttons do."""

import time
from typing import Any

import gradio as gr

from agent import examples
from agent.errors import StudioError
from agent.models.answering import ModelNeeded
from agent.settings import Settings
from agent.workspace.paths import RelPath
from agent.workspace.transfer import copy_in
from sandbox_ui import choices as choosing
from sandbox_ui.choices import Choices
from sandbox_ui.runs import Runs

Notice = dict[str, Any] | None


class Controls:
    """The functions behind Run, Stop and Test.

    Args:
        runs: The runs.
        settings: What the operator set.
    """

    def __init__(self, runs: Runs, settings: Settings) -> None:
        self._runs = runs
        self._settings = settings

    def run(self, text: str, run_id: str | None, *fields: Any) -> tuple[str | None, Notice, Any]:
        """Begin a run, or send a message to one that has come to an end.

        Args:
            text: The task or the message.
            run_id: The run that is shown, or a draft with attached files, or None.
            fields: The fields of ``Choices``.

        Returns:
            The run's id, what could not be done (or None), and the text box's new content,
            which is left alone where nothing was begun.
        """
        text = text.strip()
        if not text:
            return run_id, _notice("Write what the model is to do."), gr.skip()
        try:
            return self._send(text, run_id, Choices(*fields)), None, ""
        except StudioError as error:
            return run_id, _notice(str(error), connect=isinstance(error, ModelNeeded)), gr.skip()

    def stop(self, run_id: str | None) -> None:
        """Stop a run: its command ends, its files and its sandbox stay."""
        if run_id:
            self._runs.stop(run_id)

    def test(self, *fields: Any) -> tuple[Any, str]:
        """Ask the endpoint for its models and the model for a word.

        Returns:
            The model's choices, and a sentence that says what is well or what is wrong.
        """
        from agent.models import listing  # takes its time, and few need it

        try:
            config = choosing.config(Choices(*fields), self._settings)
            told = listing.check(config)
            names = listing.list_models(config)
        except StudioError as error:
            return gr.skip(), str(error)
        return gr.update(choices=names), told

    def _send(self, text: str, run_id: str | None, choices: Choices) -> str:
        model = choosing.model_for(text, choices, self._settings)
        limits = choosing.limits_for(choices, self._settings)
        if run_id and self._runs.begun(run_id):
            self._runs.follow_up(run_id, text, model, limits)
            return run_id
        task = choosing.task_for(text, choices)
        run_id = run_id or self._runs.create_draft()
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


def _notice(text: str, *, connect: bool = False) -> Notice:
    return {"text": text, "connect": connect, "at": time.time()}
