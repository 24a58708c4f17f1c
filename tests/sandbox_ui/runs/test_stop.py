"""Stop where only the manager of runs can fail: before, between and after the steps of a run.

Every driver of runs is stopped in a turn and in a call in ``tests/contract/continuing``.
"""

import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from agent.events import Event, Preparing, RunEnded
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from agent.sandbox.base import Sandbox
from agent.util.cancellation import Stop
from agent.util.wait import WaitCancelled, run_cancellable
from agent.workspace.paths import RelPath
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.runs.manager import RunManager
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


class HungSandboxProvider(LocalSandboxProvider):
    """A provider whose engine does not respond until ``responding`` is set."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.responding = threading.Event()

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield Preparing(state="starting_sandbox")
        try:
            run_cancellable(self.responding.wait, stop)
        except WaitCancelled:
            return None
        return (yield from super().acquire(folder, stop))


@pytest.fixture
def provider(tmp_path: Path) -> HungSandboxProvider:
    return HungSandboxProvider(tmp_path)


@pytest.fixture
def runs(tmp_path: Path, provider: HungSandboxProvider) -> Iterator[RunManager]:
    runs = RunManager(tmp_path, provider)
    runs.open()
    yield runs
    runs.close()


def start_run(runs: RunManager, endpoint: Endpoint) -> str:
    run = runs.create_draft()
    runs.start(run, Task("Do it."), EndpointModel(ModelConfig(endpoint.url, "m")), Limits())
    return run


def journal_bytes(runs: RunManager, run: str) -> bytes:
    path = runs.folder(run).journal
    return path.read_bytes() if path.exists() else b""


def stop_twice_concurrently(runs: RunManager, run: str) -> None:
    """Stop a run from two threads; it ends exactly once, as stopped."""
    threads = [threading.Thread(target=runs.stop, args=(run,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: b'"kind":"run_ended"' in journal_bytes(runs, run))
    wait_until(lambda: run not in runs.active_runs())
    for thread in threads:
        thread.join()
    events = [event for _, event in journal.read(runs.folder(run).journal)]
    assert [e.status for e in events if isinstance(e, RunEnded)] == ["stopped"]
    assert isinstance(events[-1], RunEnded)


def assert_follow_up_succeeds(runs: RunManager, run: str, endpoint: Endpoint) -> None:
    runs.follow_up(run, "Go on.", EndpointModel(ModelConfig(endpoint.url, "m")), Limits())
    wait_until(lambda: journal_bytes(runs, run).count(b'"kind":"run_ended"') == 2)
    assert b'"status":"submitted"' in journal_bytes(runs, run)


def test_stop_during_sandbox_preparation(runs: RunManager, provider: HungSandboxProvider) -> None:
    with Endpoint([SUBMIT]) as endpoint:
        run = start_run(runs, endpoint)
        wait_until(lambda: b'"kind":"preparing"' in journal_bytes(runs, run))
        stop_twice_concurrently(runs, run)
        provider.responding.set()
        assert_follow_up_succeeds(runs, run, endpoint)


def test_stop_during_a_snapshot(
    runs: RunManager, provider: HungSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.responding.set()
    snapshot_started = threading.Event()
    original_take = SnapshotTracker.take

    def slow_take(self: SnapshotTracker, *, final: bool = False) -> object:
        if not snapshot_started.is_set() and b"tool_ended" in journal_bytes(runs, run):
            snapshot_started.set()
            time.sleep(0.5)
        return original_take(self, final=final)

    monkeypatch.setattr(SnapshotTracker, "take", slow_take)
    with Endpoint([bash("echo 1 > output/1"), SUBMIT]) as endpoint:
        run = runs.create_draft()
        model = EndpointModel(ModelConfig(endpoint.url, "m"))
        runs.start(run, Task("Do it."), model, Limits())
        assert snapshot_started.wait(20)
        stop_twice_concurrently(runs, run)
        assert_follow_up_succeeds(runs, run, endpoint)
    with runs.open_file(run, RelPath("output/1"), 1) as file:
        assert file.read() == b"1\n"


def test_stop_after_the_end_changes_nothing(
    runs: RunManager, provider: HungSandboxProvider
) -> None:
    provider.responding.set()
    with Endpoint([SUBMIT]) as endpoint:
        run = start_run(runs, endpoint)
        wait_until(lambda: b'"kind":"run_ended"' in journal_bytes(runs, run))
        runs.stop(run)
        runs.stop(run)
        wait_until(lambda: run not in runs.active_runs())
    assert journal_bytes(runs, run).count(b'"kind":"run_ended"') == 1
    assert b'"status":"submitted"' in journal_bytes(runs, run)
