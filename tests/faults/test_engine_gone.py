"""The container engine restarted, killed or frozen, in a run and between two."""

import gc
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.events import Preparing, RunEnded, ToolEnded
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings
from tests.faults.own_engine import OwnEngine, own_engine
from tests.faults.studio_app import SUBMIT, StudioApp, bash, open_studio_app
from tests.support.server import wait_until

# The engine's client leaves sockets behind, to be collected, that could not be connected.
_COLLECTED = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [
    pytest.mark.engine,
    pytest.mark.long,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings(_COLLECTED, "ignore::ResourceWarning"),
]

INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept"
BUSY = bash(f"{INSTALL}; echo up; sleep 1000")
USE = bash("tool; curl -s -m 20 -o /dev/null -w '%{http_code}' http://example.com/")
SOON = 20.0


@pytest.fixture(scope="module")
def own(engine: Client, image: str) -> Iterator[OwnEngine]:
    proxy = ensure_image(engine, dockerfile_path(), lambda _: None, "proxy")
    with own_engine([image, proxy], engine) as own:
        yield own
    gc.collect()


@pytest.fixture
def studio_app(own: OwnEngine, settings: Settings, tmp_path: Path) -> Iterator[StudioApp]:
    client = connect(own.host)
    with open_studio_app(
        tmp_path / "data", replace(settings, docker_host=own.host), client
    ) as studio_app:
        wait_until(lambda: studio_app.computers.setup_status.phase == "ready", 60)
        yield studio_app
    client.close()
    gc.collect()


def busy(studio_app: StudioApp) -> str:
    run = studio_app.start(BUSY, USE, SUBMIT, network=NetworkPolicy("listed", ("pypi.org",)))
    studio_app.wait_for(run, "tool_output")
    return run


def test_restarted_in_a_command_the_run_goes_on(studio_app: StudioApp, own: OwnEngine) -> None:
    run = busy(studio_app)
    own.restart()
    assert studio_app.end(run).status == "submitted"
    assert studio_app.found(run, ToolEnded)[0].ending == "lost"
    assert "works\n403" in studio_app.observations(run)[1]


def test_restarted_between_two_rounds_a_message_goes_on(
    studio_app: StudioApp, own: OwnEngine
) -> None:
    run = studio_app.do(bash(INSTALL), SUBMIT, network=NetworkPolicy("listed", ("pypi.org",)))
    own.restart()
    assert studio_app.go_on(run, USE, SUBMIT).status == "submitted"
    assert "works\n403" in studio_app.observations(run)[-1]


def test_it_comes_back_while_a_run_is_being_prepared(studio_app: StudioApp, own: OwnEngine) -> None:
    own.end()
    run = studio_app.start(bash("echo on"), SUBMIT)
    wait_until(lambda: any(e.detail for e in studio_app.found(run, Preparing)))
    own.start()
    assert studio_app.end(run).status == "submitted"


def test_a_stop_ends_a_command_whose_engine_is_dead(studio_app: StudioApp, own: OwnEngine) -> None:
    run = busy(studio_app)
    own.end()
    begun = time.monotonic()
    studio_app.runs.stop(run)
    assert studio_app.end(run).status == "stopped"
    assert time.monotonic() - begun < SOON
    own.start()
    assert studio_app.go_on(run, USE, SUBMIT).status == "submitted"
    assert "works\n403" in studio_app.observations(run)[-1]
    assert len(studio_app.found(run, RunEnded)) == 2


def test_a_stop_ends_a_run_whose_engine_is_frozen(studio_app: StudioApp, own: OwnEngine) -> None:
    run = busy(studio_app)
    own.send(signal.SIGSTOP)
    begun = time.monotonic()
    waiting = studio_app.start(SUBMIT)
    studio_app.wait_for(waiting, "preparing")
    for each in (run, waiting):
        studio_app.runs.stop(each)
    assert [studio_app.end(each).status for each in (run, waiting)] == ["stopped", "stopped"]
    assert time.monotonic() - begun < SOON
    own.send(signal.SIGCONT)
    assert studio_app.go_on(run, USE, SUBMIT).status == "submitted"
    assert studio_app.go_on(waiting, bash("echo on"), SUBMIT).status == "submitted"


def test_one_that_stays_away_ends_the_run_with_what_to_do(
    studio_app: StudioApp, own: OwnEngine
) -> None:
    run = busy(studio_app)
    own.end()
    end = studio_app.end(run)
    assert end.status == "failed"
    assert "Restart it" in end.reason
    own.start()
    assert studio_app.go_on(run, USE, SUBMIT).status == "submitted"
