"""Stop where only the manager of runs can fail: before, between and after the steps of a run.

Every driver of runs is stopped in a turn and in a call in ``tests/contract/continuing``.
"""

import threading
import time
from pathlib import Path

import pytest

from agent.events import Preparing
from agent.workspace.paths import RelPath
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.runs.manager import RunManager
from tests.sandbox_ui.managed_runs import (
    events,
    follow_up,
    start,
    wait_for_end,
    wait_for_event,
)
from tests.support.models.scripted import SUBMIT, bash
from tests.support.page_states import StagedProvider
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


@pytest.fixture
def provider(tmp_path: Path) -> StagedProvider:
    """A provider whose sandbox is not ready before its gate is set."""
    provider = StagedProvider(tmp_path)
    provider.stages = (Preparing(state="starting_sandbox"),)
    return provider


def stop_twice_concurrently(runs: RunManager, run: str) -> None:
    """Stop a run from two threads; it ends exactly once, as stopped."""
    threads = [threading.Thread(target=runs.stop, args=(run,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert wait_for_end(runs, run).status == "stopped"
    wait_until(lambda: run not in runs.active_runs())
    for thread in threads:
        thread.join()
    assert wait_for_end(runs, run).status == "stopped"


def assert_follow_up_succeeds(runs: RunManager, run: str) -> None:
    follow_up(runs, run, SUBMIT)
    assert wait_for_end(runs, run, 2).status == "submitted"


def test_stop_during_sandbox_preparation(runs: RunManager, provider: StagedProvider) -> None:
    run = start(runs, SUBMIT)
    wait_for_event(runs, run, "preparing")
    stop_twice_concurrently(runs, run)
    provider.gate.set()
    assert_follow_up_succeeds(runs, run)


def test_stop_during_a_snapshot(
    runs: RunManager, provider: StagedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.gate.set()
    snapshot_started = threading.Event()
    original = SnapshotTracker.list_changes

    def slow_listing(self: SnapshotTracker, *, final: bool = False) -> object:
        if not snapshot_started.is_set() and any(e.kind == "tool_ended" for e in events(runs, run)):
            snapshot_started.set()
            time.sleep(0.5)
        return original(self, final=final)

    monkeypatch.setattr(SnapshotTracker, "list_changes", slow_listing)
    run = start(runs, bash("echo 1 > output/1"), SUBMIT)
    assert snapshot_started.wait(20)
    stop_twice_concurrently(runs, run)
    assert_follow_up_succeeds(runs, run)
    with runs.open_file(run, RelPath("output/1"), 1) as file:
        assert file.read() == b"1\n"


def test_stop_after_the_end_changes_nothing(runs: RunManager, provider: StagedProvider) -> None:
    provider.gate.set()
    run = start(runs, SUBMIT)
    wait_for_end(runs, run)
    runs.stop(run)
    runs.stop(run)
    wait_until(lambda: run not in runs.active_runs())
    assert wait_for_end(runs, run).status == "submitted"
