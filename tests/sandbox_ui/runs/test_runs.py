"""Active runs: starting, stopping, continuing and maintenance."""

import asyncio
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import fastapi
import gradio as gr
import pytest

from agent.errors import RunError
from agent.events import RunEnded, RunStarted, ToolOutput
from agent.history.index import History
from agent.limits import Limits
from agent.models import demonstration
from agent.models.parameters import from_json
from agent.models.resolve import NoModelAvailable
from agent.runs.recorded_run import Task
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.workspace.paths import ROOT
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.page.handlers import ButtonHandlers
from sandbox_ui.runs import manager as running
from sandbox_ui.runs.live_run import LiveRun
from sandbox_ui.runs.maintenance import DRAFT_SECONDS, IDLE_SECONDS
from sandbox_ui.runs.manager import CLOSED_MESSAGE, RunManager
from sandbox_ui.runs.service import RunRequest, model_config, model_for
from tests.sandbox_ui.managed_runs import (
    events,
    follow_up,
    open_manager,
    start,
    wait_for_end,
    wait_for_event,
)
from tests.support.local_provider import LocalSandboxProvider, record_ends
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash
from tests.support.server import wait_until


@pytest.fixture
def provider(tmp_path: Path) -> LocalSandboxProvider:
    return LocalSandboxProvider(tmp_path)


@pytest.mark.contract
def test_a_run_starts_once_and_accepts_no_message_while_active(runs: RunManager) -> None:
    draft = runs.create_draft()
    assert {entry.name for entry in runs.workspace(draft).list(ROOT)} == {"input", "output"}
    assert not runs.has_started(draft)
    run = start(runs, bash("echo up; sleep 60"), SUBMIT)
    wait_for_event(runs, run, "tool_output")
    assert runs.has_started(run)
    with pytest.raises(RunError, match="in progress"):
        runs.start(run, Task("Do it."), ScriptedModel([SUBMIT]), Limits())
    with pytest.raises(RunError, match="in progress"):
        follow_up(runs, run, SUBMIT)
    runs.stop(run)
    wait_for_end(runs, run)


@pytest.mark.contract
def test_closing_ends_a_run_that_waits_for_its_user_and_keeps_what_waits(tmp_path: Path) -> None:
    with open_manager(tmp_path) as runs:
        waiting, paused = runs.create_draft(), runs.create_draft()
        runs.steering(waiting).set_approval(["every"])
        runs.start(waiting, Task("Do it."), ScriptedModel([bash("echo a"), SUBMIT]), Limits())
        wait_until(lambda: runs.steering(waiting).state.waiting is not None)
        runs.active_steering(waiting).queue_message("Wait for me.")
        runs.steering(paused).pause()
        runs.start(paused, Task("Do it."), ScriptedModel([SUBMIT]), Limits())
        wait_for_event(runs, paused, "paused")
        with pytest.raises(RunError, match="in progress"):
            follow_up(runs, paused, SUBMIT)
    for run in (waiting, paused):
        ended = events(runs, run)[-1]
        assert isinstance(ended, RunEnded)
        assert (ended.status, ended.reason) == ("stopped", CLOSED_MESSAGE)
    with open_manager(tmp_path) as again:
        assert [each.text for each in again.steering(waiting).state.messages] == ["Wait for me."]
        assert again.steering(waiting).approval == ("every",)
        assert not again.steering(paused).state.paused
        again.steering(waiting).set_approval([])
        model = ScriptedModel([SUBMIT])
        again.follow_up(waiting, "Go on.", model, Limits())
        wait_for_end(again, waiting, 2)
        assert "Wait for me." in str(model.requests[0])


@pytest.mark.contract
def test_two_runs_are_independent(runs: RunManager) -> None:
    first = start(runs, bash("echo 1 > output/a"), SUBMIT)
    second = start(runs, bash("ls output"), SUBMIT)
    assert [wait_for_end(runs, run).status for run in (first, second)] == ["submitted"] * 2
    assert not list(runs.folder(second).workspace.joinpath("output").iterdir())


@pytest.mark.contract
def test_a_plain_run_that_ended_and_nobody_follows_takes_no_memory(runs: RunManager) -> None:
    ended = [start(runs, ScriptedTurn("4"), mode="plain") for _ in range(3)]
    kept = start(runs, SUBMIT)  # with its sandbox
    wait_until(lambda: not runs.active_ids())
    assert [run.folder.id for run in runs._registry.all()] == [kept]
    follow_up(runs, ended[0], ScriptedTurn("5"))
    assert wait_for_end(runs, ended[0], 2).answer == "5"


@pytest.mark.contract
@pytest.mark.parametrize("seconds", [None, 0.0])
def test_a_run_that_ended_is_listed_while_its_worker_tidies_up(
    runs: RunManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    tidying, gate = threading.Event(), threading.Event()

    def tidy(_: LiveRun) -> None:
        tidying.set()
        assert gate.wait(60)

    monkeypatch.setattr(LiveRun, "_detach_disk", tidy)
    history = History(tmp_path, runs.active_runs, runs.own_changes)
    runs.on_round_ended(history.indexer.changed)
    run = start(runs, ScriptedTurn("4"), mode="plain", sandbox_seconds=seconds)
    assert tidying.wait(60)
    listed = [(each.run, each.summary.state) for each in history.page().entries if each.summary]
    gate.set()
    assert listed == [(run, "answered")]
    wait_until(lambda: not runs.active_ids())
    history.indexer.close()


@pytest.mark.contract
def test_closing_stops_active_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GRACE_SECONDS", 0.2)
    with open_manager(tmp_path) as runs:
        run = start(runs, bash("echo up; sleep 60"), SUBMIT)
        wait_for_event(runs, run, "tool_output")
    end = wait_for_end(runs, run)
    assert (end.status, end.reason) == ("stopped", CLOSED_MESSAGE)
    with pytest.raises(RunError, match="shutting down"):
        follow_up(runs, run, SUBMIT)


@pytest.mark.contract
def test_drafts_expire_a_week_after_their_last_change(
    runs: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(runs, SUBMIT)
    wait_for_end(runs, run)
    week_ago = time.time() - DRAFT_SECONDS - 60
    with monkeypatch.context() as earlier:
        earlier.setattr("agent.runs.folder.time", SimpleNamespace(time=lambda: week_ago))
        old = runs.create_draft()
    draft = runs.create_draft()
    folders = [runs.folder(each).sandbox_folder for each in (old, draft)]
    assert runs.folder(old).created == week_ago
    (runs.folder(old).workspace / "input" / "notes.txt").write_text("today")
    runs.run_maintenance(time.time() + DRAFT_SECONDS - 60)
    assert [folder.exists() for folder in folders] == [True, True]
    runs.run_maintenance(time.time() + DRAFT_SECONDS + 60)
    assert [folder.exists() for folder in folders] == [False, False]
    with pytest.raises(RunError, match="no such run"):
        runs.feed(draft)
    assert runs.folder(run).sandbox_folder.exists()


@pytest.mark.contract
def test_an_idle_run_releases_its_sandbox_and_a_message_gets_another(
    runs: RunManager, provider: LocalSandboxProvider
) -> None:
    run = start(runs, bash("echo kept > f"), SUBMIT)
    wait_for_end(runs, run)
    wait_until(lambda: run not in runs.active_runs())
    runs.run_maintenance(time.time() + IDLE_SECONDS - 60)
    follow_up(runs, run, SUBMIT)
    wait_for_end(runs, run, 2)
    assert provider.take_count == 1
    wait_until(lambda: run not in runs.active_runs())
    runs.run_maintenance(time.time() + IDLE_SECONDS + 60)
    follow_up(runs, run, bash("cat f"), SUBMIT)
    wait_for_end(runs, run, 3)
    assert provider.take_count == 2
    assert [e.text for e in events(runs, run) if isinstance(e, ToolOutput)] == ["kept\n"]


@pytest.mark.contract
@pytest.mark.parametrize("seconds", [0.0, 300.0])
def test_a_sandbox_with_a_time_of_its_own_is_removed_after_it(
    runs: RunManager,
    provider: LocalSandboxProvider,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    ends = record_ends(monkeypatch)
    run = start(runs, bash("echo kept > f"), SUBMIT, sandbox_seconds=seconds)
    wait_for_end(runs, run)
    wait_until(lambda: run not in runs.active_runs())
    if seconds:
        assert ends == []
        runs.run_maintenance(time.time() + seconds + 60)
    removed = (runs.folder(run).sandbox, "close")
    assert ends == [removed]
    follow_up(runs, run, bash("cat f"), SUBMIT)
    wait_for_end(runs, run, 2)
    assert provider.take_count == 2
    assert [e.text for e in events(runs, run) if isinstance(e, ToolOutput)] == ["kept\n"]
    wait_until(lambda: run not in runs.active_runs())
    assert ends == [removed], "a message of the page keeps its sandbox as usual"


# Button handlers


@pytest.fixture
def handlers(runs: RunManager, tmp_path: Path) -> ButtonHandlers:
    return ButtonHandlers(runs, Settings(data=tmp_path, builtin=False))


@pytest.fixture
def operator_request(runs: RunManager, tmp_path: Path) -> gr.Request:
    """The operator's request."""
    state = {"access": Access(OPERATOR, (), runs.peek_folder, cast(Any, None))}
    return gr.Request(fastapi.Request({"type": "http", "headers": [], "state": state}))


def test_a_task_that_cannot_be_started_is_refused_with_advice(
    handlers: ButtonHandlers, operator_request: gr.Request
) -> None:
    run, notice, _ = handlers.send("Write a poem", None, None, {}, operator_request)
    assert run is None
    assert notice
    assert notice["connect"]
    assert notice["text"].startswith("Connect a model first")
    script = demonstration.load_all()[0]
    for task, run, words in (("  \n", None, ""), (script.task, "goneforever1", "no such run")):
        _, notice, _ = handlers.send(task, run, None, {}, operator_request)
        assert notice
        assert words in notice["text"]


def test_a_missing_built_in_model_explains_its_installation(
    runs: RunManager, operator_request: gr.Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [each for each in sys.path if "site-packages" not in each])
    handlers = ButtonHandlers(runs, Settings(data=tmp_path))
    _, notice, _ = handlers.send("Write a poem", None, None, {}, operator_request)
    assert notice
    assert notice["connect"]
    assert notice["text"].startswith("Connect a model first")
    assert notice["text"].endswith("pip install --no-deps -r requirements-builtin.lock")


@pytest.mark.contract
def test_without_a_model_a_demonstration_plays_with_its_files(
    handlers: ButtonHandlers, runs: RunManager, operator_request: gr.Request
) -> None:
    script = next(each for each in demonstration.load_all() if each.inputs)
    run, notice, text = handlers.send(script.task, None, None, {}, operator_request)
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
        run, notice, _ = handlers.send("Write a poem", None, None, {}, operator_request)
        assert run
        assert notice is None
        assert endpoint.wait_for_requests(1)
        handlers.stop(run, operator_request)
        assert wait_for_end(runs, run).status == "stopped"
        gate.set()


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
    fields = {"base_url": entered, "model": "m"}
    _, result = asyncio.run(handlers.test_endpoint(fields, operator_request))
    assert message in result["message"]
    assert result["ok"] is False


@pytest.mark.parametrize(
    ("chosen", "url", "key"),
    [
        ({}, "http://one.test/v1", "secret"),
        ({"base_url": "http://two.test/v1"}, "http://two.test/v1", ""),
        ({"base_url": "http://two.test/v1", "api_key": "mine"}, "http://two.test/v1", "mine"),
        ({"base_url": " "}, "", ""),
        ({"model": "builtin"}, "", ""),
    ],
)
def test_the_environment_key_is_sent_to_the_environment_endpoint_only(
    chosen: dict[str, str], url: str, key: str
) -> None:
    settings = Settings(base_url="http://one.test/v1", api_key="secret", model="m")
    config = model_config(RunRequest.of(chosen), settings, OPERATOR)
    assert (config.base_url, config.api_key) == (url, key)


def test_an_endpoint_requires_a_model_name() -> None:
    request = RunRequest(RunSpec(task="t", base_url="http://one.test/v1"))
    with pytest.raises(NoModelAvailable, match="no model is selected"):
        model_for(request, Settings(), OPERATOR)


def test_limits_are_those_of_the_spec() -> None:
    def limits(operator: Settings | None = None, **given: Any) -> Limits:
        return RunSpec.of(given).limits(operator or Settings(), ScriptedModel([]))

    assert limits(max_tokens=50).turn_tokens == 50
    assert limits(Settings(turn_tokens=40), max_tokens=50).turn_tokens == 40
    assert limits(**from_json({"maxTokens": "default"})) == limits()
    assert not limits().summarise
    assert limits(summarise=True).summarise


@pytest.mark.parametrize(
    ("operator", "requested", "expected"),
    [
        (None, None, 100),
        (None, 400, 400),
        (40, None, 40),
        (9, 3, 3),
    ],
)
def test_a_run_can_request_more_steps_up_to_the_maximum(
    operator: int | None, requested: int | None, expected: int
) -> None:
    limits = RunSpec(max_steps=requested).limits(Settings(steps=operator), ScriptedModel([]))
    assert limits.steps == expected
