"""Sandboxes that nobody uses stop, and come back with what was in them."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.events import Notice, RunEnded, SandboxReady, StepStarted
from agent.runs.recorder import ORIGIN_MESSAGES
from agent.sandbox.engine.client import Client
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from sandbox_ui.runs.maintenance import IDLE_SECONDS
from sandbox_ui.runs.manager import CLOSED_MESSAGE
from tests.agent.provisioning.test_provider import bury
from tests.faults.studio_app import SUBMIT, StudioApp, bash, open_studio_app
from tests.support.server import wait_until

pytestmark = pytest.mark.engine

INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept; cd input"
USE = "tool; echo $x ${PWD##*/}; cat /workspace/output/made"
ASK = "curl -s -m 20 -o /dev/null -w '%{http_code} ' http://"


def rest(studio_app: StudioApp) -> None:
    studio_app.runs.run_maintenance(time.time() + IDLE_SECONDS + 60)


def origins(studio_app: StudioApp, run: str) -> list[str]:
    return [event.origin for event in studio_app.found(run, SandboxReady)]


def test_an_idle_sandbox_stops_and_a_message_brings_it_back(studio_app: StudioApp) -> None:
    run = studio_app.do(bash(f"echo made > output/made; {INSTALL}"), SUBMIT)
    rest(studio_app)
    assert studio_app.states() == ["exited"]
    assert studio_app.networks() == []
    studio_app.go_on(run, bash(USE), SUBMIT)
    assert "works\nkept input\nmade" in studio_app.observations(run)[-1]
    assert origins(studio_app, run) == ["new", "restarted"]
    step = studio_app.found(run, StepStarted)[2]
    assert step.note.startswith(f"\n\n[{ORIGIN_MESSAGES['restarted']}]\n")
    (notice,) = studio_app.found(run, Notice)
    assert (notice.step, notice.text) == (step.step, ORIGIN_MESSAGES["restarted"])
    assert studio_app.states() == ["running"]


@pytest.mark.long
def test_it_comes_back_to_the_network_that_its_run_may_use(studio_app: StudioApp) -> None:
    ask = bash(f"{ASK}deb.debian.org/; {ASK}example.com/; env | grep -c ^http_proxy")
    run = studio_app.do(ask, SUBMIT, network=NetworkPolicy("listed", ("deb.debian.org",)))
    for _ in range(2):
        rest(studio_app)
        studio_app.go_on(run, ask, SUBMIT)
    answers = studio_app.observations(run)
    assert "403 1" in answers[0]
    assert answers == [answers[0]] * 3
    assert answers[0].count("403") == 1


@pytest.mark.long
def test_a_sandbox_that_has_rested_too_long_goes_and_the_model_is_told(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    with open_studio_app(data_path, replace(settings, stopped_days=0.0), engine) as studio_app:
        run = studio_app.do(bash(f"echo made > output/made; {INSTALL}"), SUBMIT)
        rest(studio_app)
        rest(studio_app)
        assert studio_app.states() == []
        studio_app.go_on(run, bash(USE), SUBMIT)
        assert "tool: command not found" in studio_app.observations(run)[-1]
        assert "made" in studio_app.observations(run)[-1]
        assert origins(studio_app, run) == ["new", "recreated"]
        assert studio_app.found(run, Notice)[-1].text == ORIGIN_MESSAGES["recreated"]


@pytest.mark.long
def test_a_container_that_cannot_be_started_any_more_is_made_anew(studio_app: StudioApp) -> None:
    run = studio_app.do(bash("echo made > output/made; rm -rf /usr/bin/python3*"), SUBMIT)
    rest(studio_app)
    assert studio_app.go_on(run, bash("cat output/made"), SUBMIT).status == "submitted"
    assert origins(studio_app, run) == ["new", "recreated"]
    assert studio_app.states() == ["running"]
    assert len(studio_app.networks()) == 1


def test_what_a_deleted_run_kept_at_the_engine_goes_with_it(studio_app: StudioApp) -> None:
    run = studio_app.do(SUBMIT)
    rest(studio_app)
    with studio_app.runs.blocked_for_deletion([run]):
        assert studio_app.states() == []


# The end and the start of the application


def test_told_to_end_it_lets_a_step_end_and_stops_the_sandboxes_which_come_back(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    with open_studio_app(data_path, settings, engine) as studio_app:
        finished = studio_app.do(bash(INSTALL), SUBMIT)
        run = studio_app.start(bash("echo up; sleep 2; echo done"), bash("echo never"), SUBMIT)
        studio_app.wait_for(run, "tool_output")
    end = studio_app.found(run, RunEnded)[-1]
    assert (end.status, end.reason) == ("stopped", CLOSED_MESSAGE)
    assert studio_app.observations(run)[0].count("done") == 1
    assert set(studio_app.containers()) == {
        studio_app.runs.folder(each).sandbox for each in (finished, run)
    }
    assert studio_app.states() == ["exited", "exited"]
    assert studio_app.networks() == []
    with open_studio_app(data_path, settings, engine) as again:
        again.go_on(finished, bash("tool"), SUBMIT)
        assert "works" in again.observations(finished)[-1]
        assert again.go_on(run, SUBMIT).status == "submitted"


def test_what_a_dead_process_left_running_is_taken_up_and_the_rest_removed(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    with DataFolder(data_path) as data:
        dead = StudioApp(data, replace(settings, warm_sandboxes=1), engine)
        dead.open()
        assert dead.computers.wait_for_pool(60)
        run = dead.do(bash(f"{INSTALL}; (sleep 1000 &)"), SUBMIT)
        assert dead.computers.wait_for_pool(60)
        assert len(dead.states()) == 2
        bury(dead.computers)
        again = StudioApp(data, settings, engine)
        again.open()
        try:
            wait_until(lambda: again.computers.setup_status.phase == "ready", 60)
            assert set(again.containers()) == {dead.runs.folder(run).sandbox, "proxy"}
            assert again.states() == ["exited"]
            again.go_on(run, bash("tool; pgrep -c sleep"), SUBMIT)
            assert again.observations(run)[-1].endswith("works\n1")
            assert origins(again, run)[-1] == "restarted"
        finally:
            again.close()
            dead.close()


# Clocks


def test_a_clock_that_jumps_removes_nothing(
    studio_app: StudioApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, draft = studio_app.do(bash(INSTALL), SUBMIT), studio_app.runs.create_draft()
    present = time.time
    for days in (30, -30):
        jump = days * 86_400.0
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda jump=jump: present() + jump)
            made = studio_app.runs.create_draft()
            studio_app.runs.run_maintenance()
        assert studio_app.states() == ["running"]
        studio_app.runs.run_maintenance()
        assert studio_app.runs.folder(made).path.exists()
    rest(studio_app)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: present() + 30 * 86_400.0)
        studio_app.computers.remove_expired()
    assert studio_app.states() == ["exited"]
    assert studio_app.runs.folder(draft).path.exists()
    studio_app.go_on(run, bash("tool"), SUBMIT)
    assert "works" in studio_app.observations(run)[-1]
