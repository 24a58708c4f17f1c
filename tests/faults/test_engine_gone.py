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
from tests.faults.private_engine import PrivateEngine, run_private_engine
from tests.faults.studio_app import StudioApp, open_studio_app
from tests.support.models.scripted import SUBMIT, bash
from tests.support.server import wait_until

# The engine's client leaves unconnected sockets to the garbage collector.
_UNRAISABLE = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings(_UNRAISABLE, "ignore::ResourceWarning"),
]

INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept"
LONG_COMMAND = bash(f"{INSTALL}; echo up; sleep 1000")
USE_TOOL_AND_NETWORK = bash(
    "tool; curl -s -m 20 -o /dev/null -w '%{http_code}' http://example.com/"
)
LISTED = NetworkPolicy("listed", ("pypi.org",))
STOP_SECONDS = 20.0


@pytest.fixture(scope="module")
def private_engine(engine: Client, image: str) -> Iterator[PrivateEngine]:
    proxy = ensure_image(engine, dockerfile_path(), lambda _: None, "proxy")
    with run_private_engine([image, proxy], engine) as private_engine:
        yield private_engine
    gc.collect()


@pytest.fixture
def studio_app(
    private_engine: PrivateEngine, settings: Settings, tmp_path: Path
) -> Iterator[StudioApp]:
    client = connect(private_engine.host)
    settings = replace(settings, docker_host=private_engine.host)
    with open_studio_app(tmp_path / "data", settings, client) as studio_app:
        wait_until(lambda: studio_app.provider.setup_status.phase == "ready", 60)
        yield studio_app
    client.close()
    gc.collect()


def start_long_command(studio_app: StudioApp) -> str:
    run = studio_app.start(LONG_COMMAND, USE_TOOL_AND_NETWORK, SUBMIT, network=LISTED)
    studio_app.wait_for_event(run, "tool_output")
    return run


def test_a_run_continues_after_an_engine_restart_during_a_command(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    run = start_long_command(studio_app)
    private_engine.restart()
    assert studio_app.wait_for_end(run).status == "submitted"
    assert studio_app.events_of_type(run, ToolEnded)[0].end_reason == "lost"
    assert "works\n403" in studio_app.observations(run)[1]


def test_a_follow_up_succeeds_after_an_engine_restart_between_rounds(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    run = studio_app.run_to_end(bash(INSTALL), SUBMIT, network=LISTED)
    private_engine.restart()
    assert studio_app.follow_up(run, USE_TOOL_AND_NETWORK, SUBMIT).status == "submitted"
    assert "works\n403" in studio_app.observations(run)[-1]


def test_a_run_waits_for_the_engine_during_preparation(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    private_engine.stop()
    run = studio_app.start(bash("echo on"), SUBMIT)
    wait_until(lambda: any(e.detail for e in studio_app.events_of_type(run, Preparing)))
    private_engine.start()
    assert studio_app.wait_for_end(run).status == "submitted"


def test_a_stop_ends_a_command_after_the_engine_stopped(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    run = start_long_command(studio_app)
    private_engine.stop()
    start_time = time.monotonic()
    studio_app.runs.stop(run)
    assert studio_app.wait_for_end(run).status == "stopped"
    assert time.monotonic() - start_time < STOP_SECONDS
    private_engine.start()
    assert studio_app.follow_up(run, USE_TOOL_AND_NETWORK, SUBMIT).status == "submitted"
    assert "works\n403" in studio_app.observations(run)[-1]
    assert len(studio_app.events_of_type(run, RunEnded)) == 2


def test_a_stop_ends_runs_of_a_frozen_engine(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    run = start_long_command(studio_app)
    private_engine.send_signal(signal.SIGSTOP)
    start_time = time.monotonic()
    preparing_run = studio_app.start(SUBMIT)
    studio_app.wait_for_event(preparing_run, "preparing")
    for each in (run, preparing_run):
        studio_app.runs.stop(each)
    statuses = [studio_app.wait_for_end(each).status for each in (run, preparing_run)]
    assert statuses == ["stopped", "stopped"]
    assert time.monotonic() - start_time < STOP_SECONDS
    private_engine.send_signal(signal.SIGCONT)
    assert studio_app.follow_up(run, USE_TOOL_AND_NETWORK, SUBMIT).status == "submitted"
    assert studio_app.follow_up(preparing_run, bash("echo on"), SUBMIT).status == "submitted"


def test_a_run_without_its_engine_fails_with_advice(
    studio_app: StudioApp, private_engine: PrivateEngine
) -> None:
    run = start_long_command(studio_app)
    private_engine.stop()
    end = studio_app.wait_for_end(run)
    assert end.status == "failed"
    assert "Restart it" in end.reason
    private_engine.start()
    assert studio_app.follow_up(run, USE_TOOL_AND_NETWORK, SUBMIT).status == "submitted"
