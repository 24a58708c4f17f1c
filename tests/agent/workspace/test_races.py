"""A hostile program swaps folders for links while the workspace is used.

Every round asks for something through a name that is, at that moment, either a folder of the
workspace or a link to a folder outside of it. Whatever the moment: nothing outside is read,
written, removed or listed.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen

import pytest

from agent.errors import WorkspaceError
from agent.runs.disk_usage import bytes_on_disk
from agent.sandbox.disk import volume
from agent.workspace import operations, paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.staging import ANY_VERSION
from agent.workspace.transfer import uploads
from agent.workspace.transfer.archive import ArchiveBuilder
from agent.workspace.transfer.copy import copy_in, copy_out
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import FileVersions
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.workspace.listing import ListingQuery, list_folder, row_for_path
from sandbox_ui.workspace.outputs import list_results
from tests.support.hostile import path_swapper
from tests.support.hostile.tripwire import assert_untouched

SECRET = b"secret of the host"


class Arena:
    """A workspace with a folder ``d``, a folder outside, and a program that swaps the one for
    a link to the other, as a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "sandbox" / "workspace"
        self.outside = folder / "outside"
        for at in (self.root / "d" / "inner", self.outside / "inner"):
            at.mkdir(parents=True)
        for at in (self.outside, self.outside / "inner"):
            (at / "f").write_bytes(SECRET)
            (at / "only-outside").write_bytes(SECRET)
        for at in (self.root / "d", self.root / "d" / "inner"):
            (at / "f").write_bytes(b"harmless")
        self.workspace = Workspace(self.root)

    @contextmanager
    def hostile(self, rounds: int) -> Iterator[Iterator[int]]:
        """Swap all the time inside the block; at its end nothing has been opened outside.

        Gives as many rounds, and more where the hostile program needs them to do its own.
        """
        count = self.folder / "count"
        count.write_bytes(bytes(8))
        program = [sys.executable, "-SIB", path_swapper.__file__]
        command = [*program, str(self.root), str(self.outside), str(count)]
        with assert_untouched(self.outside), Popen(command) as hostile:
            try:
                yield self._rounds(rounds, count)
            finally:
                count.unlink()
            assert hostile.wait() == 0

    def _rounds(self, wanted: int, count: Path) -> Iterator[int]:
        done = 0
        while done < wanted or int.from_bytes(count.read_bytes()) < wanted // 4:
            yield done
            done += 1

    def untouched(self) -> bool:
        """Whether the folder outside is as it was made; names, contents, nothing more."""
        found = {
            str(path.relative_to(self.outside)): path.read_bytes() if path.is_file() else b""
            for path in self.outside.rglob("*")
        }
        names = ("f", "only-outside", "inner/f", "inner/only-outside")
        return found == dict.fromkeys(names, SECRET) | {"inner": b""}


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return Arena(tmp_path)


WAYS = [
    pytest.param((True, 200), id="openat2"),
    pytest.param((False, 100), id="component walk"),
    pytest.param((True, 2000), id="openat2, many", marks=pytest.mark.long),
    pytest.param((False, 1000), id="component walk, many", marks=pytest.mark.long),
]


@pytest.fixture(params=WAYS, autouse=True)
def rounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many at least; by the kernel's resolution, or as on kernels that have none."""
    kernel, count = request.param
    if not kernel:
        monkeypatch.setattr(paths, "HAS_OPENAT2", False)
    return int(count)


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
    packing = ArchiveBuilder()
    packing.add_files(arena.workspace)
    data = b"".join(packing.build().chunks())
    assert b"only-outside" not in data
    assert SECRET not in data


def move_it(arena: Arena) -> None:
    """Into the folder that is swapped, and out of it again."""
    made = arena.workspace.write(RelPath("mine"), [b"x"])
    moved = operations.move(arena.workspace, [made], RelPath("d"))
    renamed = operations.rename(arena.workspace, moved.paths[0], "renamed")
    arena.workspace.remove(renamed.paths[0])
    operations.move(arena.workspace, [RelPath("d/only-outside")], ROOT)


def make_more(arena: Arena) -> None:
    """Empty ones, with a name of their own."""
    made = operations.new_folder(arena.workspace, RelPath("d/more")).paths[0]
    arena.workspace.remove(
        operations.new_file(arena.workspace, RelPath(f"{made}/deep/file")).paths[0]
    )
    arena.workspace.remove(made)


def take_back(arena: Arena) -> None:
    removed = operations.remove(arena.workspace, [RelPath("d/inner")])
    assert removed.undo_token
    put_back(arena, removed.undo_token)


def move_back(arena: Arena) -> None:
    moved = operations.rename(arena.workspace, RelPath("d/inner"), "renamed")
    assert moved.undo_token
    put_back(arena, moved.undo_token)


def put_back(arena: Arena, undo: str) -> None:
    """At a moment when its folder is a link this is refused, and can be tried again."""
    for _ in range(1000):
        with suppress(WorkspaceError):
            operations.undo(arena.workspace, undo)
            return


def replace_it(arena: Arena) -> None:
    with arena.workspace.open_write(RelPath("d/f")) as upload:
        upload.write(b"harmless")
        upload.replace(ANY_VERSION)


def upload_it(arena: Arena) -> None:
    """In two parts, as over a connection that broke off."""
    pending = uploads.start(arena.workspace, RelPath("d/up"), 2)
    try:
        for byte in (b"a", b"b"):
            part = uploads.open_writer(arena.workspace, uploads.find(arena.workspace, pending.id))
            part.write(byte)
            part.close()
        arena.workspace.remove(uploads.finish(arena.workspace, pending))
    finally:
        uploads.discard(arena.workspace, pending.id)


def copy_into(arena: Arena) -> None:
    given = arena.folder / "given"
    (given / "inner").mkdir(parents=True, exist_ok=True)
    (given / "inner" / "f").write_bytes(b"harmless")
    copy_in(arena.workspace, given, RelPath("d"))
    arena.workspace.remove(RelPath("d/given"))


def look_for_it(arena: Arena) -> None:
    """As the page's tree does: by name, in all folders, in the order of size."""
    for wanted in (
        ListingQuery(words="outside"),
        ListingQuery(sort="size", locate_paths=[RelPath("d/f")]),
    ):
        for folder in (ROOT, RelPath("d")):
            with suppress(WorkspaceError):
                rows = list_folder(arena.workspace, folder, wanted)["entries"]
                assert "only-outside" not in {row["name"] for row in rows}
    assert row_for_path(arena.workspace, RelPath("d/only-outside")) is None


def weigh_it(arena: Arena) -> None:
    bytes_on_disk(arena.root)


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
        make_more,
        take_back,
        move_back,
        replace_it,
        upload_it,
        copy_into,
        look_for_it,
        weigh_it,
    ],
)
def test_swapped_folders_never_lead_outside(
    arena: Arena, rounds: int, act: Callable[[Arena], None]
) -> None:
    with arena.hostile(rounds) as attempts:
        for _ in attempts:
            with suppress(WorkspaceError):
                act(arena)
    assert arena.untouched()


def test_removing_a_swapped_folder_stays_inside(arena: Arena, rounds: int) -> None:
    with arena.hostile(rounds) as attempts:
        for _ in attempts:
            with suppress(WorkspaceError, OSError):
                arena.workspace.remove(RelPath("d"))
                arena.workspace.remove(RelPath("swap"))
                (arena.root / "fresh").mkdir(exist_ok=True)
                (arena.root / "fresh" / "f").write_bytes(b"harmless")
                (arena.root / "fresh").rename(arena.root / "d")
    assert arena.untouched()


def test_copied_output_contains_nothing_from_outside(arena: Arena, rounds: int) -> None:
    with arena.hostile(rounds // 10) as attempts:
        for number in attempts:
            out = arena.folder / f"out{number}"
            with suppress(WorkspaceError):
                copy_out(arena.workspace, ROOT, out)
            found = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
            assert SECRET not in found
            assert not [path for path in out.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("watched", [True, False])
def test_a_snapshot_contains_nothing_from_outside(arena: Arena, rounds: int, watched: bool) -> None:
    blobs = BlobStore(arena.folder / "blobs")
    watch = WorkspaceWatcher(arena.root.parent) if watched else None
    snapshots = SnapshotTracker(arena.root, blobs, watch, sweep_below=0)
    try:
        with arena.hostile(rounds // 3) as attempts:
            for _ in attempts:
                snapshots.take()
                assert not [path for path in snapshots.manifest.nodes if "outside" in path]
    finally:
        if watch is not None:
            watch.close()
    kept = [path.read_bytes() for path in (arena.folder / "blobs").rglob("*") if path.is_file()]
    assert SECRET not in kept
    snapshots.take(final=True)
    assert snapshots.manifest.nodes["d"].kind == "folder"


def test_removing_a_sandbox_removes_nothing_outside(arena: Arena, rounds: int) -> None:
    with arena.hostile(rounds // 10) as attempts:
        for _ in attempts:
            volume.discard(arena.root / "d")
            with suppress(WorkspaceError):
                arena.workspace.make_folder(RelPath("d/inner/deep"))
    assert arena.untouched()


def test_output_lists_contain_nothing_from_outside(tmp_path: Path, rounds: int) -> None:
    """``output/`` itself is what is swapped."""
    arena = Arena(tmp_path)
    (arena.root / "output").mkdir()
    past = FileVersions(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))
    with arena.hostile(rounds // 3) as attempts:
        for _ in attempts:
            told = str(list_results(arena.workspace, past))
            assert "only-outside" not in told
            assert SECRET.decode() not in told


@pytest.fixture(scope="module")
def workshop() -> Iterator[PreviewService]:
    workshop = PreviewService()
    workshop.open()
    yield workshop
    workshop.close()


def test_a_preview_shows_nothing_from_outside(
    arena: Arena, rounds: int, workshop: PreviewService
) -> None:
    with arena.hostile(rounds // 10) as attempts:
        for _ in attempts:
            with suppress(WorkspaceError), arena.workspace.open_read(RelPath("d/f")) as file:
                look = workshop.render("text", file, PreviewRequest("f", 8))
                assert SECRET not in look.content
    assert arena.untouched()
