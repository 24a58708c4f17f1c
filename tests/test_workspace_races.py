"""A hostile program swaps folders for links while the workspace is used.

Every round asks for something through a name that is, at that moment, either a folder of the
workspace or a link to a folder outside of it. Whatever the moment: nothing outside is read,
written, removed or listed.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace import changing, paths
from agent.workspace.archive import Packing
from agent.workspace.blobs import BlobStore
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.snapshots import Snapshots
from agent.workspace.staging import ANY
from agent.workspace.transfer import copy_out
from agent.workspace.watch import Watch

SECRET = b"secret of the host"


class Arena:
    """A workspace, a folder outside, and a thread that swaps ``workspace/d`` and ``d/f``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "workspace"
        self.outside = folder / "outside"
        for at in (self.root / "d" / "inner", self.outside / "inner"):
            at.mkdir(parents=True)
        for at in (self.outside, self.outside / "inner"):
            (at / "f").write_bytes(SECRET)
            (at / "only-outside").write_bytes(SECRET)
        for at in (self.root / "d", self.root / "d" / "inner"):
            (at / "f").write_bytes(b"harmless")
        self.workspace = Workspace(self.root)
        self.swaps = 0

    def swap(self) -> None:
        """One round of the hostile program's work, ending as it began."""
        with suppress(OSError):
            (self.root / "swap").symlink_to(self.outside)
        for first, second in (("d", "away"), ("swap", "d"), ("d", "swap"), ("away", "d")):
            with suppress(OSError):
                (self.root / first).rename(self.root / second)
        with suppress(OSError), paths.opened_folder_path(self.root) as root:
            self.swap_file(root)
        self.swaps += 1

    def swap_file(self, root: int) -> None:
        """The same with ``d/f``, if ``d`` is the real one: outside, nothing is written."""
        with paths.opened_folder(root, "d") as folder:
            os.unlink("f", dir_fd=folder)
            os.symlink(self.outside / "f", "f", dir_fd=folder)
            os.unlink("f", dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open("f", flags, dir_fd=folder), "wb") as file:
                file.write(b"harmless")

    @contextmanager
    def hostile(self) -> Iterator[None]:
        """Swap all the time, inside the block."""
        ended = threading.Event()

        def work() -> None:
            while not ended.is_set():
                self.swap()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def untouched(self) -> bool:
        """Whether the folder outside is as it was made."""
        found = {
            str(path.relative_to(self.outside)): path.read_bytes()
            for path in self.outside.rglob("*")
            if path.is_file()
        }
        names = ("f", "only-outside", "inner/f", "inner/only-outside")
        return found == dict.fromkeys(names, SECRET)


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return Arena(tmp_path)


@pytest.fixture(
    params=[pytest.param(300, id="some"), pytest.param(5000, id="many", marks=pytest.mark.long)]
)
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["openat2", "component walk"], autouse=True)
def resolution(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "component walk":
        monkeypatch.setattr(paths, "KERNEL_RESOLVES", False)


def list_it(arena: Arena) -> None:
    names = {entry.name for entry in arena.workspace.list(RelPath("d"))}
    assert "only-outside" not in names


def read_it(arena: Arena) -> None:
    with arena.workspace.open_read(RelPath("d/f")) as file:
        assert file.read() != SECRET


def read_deeper(arena: Arena) -> None:
    with arena.workspace.open_read(RelPath("d/inner/f")) as file:
        assert file.read() != SECRET


def stat_it(arena: Arena) -> None:
    arena.workspace.stat(RelPath("d/f"))
    with pytest.raises(WorkspaceError):
        arena.workspace.stat(RelPath("d/only-outside"))


def write_it(arena: Arena) -> None:
    path = arena.workspace.write(RelPath("d/new"), [b"x"])
    arena.workspace.remove(path)


def make_it(arena: Arena) -> None:
    arena.workspace.make_folder(RelPath("d/made/deeper"))


def remove_it(arena: Arena) -> None:
    arena.workspace.remove(RelPath("d/only-outside"))
    arena.workspace.remove(RelPath("d/inner"))


def zip_it(arena: Arena) -> None:
    packing = Packing()
    packing.take(arena.workspace)
    data = b"".join(packing.zip().chunks())
    assert b"only-outside" not in data
    assert SECRET not in data


def move_it(arena: Arena) -> None:
    """Into the folder that is swapped, and out of it again."""
    made = arena.workspace.write(RelPath("mine"), [b"x"])
    moved = changing.move(arena.workspace, [made], RelPath("d"))
    renamed = changing.rename(arena.workspace, moved.paths[0], "renamed")
    arena.workspace.remove(renamed.paths[0])
    changing.move(arena.workspace, [RelPath("d/only-outside")], ROOT)


def take_back(arena: Arena) -> None:
    removed = changing.remove(arena.workspace, [RelPath("d/inner")])
    assert removed.undo
    changing.undo(arena.workspace, removed.undo)


def replace_it(arena: Arena) -> None:
    with arena.workspace.begin(RelPath("d/f")) as upload:
        upload.write(b"harmless")
        upload.replace(ANY)


@pytest.mark.parametrize(
    "act",
    [
        list_it,
        read_it,
        read_deeper,
        stat_it,
        write_it,
        make_it,
        remove_it,
        zip_it,
        move_it,
        take_back,
        replace_it,
    ],
)
def test_no_moment_leads_outside(arena: Arena, rounds: int, act: Callable[[Arena], None]) -> None:
    done = 0
    with arena.hostile():
        for _ in range(rounds):
            with suppress(WorkspaceError):
                act(arena)
                done += 1
    assert arena.untouched()
    assert arena.swaps > 0


def test_removing_the_very_folder_that_is_swapped(arena: Arena, rounds: int) -> None:
    with arena.hostile():
        for _ in range(rounds):
            with suppress(WorkspaceError, OSError):
                arena.workspace.remove(RelPath("d"))
                arena.workspace.remove(RelPath("swap"))
                (arena.root / "fresh").mkdir(exist_ok=True)
                (arena.root / "fresh" / "f").write_bytes(b"harmless")
                (arena.root / "fresh").rename(arena.root / "d")
    assert arena.untouched()


def test_output_is_copied_without_anything_from_outside(arena: Arena, rounds: int) -> None:
    with arena.hostile():
        for number in range(rounds // 10):
            out = arena.folder / f"out{number}"
            with suppress(WorkspaceError):
                copy_out(arena.workspace, ROOT, out)
            found = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
            assert SECRET not in found
            assert not [path for path in out.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("watched", [True, False])
def test_a_snapshot_holds_nothing_from_outside(arena: Arena, rounds: int, watched: bool) -> None:
    blobs = BlobStore(arena.folder / "blobs")
    watch = Watch(arena.folder) if watched else None
    snapshots = Snapshots(arena.root, blobs, watch, sweep_below=0)
    try:
        with arena.hostile():
            for _ in range(rounds // 3):
                snapshots.take()
                assert not [path for path in snapshots.manifest.nodes if "outside" in path]
    finally:
        if watch is not None:
            watch.close()
    kept = [path.read_bytes() for path in (arena.folder / "blobs").rglob("*") if path.is_file()]
    assert SECRET not in kept
    snapshots.take(final=True)
    assert snapshots.manifest.nodes["d"].kind == "folder"
