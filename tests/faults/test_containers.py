"""Containers that are killed, removed, paused or out of memory, in a run and between two."""

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import RunEnded, SandboxReady, ToolEnded
from agent.sandbox.engine.client import Client
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from tests.faults.studio_app import SUBMIT, StudioApp, bash, open_studio_app
from tests.support.server import wait_until

pytestmark = pytest.mark.engine

Fault = Any
LONG = pytest.mark.long
BUSY = bash("x=kept; echo up; sleep 100")
LATER = bash("echo later")
ASK = bash("curl -s -m 20 -o /dev/null -w '%{http_code}' http://example.com/")


def kill(container: Any) -> None:
    container.kill()


def remove(container: Any) -> None:
    container.remove(force=True)


def pause(container: Any) -> None:
    container.pause()


def busy(studio_app: StudioApp) -> str:
    """A run in the middle of a command."""
    run = studio_app.start(BUSY, bash("echo $x"), SUBMIT)
    studio_app.wait_for(run, "tool_output")
    return run


# In the middle of a command


def test_killed_it_is_started_again_and_the_run_goes_on(studio_app: StudioApp) -> None:
    run = busy(studio_app)
    studio_app.container(run).kill()
    assert studio_app.end(run).status == "submitted"
    first, second = studio_app.found(run, ToolEnded)[:2]
    assert first.ending == "lost"
    assert "restarted" in first.observation
    assert "x=kept" not in second.observation


def test_removed_it_ends_the_run_and_a_message_makes_another(studio_app: StudioApp) -> None:
    run = busy(studio_app)
    studio_app.container(run).remove(force=True)
    end = studio_app.end(run)
    assert end.status == "failed"
    assert "no longer exists" in end.reason
    assert studio_app.go_on(run, bash("echo on"), SUBMIT).status == "submitted"
    assert "recreated" in studio_app.conversation(run)
    assert len(studio_app.networks()) == 1


@pytest.mark.long
def test_out_of_memory_its_command_says_so(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    small = replace(settings, memory=128 * 1024**2)
    with open_studio_app(data_path, small, engine) as studio_app:
        eat = "python3 -c 'x = bytearray(1 << 30)'"
        run = studio_app.do(bash(eat), bash("cat /dev/zero | tail"), bash("echo on"), SUBMIT)
        told = studio_app.observations(run)
        assert ["ran out of memory" in each for each in told] == [True, True, False]
        assert studio_app.found(run, RunEnded)[-1].status == "submitted"


@pytest.mark.parametrize(
    "fault", [pytest.param(kill, marks=LONG), pytest.param(remove, marks=LONG), pause]
)
def test_a_stop_ends_a_run_whose_container_was(studio_app: StudioApp, fault: Fault) -> None:
    run = busy(studio_app)
    fault(studio_app.container(run))
    begun = time.monotonic()
    hands = [threading.Thread(target=studio_app.runs.stop, args=(run,)) for _ in range(2)]
    for hand in hands:
        hand.start()
    end = studio_app.end(run)
    assert time.monotonic() - begun < 30
    assert end.status in ("stopped", "failed" if fault is remove else "stopped")
    assert len(studio_app.found(run, RunEnded)) == 1
    assert studio_app.go_on(run, LATER, SUBMIT).status == "submitted"
    assert "later" in studio_app.observations(run)[-1]


@pytest.mark.long
def test_paused_for_a_while_it_loses_nothing(studio_app: StudioApp) -> None:
    run = studio_app.start(bash("echo up; sleep 1; echo done"), SUBMIT)
    studio_app.wait_for(run, "tool_output")
    container = studio_app.container(run)
    container.pause()
    time.sleep(0.3)
    container.unpause()
    assert studio_app.end(run).status == "submitted"
    assert "done" in studio_app.observations(run)[0]


# Between two rounds


@pytest.mark.long
@pytest.mark.parametrize("fault", [kill, remove, pause])
def test_a_message_goes_on_after_its_container_was(studio_app: StudioApp, fault: Fault) -> None:
    run = studio_app.do(bash("echo made > output/made"), SUBMIT)
    fault(studio_app.container(run))
    assert studio_app.go_on(run, bash("cat output/made"), SUBMIT).status == "submitted"
    assert "made" in studio_app.observations(run)[-1]
    origins = [event.origin for event in studio_app.found(run, SandboxReady)]
    assert (
        origins[1:] == {"kill": ["restarted"], "remove": ["recreated"], "pause": []}[fault.__name__]
    )


@pytest.mark.long
@pytest.mark.parametrize("fault", [kill, remove])
def test_a_warm_sandbox_that_was_is_not_given_to_a_run(
    data_path: Path, settings: Settings, engine: Client, fault: Fault
) -> None:
    with open_studio_app(data_path, replace(settings, warm_sandboxes=1), engine) as studio_app:
        assert studio_app.computers.wait_for_pool(60)
        (warm,) = (each for name, each in studio_app.containers().items() if name != "proxy")
        fault(warm)
        wait_until(lambda: warm.id not in studio_app.running())
        run = studio_app.do(bash("echo on"), SUBMIT)
        assert "[STDERR]" not in studio_app.observations(run)[0]
        assert "restarted" not in studio_app.observations(run)[0]
        assert not studio_app.found(run, SandboxReady)[0].pooled


# The proxy


@pytest.mark.long
@pytest.mark.parametrize("fault", [kill, remove, pause])
def test_the_way_out_comes_back_as_it_was_after_the_proxy_was(
    studio_app: StudioApp, fault: Fault
) -> None:
    run = studio_app.do(ASK, SUBMIT, network=NetworkPolicy("listed", ("pypi.org",)))
    proxy = studio_app.containers()["proxy"]
    fault(proxy)
    again = bash("for i in $(seq 60); do curl -s -m 5 -o /dev/null -w '%{http_code}' "
                 "http://example.com/ && break; sleep 0.3; done")  # fmt: skip
    studio_app.go_on(run, again, SUBMIT)
    assert all("403\n[" in each for each in studio_app.observations(run))
    assert all("refused example.com" in each for each in studio_app.observations(run))


# The image


@pytest.mark.long
def test_an_image_that_was_removed_is_made_again(
    data_path: Path, settings: Settings, engine: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = data_path.parent / "Dockerfile"
    small.write_text(f"FROM {settings.image} AS sandbox\nRUN echo {data_path.name}\n")
    from agent.provisioning import backend
    from agent.sandbox.image.build import dockerfile_path, extract_stage, image_tag

    small.write_text(small.read_text() + extract_stage(dockerfile_path(), "proxy"))
    monkeypatch.setattr(backend, "dockerfile_path", lambda: small)
    with open_studio_app(data_path, replace(settings, image=""), engine) as studio_app:
        run = studio_app.do(bash("echo 1 > output/1"), SUBMIT)
        engine.images.remove(image_tag(small), force=True)
        studio_app.container(run).remove(force=True)
        assert studio_app.go_on(run, bash("cat output/1"), SUBMIT).status == "submitted"
        assert studio_app.found(run, RunEnded)[-1].reason == ""
        other = studio_app.do(bash("echo on"), SUBMIT)
        assert "on" in studio_app.observations(other)[0]
    engine.images.remove(image_tag(small), force=True)
