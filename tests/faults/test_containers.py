"""Containers killed, removed, paused or out of memory, during and between rounds."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agent.events import RunEnded, SandboxReady, ToolEnded
from agent.provisioning import backend
from agent.sandbox.engine.client import Client
from agent.sandbox.image.build import dockerfile_path, extract_stage, image_tag
from agent.sandbox.network.policy import NetworkPolicy
from tests.faults.studio_app import OpenApp, StudioApp
from tests.support.models.scripted import SUBMIT, bash
from tests.support.server import wait_until

pytestmark = pytest.mark.engine

Fault = Any
LONG = pytest.mark.nightly
LONG_COMMAND = bash("x=kept; echo up; sleep 100")
ECHO_LATER = bash("echo later")
REQUEST_EXAMPLE = bash("curl -s -m 20 -o /dev/null -w '%{http_code}' http://example.com/")


def kill(container: Any) -> None:
    container.kill()


def remove(container: Any) -> None:
    container.remove(force=True)


def pause(container: Any) -> None:
    container.pause()


def start_long_command(studio_app: StudioApp) -> str:
    run = studio_app.start(LONG_COMMAND, bash("echo $x"), SUBMIT)
    studio_app.wait_for_event(run, "tool_output")
    return run


# During a command


@pytest.mark.contract
def test_a_killed_container_is_restarted_and_the_run_continues(studio_app: StudioApp) -> None:
    run = start_long_command(studio_app)
    studio_app.container(run).kill()
    assert studio_app.wait_for_end(run).status == "submitted"
    first, second = studio_app.events_of_type(run, ToolEnded)[:2]
    assert first.end_reason == "lost"
    assert "restarted" in first.observation
    assert "x=kept" not in second.observation


@pytest.mark.contract
def test_a_removed_container_fails_the_run_and_a_follow_up_recreates_it(
    studio_app: StudioApp,
) -> None:
    run = start_long_command(studio_app)
    lost = studio_app.network(run)
    studio_app.container(run).remove(force=True)
    end = studio_app.wait_for_end(run)
    assert end.status == "failed"
    assert "no longer exists" in end.reason
    assert studio_app.follow_up(run, bash("echo on"), SUBMIT).status == "submitted"
    assert "recreated" in studio_app.step_notes(run)
    assert studio_app.network(run) in studio_app.networks()
    assert lost not in studio_app.networks()


@pytest.mark.nightly
def test_a_command_that_runs_out_of_memory_is_reported(open_app: OpenApp) -> None:
    with open_app(memory=128 * 1024**2) as studio_app:
        use_one_gibibyte = "python3 -c 'x = bytearray(1 << 30)'"
        run = studio_app.run_to_end(
            bash(use_one_gibibyte), bash("cat /dev/zero | tail"), bash("echo on"), SUBMIT
        )
        observations = studio_app.observations(run)
        assert ["ran out of memory" in each for each in observations] == [True, True, False]
        assert studio_app.events_of_type(run, RunEnded)[-1].status == "submitted"


@pytest.mark.contract
@pytest.mark.parametrize(
    "fault", [pytest.param(kill, marks=LONG), pytest.param(remove, marks=LONG), pause]
)
def test_a_stop_ends_a_run_after_a_container_fault(studio_app: StudioApp, fault: Fault) -> None:
    run = start_long_command(studio_app)
    fault(studio_app.container(run))
    start_time = time.monotonic()
    stop_threads = [threading.Thread(target=studio_app.runs.stop, args=(run,)) for _ in range(2)]
    for thread in stop_threads:
        thread.start()
    end = studio_app.wait_for_end(run)
    assert time.monotonic() - start_time < 30
    assert end.status in ("stopped", "failed" if fault is remove else "stopped")
    assert len(studio_app.events_of_type(run, RunEnded)) == 1
    assert studio_app.follow_up(run, ECHO_LATER, SUBMIT).status == "submitted"
    assert "later" in studio_app.observations(run)[-1]


@pytest.mark.nightly
def test_a_short_pause_of_the_container_loses_no_output(studio_app: StudioApp) -> None:
    run = studio_app.start(bash("echo up; sleep 1; echo done"), SUBMIT)
    studio_app.wait_for_event(run, "tool_output")
    container = studio_app.container(run)
    container.pause()
    time.sleep(0.3)
    container.unpause()
    assert studio_app.wait_for_end(run).status == "submitted"
    assert "done" in studio_app.observations(run)[0]


# Between rounds


@pytest.mark.nightly
@pytest.mark.parametrize("fault", [kill, remove, pause])
def test_a_follow_up_succeeds_after_a_container_fault(studio_app: StudioApp, fault: Fault) -> None:
    run = studio_app.run_to_end(bash("echo made > output/made"), SUBMIT)
    fault(studio_app.container(run))
    assert studio_app.follow_up(run, bash("cat output/made"), SUBMIT).status == "submitted"
    assert "made" in studio_app.observations(run)[-1]
    origins = [event.origin for event in studio_app.events_of_type(run, SandboxReady)]
    assert origins[1:] == {kill: ["restarted"], remove: ["recreated"], pause: []}[fault]


@pytest.mark.nightly
@pytest.mark.parametrize("fault", [kill, remove])
def test_a_faulty_warm_sandbox_is_not_given_to_a_run(open_app: OpenApp, fault: Fault) -> None:
    with open_app(warm_sandboxes=1) as studio_app:
        assert studio_app.provider.wait_for_pool(60)
        (warm,) = (each for name, each in studio_app.containers().items() if name != "proxy")
        fault(warm)
        wait_until(lambda: warm.id not in studio_app.running_container_ids())
        run = studio_app.run_to_end(bash("echo on"), SUBMIT)
        assert "[STDERR]" not in studio_app.observations(run)[0]
        assert "restarted" not in studio_app.observations(run)[0]
        assert not studio_app.events_of_type(run, SandboxReady)[0].pooled


@pytest.mark.nightly
@pytest.mark.parametrize("fault", [kill, remove, pause])
def test_the_network_policy_is_enforced_after_a_proxy_fault(
    studio_app: StudioApp, fault: Fault
) -> None:
    policy = NetworkPolicy("listed", ("pypi.org",))
    run = studio_app.run_to_end(REQUEST_EXAMPLE, SUBMIT, network=policy)
    fault(studio_app.containers()["proxy"])
    retry_request = bash("for i in $(seq 60); do curl -s -m 5 -o /dev/null -w '%{http_code}' "
                 "http://example.com/ && break; sleep 0.3; done")  # fmt: skip
    studio_app.follow_up(run, retry_request, SUBMIT)
    assert all("403\n[" in each for each in studio_app.observations(run))
    assert all("refused example.com" in each for each in studio_app.observations(run))


@pytest.mark.nightly
def test_a_removed_image_is_rebuilt(
    open_app: OpenApp, image: str, engine: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "Dockerfile"
    proxy = extract_stage(dockerfile_path(), "proxy")
    small.write_text(f"FROM {image} AS sandbox\nRUN echo {tmp_path.name}\n{proxy}")
    monkeypatch.setattr(backend, "dockerfile_path", lambda: small)
    with open_app(image="") as studio_app:
        run = studio_app.run_to_end(bash("echo 1 > output/1"), SUBMIT)
        engine.images.remove(image_tag(small), force=True)
        studio_app.container(run).remove(force=True)
        assert studio_app.follow_up(run, bash("cat output/1"), SUBMIT).status == "submitted"
        assert studio_app.events_of_type(run, RunEnded)[-1].reason == ""
        other = studio_app.run_to_end(bash("echo on"), SUBMIT)
        assert "on" in studio_app.observations(other)[0]
    engine.images.remove(image_tag(small), force=True)
