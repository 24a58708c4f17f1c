"""Idle sandboxes are stopped, and restarted with their contents."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.events import Notice, RunEnded, SandboxReady, StepStarted
from agent.runs.recorded_run import ORIGIN_MESSAGES
from agent.sandbox.engine.client import Client
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from sandbox_ui.runs.maintenance import IDLE_SECONDS
from sandbox_ui.runs.manager import CLOSED_MESSAGE
from tests.agent.provisioning.test_provider import simulate_crash
from tests.faults.studio_app import OpenApp, StudioApp
from tests.support.models.scripted import SUBMIT, bash
from tests.support.server import wait_until

pytestmark = [pytest.mark.contract, pytest.mark.engine]

INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept; cd input"
USE_TOOL = "tool; echo $x ${PWD##*/}; cat /workspace/output/made"
HTTP_STATUS = "curl -s -m 20 -o /dev/null -w '%{http_code} ' http://"


def stop_idle_sandboxes(studio_app: StudioApp) -> None:
    studio_app.runs.run_maintenance(time.time() + IDLE_SECONDS + 60)


def origins(studio_app: StudioApp, run: str) -> list[str]:
    return [event.origin for event in studio_app.events_of_type(run, SandboxReady)]


def test_an_idle_sandbox_is_stopped_and_a_follow_up_restarts_it(studio_app: StudioApp) -> None:
    run = studio_app.run_to_end(bash(f"echo made > output/made; {INSTALL}"), SUBMIT)
    stop_idle_sandboxes(studio_app)
    assert studio_app.container_statuses() == ["exited"]
    assert studio_app.networks() == []
    studio_app.follow_up(run, bash(USE_TOOL), SUBMIT)
    assert "works\nkept input\nmade" in studio_app.observations(run)[-1]
    assert origins(studio_app, run) == ["new", "restarted"]
    step = studio_app.events_of_type(run, StepStarted)[2]
    assert step.note.startswith(f"\n\n[{ORIGIN_MESSAGES['restarted']}]\n")
    (notice,) = studio_app.events_of_type(run, Notice)
    assert (notice.step, notice.text) == (step.step, ORIGIN_MESSAGES["restarted"])
    assert studio_app.container_statuses() == ["running"]


@pytest.mark.nightly
def test_a_restarted_sandbox_keeps_its_network_policy(studio_app: StudioApp) -> None:
    hosts = f"{HTTP_STATUS}deb.debian.org/; {HTTP_STATUS}example.com/"
    requests = bash(f"{hosts}; env | grep -c ^http_proxy")
    policy = NetworkPolicy("listed", ("deb.debian.org",))
    run = studio_app.run_to_end(requests, SUBMIT, network=policy)
    for _ in range(2):
        stop_idle_sandboxes(studio_app)
        studio_app.follow_up(run, requests, SUBMIT)
    answers = studio_app.observations(run)
    assert "403 1" in answers[0]
    assert answers == [answers[0]] * 3
    assert answers[0].count("403") == 1


@pytest.mark.nightly
def test_an_expired_sandbox_is_removed_and_the_model_is_notified(open_app: OpenApp) -> None:
    with open_app(stopped_days=0.0) as studio_app:
        run = studio_app.run_to_end(bash(f"echo made > output/made; {INSTALL}"), SUBMIT)
        stop_idle_sandboxes(studio_app)
        stop_idle_sandboxes(studio_app)
        assert studio_app.container_statuses() == []
        studio_app.follow_up(run, bash(USE_TOOL), SUBMIT)
        assert "tool: command not found" in studio_app.observations(run)[-1]
        assert "made" in studio_app.observations(run)[-1]
        assert origins(studio_app, run) == ["new", "recreated"]
        assert studio_app.events_of_type(run, Notice)[-1].text == ORIGIN_MESSAGES["recreated"]


@pytest.mark.nightly
def test_a_container_that_cannot_be_restarted_is_recreated(studio_app: StudioApp) -> None:
    run = studio_app.run_to_end(bash("echo made > output/made; rm -rf /usr/bin/python3*"), SUBMIT)
    stop_idle_sandboxes(studio_app)
    old = studio_app.network(run)
    assert studio_app.follow_up(run, bash("cat output/made"), SUBMIT).status == "submitted"
    assert origins(studio_app, run) == ["new", "recreated"]
    assert studio_app.container_statuses() == ["running"]
    assert studio_app.network(run) in studio_app.networks()
    assert old not in studio_app.networks()


def test_deleting_a_run_removes_its_container(studio_app: StudioApp) -> None:
    run = studio_app.run_to_end(SUBMIT)
    stop_idle_sandboxes(studio_app)
    with studio_app.runs.blocked_for_deletion([run]):
        assert studio_app.container_statuses() == []


# Shutdown and startup of the application


def test_shutdown_finishes_the_step_and_stops_sandboxes_that_can_be_restarted(
    open_app: OpenApp,
) -> None:
    with open_app() as studio_app:
        finished = studio_app.run_to_end(bash(INSTALL), SUBMIT)
        run = studio_app.start(bash("echo up; sleep 2; echo done"), bash("echo never"), SUBMIT)
        studio_app.wait_for_event(run, "tool_output")
    end = studio_app.events_of_type(run, RunEnded)[-1]
    assert (end.status, end.reason) == ("stopped", CLOSED_MESSAGE)
    assert studio_app.observations(run)[0].count("done") == 1
    assert set(studio_app.containers()) == {
        studio_app.runs.folder(each).sandbox for each in (finished, run)
    }
    assert studio_app.container_statuses() == ["exited", "exited"]
    assert studio_app.networks() == []
    with open_app() as restarted_app:
        restarted_app.follow_up(finished, bash("tool"), SUBMIT)
        assert "works" in restarted_app.observations(finished)[-1]
        assert restarted_app.follow_up(run, SUBMIT).status == "submitted"


def test_startup_adopts_sandboxes_of_a_dead_process_and_removes_the_rest(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    with DataFolder(data_path) as data:
        dead_app = StudioApp(data, replace(settings, warm_sandboxes=1), engine)
        dead_app.open()
        assert dead_app.provider.wait_for_pool(60)
        run = dead_app.run_to_end(bash(f"{INSTALL}; (sleep 1000 &)"), SUBMIT)
        assert dead_app.provider.wait_for_pool(60)
        assert len(dead_app.container_statuses()) == 2
        simulate_crash(dead_app.provider)
        restarted_app = StudioApp(data, settings, engine)
        restarted_app.open()
        try:
            wait_until(lambda: restarted_app.provider.setup_status.phase == "ready", 60)
            kept = {dead_app.runs.folder(run).sandbox, "proxy"}
            wait_until(lambda: set(restarted_app.containers()) == kept)  # the proxy follows
            assert restarted_app.container_statuses() == ["exited"]
            restarted_app.follow_up(run, bash("tool; pgrep -c sleep"), SUBMIT)
            assert restarted_app.observations(run)[-1].endswith("works\n1")
            assert origins(restarted_app, run)[-1] == "restarted"
        finally:
            restarted_app.close()
            dead_app.close()


def test_a_clock_jump_removes_nothing(
    studio_app: StudioApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, draft = studio_app.run_to_end(bash(INSTALL), SUBMIT), studio_app.runs.create_draft()
    real_time = time.time
    for days in (30, -30):
        jump = days * 86_400.0
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda jump=jump: real_time() + jump)
            new_draft = studio_app.runs.create_draft()
            studio_app.runs.run_maintenance()
        assert studio_app.container_statuses() == ["running"]
        studio_app.runs.run_maintenance()
        assert studio_app.runs.folder(new_draft).path.exists()
    stop_idle_sandboxes(studio_app)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: real_time() + 30 * 86_400.0)
        studio_app.provider.remove_expired()
    assert studio_app.container_statuses() == ["exited"]
    assert studio_app.runs.folder(draft).path.exists()
    studio_app.follow_up(run, bash("tool"), SUBMIT)
    assert "works" in studio_app.observations(run)[-1]
