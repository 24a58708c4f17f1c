"""The workspace watcher: change hints from inotify on real files."""

import errno
import os
import queue
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.workspace.paths import ROOT, RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import DirtySet, HintCollector, SweepNeeded, WorkspaceWatcher
from tests.support.workspaces import full_scan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def watch(root: Path) -> Iterator[WorkspaceWatcher]:
    with WorkspaceWatcher(root.parent) as watcher:
        yield watcher


def take_dirty_set(watch: WorkspaceWatcher) -> DirtySet:
    hints = watch.take_changes()
    assert isinstance(hints, DirtySet), hints
    return hints


def test_a_query_includes_all_earlier_events_but_no_reading(
    root: Path, watch: WorkspaceWatcher
) -> None:
    for name in (os.fsdecode(b"\xff\n"), *map(str, range(200))):
        (root / name).write_text("x")
        assert name in take_dirty_set(watch).entries
    (root / "0").read_text()
    list(root.iterdir())
    assert take_dirty_set(watch) == DirtySet()


def test_writes_are_distinguished_from_moves_and_removals(
    root: Path, watch: WorkspaceWatcher
) -> None:
    (root / "a").write_text("x")
    (root / "b").write_text("x")
    take_dirty_set(watch)
    (root / "a").rename(root / "c")
    (root / "b").chmod(0o600)
    assert take_dirty_set(watch).entries == {"a": False, "c": False, "b": True}


def test_a_new_folder_is_scanned_and_watched(root: Path, watch: WorkspaceWatcher) -> None:
    deep = root / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "early").write_text("x")
    assert "a" in take_dirty_set(watch).trees
    (deep / "late").write_text("x")
    assert take_dirty_set(watch).entries == {"a/b/c/late": True}


def test_a_renamed_folder_is_followed_under_its_new_name(
    root: Path, watch: WorkspaceWatcher
) -> None:
    (root / "a" / "b").mkdir(parents=True)
    take_dirty_set(watch)
    (root / "a").rename(root / "z")
    assert "z" in take_dirty_set(watch).trees
    (root / "z" / "b" / "x").write_text("x")
    assert take_dirty_set(watch).entries == {"z/b/x": True}


def test_a_folder_moved_into_a_new_folder_is_followed(root: Path, watch: WorkspaceWatcher) -> None:
    for number in range(50):
        (root / "x").mkdir()
        (root / f"new{number}").mkdir()
        (root / "x").rename(root / f"new{number}" / "y")
    take_dirty_set(watch)
    for number in range(50):
        (root / f"new{number}" / "y" / "file").write_text("x")
    assert set(take_dirty_set(watch).entries) == {f"new{number}/y/file" for number in range(50)}


def test_a_folder_replaced_by_a_link_is_not_followed(root: Path, watch: WorkspaceWatcher) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "d").mkdir()
    take_dirty_set(watch)
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    take_dirty_set(watch)
    (outside / "secret-name").write_text("x")
    assert take_dirty_set(watch) == DirtySet()


def test_a_folder_that_becomes_readable_is_watched(root: Path, watch: WorkspaceWatcher) -> None:
    (root / "d").mkdir(mode=0)
    take_dirty_set(watch)
    (root / "d").chmod(0o755)
    (root / "d" / "x").write_text("x")
    hints = take_dirty_set(watch)
    assert "d" in hints.trees or "d/x" in hints.entries


def test_a_queue_overflow_requests_a_sweep_and_recovers(
    root: Path, watch: WorkspaceWatcher
) -> None:
    """The reader is held up until the queue ran over; then it goes on as before."""
    (root / "busy").touch()
    held, go_on = threading.Event(), threading.Event()
    on_event = watch.on_event

    def slow(event: object) -> None:
        held.set()
        go_on.wait(60)
        on_event(event)  # type: ignore[arg-type]

    watch.on_event = slow  # type: ignore[method-assign]
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (root / "first").touch()
    assert held.wait(10)
    for number in range(limit // 3 + 100):
        (root / f"f{number % 2}").touch()
        (root / f"f{number % 2}").unlink()
    (root / "lost").mkdir()
    (root / "lost" / "file").write_text("x")
    go_on.set()
    watch.on_event = on_event  # type: ignore[method-assign]
    hints = watch.take_changes()
    assert isinstance(hints, SweepNeeded)
    assert "did not catch up" in hints.reason or "ran over" in hints.reason
    while isinstance(watch.take_changes(), SweepNeeded):
        continue
    (root / "lost" / "file").write_text("seen again")
    assert take_dirty_set(watch).entries == {"lost/file": True}


def test_an_unresponsive_or_closed_watcher_requests_a_sweep(root: Path) -> None:
    watch = WorkspaceWatcher(root.parent)
    shutil.rmtree(root.parent / "marker")
    assert isinstance(watch.take_changes(timeout=0.05), SweepNeeded)
    watch.close()
    watch.close()
    assert isinstance(watch.take_changes(), SweepNeeded)


def test_too_many_folders_require_sweeps_and_are_reported(root: Path) -> None:
    with WorkspaceWatcher(root.parent, max_folders=5) as watch:
        for number in range(10):
            (root / f"d{number}").mkdir()
        snapshots = SnapshotTracker(root, BlobStore(root.parent / "blobs"), watch, sweep_below=0)
        while not watch.degraded_reason:
            watch.take_changes()
        assert "too many folders" in watch.degraded_reason
        (root / "d9" / "x").write_text("x")
        snapshots.take()
        assert snapshots.manifest.nodes == full_scan(root)


@pytest.mark.parametrize(
    ("code", "message"), [(errno.ENOSPC, "max_user_watches"), (errno.EMFILE, "max_user_instances")]
)
def test_an_exhausted_watch_limit_requires_sweeps_and_is_reported(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    """The kernel's limits apply to the whole machine, so the test replaces the failing call."""

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    call = "_create_inotify_fd" if code == errno.EMFILE else "_get_or_create_watch"
    monkeypatch.setattr(f"watchdog.observers.inotify_c.InotifyFD.{call}", refuse)
    with WorkspaceWatcher(root.parent) as watch:
        assert message in watch.degraded_reason
        snapshots = SnapshotTracker(root, BlobStore(root.parent / "b"), watch, sweep_below=0)
        snapshots.take()
        (root / "a").write_text("x")
        assert list(snapshots.take().changed) == ["a"]


@pytest.mark.contract
def test_the_page_is_notified_of_changed_folders_and_many_changes_are_summarized(
    root: Path,
) -> None:
    notifications: queue.Queue[frozenset[RelPath]] = queue.Queue()
    (root / "a").mkdir()
    with WorkspaceWatcher(root.parent, notifications.put, interval=0.3) as watch:
        (root / "x").write_text("x")
        (root / "a" / "y").write_text("x")
        notified: set[RelPath] = set()
        while notified != {ROOT, "a"}:
            notified |= notifications.get(timeout=10)
        for number in range(2000):
            (root / "a" / f"{number}").touch()
        take_dirty_set(watch)
        assert notifications.get(timeout=10) == {"a"}
        assert notifications.qsize() <= 20


def test_too_many_hints_become_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.workspace.versions.watch.MAX_HINTS", 10)
    collector = HintCollector()
    for number in range(12):
        collector.add(str(number), written=True)
    assert isinstance(collector.take(), SweepNeeded)
    assert collector.take() == DirtySet()
