"""The manifest after each step, compared with an independent full scan."""

import mmap
import os
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.versions import snapshots
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, Manifest, Node
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher
from tests.support.hostile.hostile_workspace import make_deep_folders
from tests.support.hostile.ordinary_user import as_ordinary_user, let_others_enter
from tests.support.threads import repeated
from tests.support.workspaces import full_scan


class SnapshotScene:
    """A workspace with a snapshot tracker, with a watcher or with sweeps only."""

    def __init__(self, folder: Path, watch: WorkspaceWatcher | None = None) -> None:
        self.root = folder / "workspace"
        self.blobs = BlobStore(folder / "blobs")
        self.snapshots = SnapshotTracker(self.root, self.blobs, watch, sweep_below=0)
        self.deltas: list[Delta] = [self.snapshots.take()]

    def step(self, *, final: bool = False) -> Delta:
        """Take a snapshot, which must equal a full scan and have stored contents."""
        delta = self.snapshots.take(final=final)
        self.deltas.append(delta)
        scanned = full_scan(self.root)
        assert self.snapshots.manifest.nodes == scanned
        assert Manifest.from_deltas(self.deltas).nodes == scanned
        for node in delta.changed.values():
            if node.hash and node.stored:
                with self.blobs.open(node.hash) as file:
                    assert len(file.read()) == node.size
        return delta


@pytest.fixture(params=["watched", "swept"])
def scene(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SnapshotScene]:
    monkeypatch.setattr(snapshots, "FIRST_FILES", 2)
    (tmp_path / "workspace").mkdir()
    if request.param == "swept":
        yield SnapshotScene(tmp_path)
    else:
        with WorkspaceWatcher(tmp_path) as watch:
            yield SnapshotScene(tmp_path, watch)


watched = pytest.mark.parametrize("scene", ["watched"], indirect=True)


@pytest.mark.contract
def test_every_file_type_is_recorded_without_following_links(scene: SnapshotScene) -> None:
    root = scene.root
    (root / "empty").mkdir()
    (root / "out").symlink_to("/etc")
    (root / "raw").symlink_to(os.fsdecode(b"\xff/nowhere"))
    os.mkfifo(root / "pipe")
    with chdir(root), socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    delta = scene.step()
    assert {path: node.kind for path, node in delta.changed.items()} == {
        "empty": "folder",
        "out": "link",
        "raw": "link",
        "pipe": "fifo",
        "socket": "socket",
        os.fsdecode(b"caf\xe9"): "file",
    }
    assert Delta.from_json(delta.to_json()) == delta


def test_a_step_without_changes_is_empty_and_keeps_the_nodes(scene: SnapshotScene) -> None:
    (scene.root / "a").write_text("x")
    take_until_cached(scene)
    before = scene.snapshots.manifest.nodes["a"]
    assert not scene.step()
    assert not scene.step(final=True)
    assert scene.snapshots.manifest.nodes["a"] is before


def test_only_changed_files_are_read(scene: SnapshotScene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (scene.root / name).write_text(name)
        os.utime(scene.root / name, (1, 1))
    take_until_cached(scene)
    put = Mock(wraps=scene.blobs.put)
    monkeypatch.setattr(scene.blobs, "put", put)
    (scene.root / "b").write_text("changed")
    assert list(scene.step().changed) == ["b"]
    assert put.call_count == 1


def take_until_cached(scene: SnapshotScene) -> None:
    """Take snapshots until no file is so recent that it must be read again."""
    while len(scene.snapshots._cache) < len(full_scan(scene.root)):
        scene.step(final=True)


def test_listing_reads_few_files_and_what_changes_before_it_is_stored_is_not_the_steps(
    scene: SnapshotScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Mock(wraps=scene.blobs.put)
    monkeypatch.setattr(scene.blobs, "put", put)
    for name in "abcdefgh":
        (scene.root / name).write_text("the step's")
    listed = scene.snapshots.list_changes()
    assert put.call_count == snapshots.FIRST_FILES
    assert (len(listed.changed), scene.snapshots.is_complete) == (8, False)
    (scene.root / "f").unlink()
    set_later(scene.root / "h", "another's")
    delta = scene.snapshots.complete(listed)
    scene.deltas.append(delta)
    assert set(delta.changed) == set("abcdegh")
    assert [path for path, node in delta.changed.items() if not node.stored] == ["h"]
    assert {"h"} == set(scene.step().changed)


def set_later(file: Path, text: str) -> None:
    """Write a file after the clock of the file system, which stands for some ms, has gone on."""
    now = time.time_ns()
    while file.stat().st_ctime_ns <= now:
        file.write_text(text)


def test_a_new_file_that_is_removed_before_it_is_read_is_no_change(
    scene: SnapshotScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = SnapshotTracker._read_first

    def remove_and_read(tracker: SnapshotTracker, root: int, changed: dict[str, Node]) -> None:
        (scene.root / "temporary").unlink()
        read(tracker, root, changed)

    (scene.root / "temporary").touch()
    monkeypatch.setattr(SnapshotTracker, "_read_first", remove_and_read)
    assert scene.step() == Delta({}, ())


def test_a_change_with_equal_size_and_mtime_is_detected_by_ctime(scene: SnapshotScene) -> None:
    file = scene.root / "a"
    file.write_text("one")
    take_until_cached(scene)
    times = file.stat()
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert list(scene.step().changed) == ["a"]


def test_two_changes_within_one_clock_tick_are_detected(scene: SnapshotScene) -> None:
    file = scene.root / "a"
    for number in range(50):
        file.write_text(f"{number:03}")
        scene.step(final=True)


def test_a_change_of_mode_alone_is_a_change_and_touching_is_none(scene: SnapshotScene) -> None:
    (scene.root / "folder").mkdir()
    (scene.root / "folder" / "tool").write_text("x")
    scene.step()
    os.utime(scene.root / "folder" / "tool")
    assert not scene.step()
    (scene.root / "folder" / "tool").chmod(0o4755)
    (scene.root / "folder").chmod(0o700)
    assert set(scene.step().changed) == {"folder", "folder/tool"}


@watched
def test_a_write_through_another_hard_link_is_detected_even_if_it_is_removed(
    scene: SnapshotScene,
) -> None:
    root = scene.root
    (root / "a").write_text("one")
    scene.step()
    os.link(root / "a", root / "b")
    for content in ("two", "three"):
        (root / "b").write_text(content)
        assert set(scene.step().changed) == {"a", "b"}
    (root / "b").write_text("four")
    (root / "b").unlink()
    assert set(scene.step().changed) == {"a"}
    (root / "folder").mkdir()
    os.link(root / "a", root / "folder" / "b")
    (root / "folder" / "b").write_text("five")
    shutil.rmtree(root / "folder")
    assert set(scene.step().changed) == {"a"}


@watched
def test_a_write_through_a_descriptor_without_a_name_is_detected(scene: SnapshotScene) -> None:
    root = scene.root
    with (root / "a").open("w") as file:
        file.write("one")
        file.flush()
        os.link(root / "a", root / "b")
        (root / "a").unlink()
        scene.step()
        file.write("two")
        file.flush()
        assert set(scene.step().changed) == {"b"}


@watched
def test_a_write_through_a_memory_map_is_detected_by_the_final_sweep(
    scene: SnapshotScene,
) -> None:
    file = scene.root / "a"
    file.write_bytes(b"one")
    take_until_cached(scene)
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 3) as mapped:
        scene.snapshots.take()
        mapped[:] = b"two"
        mapped.flush()
        assert list(scene.step(final=True).changed) == ["a"]


@watched
def test_hints_avoid_a_sweep(scene: SnapshotScene) -> None:
    (scene.root / "d").mkdir()
    scene.step()
    sweeps = scene.snapshots.sweeps
    for number in range(20):
        (scene.root / "d" / f"{number}").write_text("x")
        scene.step()
    (scene.root / "d").rename(scene.root / "e")
    scene.step()
    shutil.rmtree(scene.root / "e")
    scene.step()
    assert scene.snapshots.sweeps == sweeps
    scene.step(final=True)
    assert scene.snapshots.sweeps == sweeps + 1


def test_a_small_workspace_is_always_swept(workspace: Workspace, tmp_path: Path) -> None:
    with WorkspaceWatcher(workspace.root.parent) as watch:
        snapshots = SnapshotTracker(workspace.root, BlobStore(tmp_path / "blobs"), watch)
        for expected in (1, 2, 3):
            snapshots.take()
            assert snapshots.sweeps == expected


def test_oversized_and_sparse_files_are_recorded_without_content(
    scene: SnapshotScene,
) -> None:
    with (scene.root / "huge").open("wb") as file:
        file.truncate(1024**4)
    node = scene.snapshots.take().changed["huge"]
    assert (node.size, node.hash, node.stored) == (1024**4, None, False)
    assert "larger than 64 MB" in node.reason


def test_a_full_store_is_recorded_with_the_hash(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "a").write_bytes(b"x" * 100)
    snapshots = SnapshotTracker(workspace.root, BlobStore(tmp_path / "blobs", limit=10))
    node = snapshots.take().changed["a"]
    assert node.hash is not None
    assert (node.stored, "full" in node.reason) == (False, True)
    assert not snapshots.take(final=True)


def test_unreadable_files_are_recorded_as_unreadable(scene: SnapshotScene) -> None:
    (scene.root / "closed").write_text("x")
    (scene.root / "closed").chmod(0)
    (scene.root / "shut").mkdir()
    (scene.root / "shut" / "x").write_text("x")
    (scene.root / "shut").chmod(0)
    let_others_enter(scene.root / "shut")
    scene.root.chmod(0o755)
    (scene.root.parent / "blobs").mkdir()
    (scene.root.parent / "blobs").chmod(0o777)
    with as_ordinary_user():
        changed = scene.snapshots.take(final=True).changed
        assert not scene.snapshots.take(final=True)
    (scene.root / "shut").chmod(0o755)
    assert {path: node.stored for path, node in changed.items()} == {"closed": False, "shut": False}
    assert "may not read" in changed["closed"].reason
    assert scene.snapshots.take().changed["shut"].stored


def test_a_constantly_changing_file_is_recorded_as_unstable_or_consistent(
    scene: SnapshotScene,
) -> None:
    file = scene.root / "busy"
    file.write_text("here from the start")
    nodes: list[Node] = []
    with file.open("r+b") as opened:

        def write() -> None:
            opened.write(b"x" * 10_000)
            opened.flush()
            if opened.tell() > 20_000_000:
                opened.seek(0)

        with repeated(write):
            while file.stat().st_size < 5_000_000 or len(nodes) < 20:
                scene.deltas.append(scene.snapshots.take(final=True))
                nodes.append(scene.snapshots.manifest.nodes["busy"])
    for node in nodes:
        if node.stored:
            assert node.hash
            assert scene.blobs.path(node.hash).stat().st_size == node.size
        else:
            assert "changing" in node.reason
    scene.step(final=True)


def test_a_tree_beyond_the_depth_limit_is_truncated_and_reported(scene: SnapshotScene) -> None:
    make_deep_folders(scene.root, 50, "x" * 200)
    nodes = scene.snapshots.take(final=True).changed
    (truncated,) = [path for path, node in nodes.items() if not node.stored]
    assert len(truncated) > 4000
    assert "too long" in nodes[truncated].reason


def test_a_tree_with_too_many_names_is_truncated_and_reported(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / "workspace" / f"d{number // 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).touch()
    root = tmp_path / "workspace"
    nodes = SnapshotTracker(root, BlobStore(tmp_path / "blobs"), max_names=50).take().changed
    assert len(nodes) == 50
    assert any("too many" in node.reason for node in nodes.values() if node.kind == "folder")


def test_a_missing_workspace_is_an_error(workspace: Workspace, snapshots: SnapshotTracker) -> None:
    snapshots.take()
    shutil.rmtree(workspace.root)
    with pytest.raises(WorkspaceError, match="does not exist"):
        snapshots.take()
    assert "output" in snapshots.manifest.nodes


def test_a_continued_run_starts_with_its_last_manifest(scene: SnapshotScene) -> None:
    (scene.root / "a").write_text("x")
    scene.step()
    manifest = Manifest.from_deltas(scene.deltas)
    again = SnapshotTracker(scene.root, scene.blobs, manifest=manifest)
    assert not again.take()
    (scene.root / "b").write_text("y")
    assert list(again.take().changed) == ["b"]


class RandomChanges:
    """Random changes of a workspace, deterministic for a seed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, random.Random(seed)

    def random_path(self, *, folders: bool | None = None) -> Path:
        found = [path for path in self.root.rglob("*") if not path.is_symlink()]
        found = [path for path in found if folders is None or path.is_dir() == folders]
        if not found:
            raise FileNotFoundError
        return self.random.choice(sorted(found))

    def random_new_path(self) -> Path:
        parent = self.root
        if self.random.random() < 0.7:
            with suppress(FileNotFoundError):
                parent = self.random_path(folders=True)
        return parent / f"n{self.random.randrange(30)}"

    def change(self) -> None:
        common = [self.write, self.write, self.append, self.make_tree, self.move, self.move]
        rare = [
            self.remove, self.hard_link, self.symbolic_link, self.chmod,
            self.change_without_new_mtime, self.replace_folder_by_link, self.make_and_remove,
        ]  # fmt: skip
        action = self.random.choice(common if self.random.random() < 0.5 else rare)
        with suppress(OSError):  # there is no file, the name exists, it is moved into itself, …
            action()

    def write(self) -> None:
        self.random_new_path().write_text(str(self.random.random()))

    def append(self) -> None:
        with self.random_path(folders=False).open("a") as opened:
            opened.write("more")

    def make_tree(self) -> None:
        folder = self.random_new_path()
        (folder / "deeper").mkdir(parents=True)
        (folder / "deeper" / "file").write_text("x")

    def move(self) -> None:
        self.random_path().rename(self.random_new_path())

    def remove(self) -> None:
        path = self.random_path()
        if self.random.random() < 0.5:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def hard_link(self) -> None:
        if self.random.random() < 0.3:
            os.link(self.random_path(folders=False), self.random_new_path())

    def symbolic_link(self) -> None:
        self.random_new_path().symlink_to(self.random.choice(["/etc", "..", "nowhere"]))

    def chmod(self) -> None:
        self.random_path().chmod(self.random.choice([0o700, 0o755, 0o777]))

    def change_without_new_mtime(self) -> None:
        file = self.random_path(folders=False)
        times = file.stat()
        file.write_text("".join(reversed(file.read_text())))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def replace_folder_by_link(self) -> None:
        folder = self.random_path(folders=True)
        shutil.rmtree(folder)
        folder.symlink_to("/etc")

    def make_and_remove(self) -> None:
        folder = self.random_new_path()
        folder.mkdir()
        (folder / "file").write_text("x")
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        *[(seed, 25) for seed in range(8)],
        *[pytest.param(seed, 100, marks=pytest.mark.nightly) for seed in range(100, 112)],
    ],
)
def test_manifest_equals_a_full_scan_after_random_changes(
    scene: SnapshotScene, seed: int, steps: int
) -> None:
    changes = RandomChanges(scene.root, seed)
    for _ in range(steps):
        for _ in range(changes.random.randrange(12)):
            changes.change()
        scene.step()
    scene.step(final=True)


def make_many_events(scene: SnapshotScene, events: int) -> None:
    """Create, write, rename and remove files as fast as possible."""
    for number in range(events // 8):
        folder = scene.root / f"d{number % 50}" / f"e{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number % 100}").write_text(str(number))
        if number % 3 == 0:
            (folder / f"f{number % 100}").rename(folder / f"g{number % 100}")
        if number % 500 == 0:
            shutil.rmtree(folder)


@watched
def test_many_events_lose_nothing(scene: SnapshotScene) -> None:
    make_many_events(scene, 10_000)
    scene.step()
    (scene.root / "after").write_text("x")
    scene.step()


@watched
@pytest.mark.nightly
def test_more_events_than_the_kernel_queues_lose_nothing(scene: SnapshotScene) -> None:
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for _ in range(2):
        make_many_events(scene, 2 * queued)
        scene.step()
    for folder in scene.root.glob("d*/e*"):  # each is watched again
        (folder / "after").write_text("x")
    scene.step()


def test_a_watcher_started_during_moves_follows_them(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    for number in range(100):
        (root / f"a{number}" / "b" / "c").mkdir(parents=True)

    def move() -> None:
        for number in range(99, -1, -1):
            (root / f"a{number}").rename(root / f"z{number}")

    mover = threading.Thread(target=move)
    mover.start()
    with WorkspaceWatcher(tmp_path) as watch:
        snapshots = SnapshotTracker(root, BlobStore(tmp_path / "blobs"), watch, sweep_below=0)
        snapshots.take()
        mover.join()
        snapshots.take()
        for number in range(100):
            (root / f"z{number}" / "b" / "c" / "x").write_text("x")
        snapshots.take()
        assert snapshots.manifest.nodes == full_scan(root)


def test_a_watcher_can_be_closed_during_many_events(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "workspace" / "a" / "b").mkdir(parents=True)
        shutil.rmtree(tmp_path / "workspace" / "a")

    (tmp_path / "workspace").mkdir()
    with repeated(work):
        for _ in range(30):
            with WorkspaceWatcher(tmp_path) as watch:
                watch.take_changes()
