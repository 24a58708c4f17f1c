"""Event handlers of the page's buttons, and what its functions for programs share."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from agent.errors import StudioError, UsageError
from agent.models.base import ModelConfig
from agent.models.builtin.install import BUILTIN_DESCRIPTION, BUILTIN_ID, BUILTIN_NAME, find_files
from agent.models.parameters import InvalidValue
from agent.models.passport.store import PassportStore
from agent.models.resolve import NoModelAvailable
from agent.models.transport.base_url import same_endpoint
from agent.replay import examples as saved_examples
from agent.replay.examples import SavedExample
from agent.runs.spec import RunSpec
from agent.settings import Settings
from sandbox_ui.auth.access import Access, get_access
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunRequest, RunService, model_config
from sandbox_ui.scheduling.limiter import PerUserLimiter

Notice = dict[str, Any] | None
TestResult = dict[str, Any]
_MAX_TESTS = 8


class ButtonHandlers:
    """Handlers of Run, Stop and Test; ``labels`` are those of the page's fields."""

    def __init__(self, runs: RunManager, settings: Settings) -> None:
        self._runs = runs
        self._settings = settings
        self._service = RunService(runs, settings)
        self._test_limiter = PerUserLimiter(_MAX_TESTS, 2)
        self.labels: Mapping[str, str] = {}

    def send(
        self,
        text_box: str,
        run_id: str | None,
        message: dict[str, Any] | None,
        fields: dict[str, Any],
        request: gr.Request,
    ) -> tuple[str | None, Notice, Any]:
        """Start a run, or send a message to one that has ended; a notice says what failed.

        A ``message`` replaces the text box: ``text``; ``play`` for the example's demonstration;
        ``resume`` to continue without a text; ``options`` in place of some of the drawer's
        ``fields``; ``pictures`` for the model, in place of all that are attached.
        """
        message = dict(message) if isinstance(message, dict) else {}
        resumes = message.get("resume") is True
        text = "" if resumes else str(message.get("text") or text_box).strip()
        if not text and not resumes:
            return run_id, _notice("Describe a task first."), gr.skip()
        play = message.get("play") is True
        try:
            asked = {"task": text, "pictures": message.pop("pictures", None)}
            wanted = RunRequest.of(_changed(fields, message.get("options")) | asked)
            run_id = self._send(run_id, get_access(request), wanted, play=play)
        except StudioError as error:
            if isinstance(error, InvalidValue):
                error = error.named(self.labels.get(error.name, error.name))
            notice = _notice(str(error), connect=isinstance(error, NoModelAvailable))
            return run_id, notice, gr.skip() if text_box.strip() else text
        return run_id, None, gr.skip() if message else ""

    def stop(self, run_id: str | None, request: gr.Request) -> None:
        """Stop a run: its command is terminated, its files and its sandbox are kept."""
        if run_id:
            with gradio_errors():
                get_access(request).require_edit(run_id)
                self._runs.stop(run_id)

    async def test_endpoint(
        self, fields: dict[str, Any], request: gr.Request
    ) -> tuple[Any, TestResult]:
        """Request the endpoint's list of models, and two short answers from the model."""
        try:
            user = get_access(request).user
            config = model_config(RunRequest.of(fields), self._settings, user)
        except StudioError as error:
            return gr.skip(), {"message": str(error), "ok": False}
        test = partial(_test_endpoint, config, PassportStore(self._settings.data))
        return await self._test_limiter.run(user.id, test)

    def _send(self, run_id: str | None, access: Access, wanted: RunRequest, *, play: bool) -> str:
        if not run_id:
            saved = self._saved_example(wanted.spec, access.user.id, play=play)
            if saved is not None:
                return self._play(saved, wanted.spec, access.user.id)
            return self._service.start(wanted, access.user, play=play)
        access.require_edit(run_id)
        if not self._runs.has_started(run_id):
            return self._service.start(wanted, access.user, run_id, play=play)
        self._service.follow_up(run_id, wanted, access.user)
        return run_id

    def _saved_example(self, spec: RunSpec, owner: str, *, play: bool) -> SavedExample | None:
        """Return the user's saved example to play for a task: if asked for, or without a model."""
        connected = self._settings.base_url if spec.base_url is None else spec.base_url
        if connected and not play:
            return None
        return saved_examples.find(self._settings.data, owner, spec.task)

    def _play(self, example: SavedExample, spec: RunSpec, owner: str) -> str:
        """Start a run that plays a saved example in a sandbox; return its id."""
        model = saved_examples.ExampleModel(example.open())
        task = replace(spec, task=example.task, mode="sandbox").first_task(model)
        self._runs.admission.check_start(owner, task.text)
        run_id = self._runs.create_draft(owner)
        example.put_files(self._runs.workspace(run_id))
        self._runs.start(run_id, task, model, spec.limits(self._settings, model))
        return run_id


def _changed(fields: dict[str, Any], changes: object) -> dict[str, Any]:
    """Return the changed fields; an endpoint's key and additional fields stay with it."""
    if not isinstance(changes, dict):
        return fields
    base_url = changes.get("base_url")
    if base_url is None and "api_key" in changes:
        raise UsageError("A key without its endpoint is not used. Enter the base URL, too.")
    if base_url is not None and not same_endpoint(str(base_url), fields.get("base_url") or ""):
        fields = fields | {"api_key": "", "extra_body": ""}
    return fields | changes


def _test_endpoint(config: ModelConfig, passports: PassportStore) -> tuple[Any, TestResult]:
    if not config.base_url and find_files():
        return gr.skip(), {"message": f"{BUILTIN_DESCRIPTION}.", "ok": True}
    from agent.models.passport import probe  # slow to import, and rarely needed

    test = probe.check_endpoint(config)
    if test.works:
        passports.put(test.passport)
    unclear = test.passport.value("tools") is False
    result: TestResult = {
        "message": test.message,
        "ok": None if unclear else not test.passport.problem,
    }
    if test.passport.base_url:
        result["passport"] = test.passport.for_people()
    builtin = [(BUILTIN_NAME, BUILTIN_ID)] if find_files() else []
    if not test.models:
        return gr.skip(), result
    chosen: dict[str, Any] = (
        {} if config.model or not test.passport.model else {"value": test.passport.model}
    )
    return gr.update(choices=[*test.models, *builtin], **chosen), result


@contextmanager
def gradio_errors() -> Iterator[None]:
    """Raise a failure as a Gradio error with its message."""
    try:
        yield
    except StudioError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _notice(text: str, *, connect: bool = False) -> Notice:
    return {"text": text, "connect": connect, "at": time.time()}
