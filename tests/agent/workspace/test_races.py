"""A hostile program swaps folders for links while the workspace is used.

Every round uses a name that refers either to a folder of the workspace or to a link to a folder
outside of it. At any moment, nothing outside is read, written, removed or listed.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from subprocess import Popen
from tempfile import mkdtemp

import pytest

from agent.errors import WorkspaceError
from agent.runs.disk_usage import bytes_on_disk
from agent.sandbox.disk import volume
from agent.workspace import operations, paths
from agent.workspace.files import ANY_VERSION, Workspace
from agent.workspace.paths import ROOT, RelPath
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
from tests.support.hostile.access_watcher import assert_untouched

pytestmark = pytest.mark.contract

SECRET = b"secret of the host"


class RaceWorkspace:
    """A workspace whose folder ``d`` a process swaps for a link to a folder outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "sandbox" / "workspace"
        self.outside = folder / "outside"
        for folder_path in (self.root / "d" / "inner", self.outside / "inner"):
            folder_path.mkdir(parents=True)
        for folder_path in (self.outside, self.outside / "inner"):
            (folder_path / "f").write_bytes(SECRET)
            (folder_path / "only-outside").write_bytes(SECRET)
        for folder_path in (self.root / "d", self.root / "d" / "inner"):
            (folder_path / "f").write_bytes(b"harmless")
        self.workspace = Workspace(self.root)

    def swap_while(self, rounds: int, operation: Callable[[], object]) -> None:
        """Repeat an operation while its folder is swapped; assert that nothing outside is touched.

        It runs at least ``rounds`` times, and until the folder was swapped often enough.
        """
        count = self.folder / "count"
        count.write_bytes(bytes(8))
        program = [sys.executable, "-SIB", path_swapper.__file__]
        command = [*program, str(self.root), str(self.outside), str(count)]
        with assert_untouched(self.outside), Popen(command) as swapper:
            try:
                for _ in self._rounds(rounds, count):
                    with suppress(WorkspaceError):
                        operation()
            finally:
                count.unlink()
            assert swapper.wait() == 0
        self._assert_outside_is_unchanged()

    def _rounds(self, min_rounds: int, count: Path) -> Iterator[None]:
        completed = 0
        while completed < min_rounds or int.from_bytes(count.read_bytes()) < min_rounds // 4:
            yield
            completed += 1

    def _assert_outside_is_unchanged(self) -> None:
        """Assert that the folder outside has its original names and contents."""
        contents = {
            str(path.relative_to(self.outside)): path.read_bytes() if path.is_file() else b""
            for path in self.outside.rglob("*")
        }
        names = ("f", "only-outside", "inner/f", "inner/only-outside")
        assert contents == dict.fromkeys(names, SECRET) | {"inner": b""}


@pytest.fixture
def race(tmp_path: Path) -> RaceWorkspace:
    return RaceWorkspace(tmp_path)


ROUNDS = [
    pytest.param((True, 200), id="openat2"),
    pytest.param((False, 100), id="component walk"),
    pytest.param((True, 2000), id="openat2, many", marks=pytest.mark.nightly),
    pytest.param((False, 1000), id="component walk, many", marks=pytest.mark.nightly),
]


@pytest.fixture(params=ROUNDS, autouse=True)
def rounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The minimum number of rounds; with ``openat2``, or as on kernels without it."""
    kernel, count = request.param
    if not kernel:
        monkeypatch.setattr(paths, "HAS_OPENAT2", False)
    return int(count)


def list_folder_d(workspace: Workspace) -> None:
    names = {entry.name for entry in workspace.list(RelPath("d"))}
    assert "only-outside" not in names


def read_file(workspace: Workspace, path: str) -> None:
    with workspace.open_read(RelPath(path)) as file:
        assert file.read() != SECRET


def stat_file(workspace: Workspace) -> None:
    workspace.stat(RelPath("d/f"))
    with pytest.raises(WorkspaceError):
        workspace.stat(RelPath("d/only-outside"))


def remove_files(workspace: Workspace) -> None:
    workspace.remove(RelPath("d/only-outside"))
    workspace.remove(RelPath("d/inner"))


def zip_all(workspace: Workspace) -> None:
    builder = ArchiveBuilder()
    builder.add_files(workspace)
    data = b"".join(builder.build().chunks())
    assert b"only-outside" not in data
    assert SECRET not in data


def move_file(workspace: Workspace) -> None:
    """Move a file into the swapped folder and out of it."""
    path = workspace.write(RelPath("mine"), [b"x"])
    moved = operations.move(workspace, [path], RelPath("d"))
    renamed = operations.rename(workspace, moved.paths[0], "renamed")
    workspace.remove(renamed.paths[0])
    operations.move(workspace, [RelPath("d/only-outside")], ROOT)


def make_empty_files(workspace: Workspace) -> None:
    """Create an empty folder and an empty file with new names."""
    path = operations.new_folder(workspace, RelPath("d/more")).paths[0]
    workspace.remove(operations.new_file(workspace, RelPath(f"{path}/deep/file")).paths[0])
    workspace.remove(path)


def undo_removal(workspace: Workspace) -> None:
    undo_change(workspace, operations.remove(workspace, [RelPath("d/inner")]))


def undo_rename(workspace: Workspace) -> None:
    undo_change(workspace, operations.rename(workspace, RelPath("d/inner"), "renamed"))


def undo_change(workspace: Workspace, change: operations.ChangeResult) -> None:
    """Undo a change, with retries, since this is refused while the folder is a link."""
    assert change.undo_token
    for _ in range(1000):
        with suppress(WorkspaceError):
            operations.undo(workspace, change.undo_token)
            return


def replace_file(workspace: Workspace) -> None:
    with workspace.open_write(RelPath("d/f")) as upload:
        upload.write(b"harmless")
        upload.replace(ANY_VERSION)


def upload_file(workspace: Workspace) -> None:
    """Upload a file in two parts, as after a lost connection."""
    pending = uploads.start(workspace, RelPath("d/up"), 2)
    try:
        for byte in (b"a", b"b"):
            found = uploads.find(workspace, pending.id)
            with closing(uploads.open_writer(workspace, found)) as part:
                part.write(byte)
        workspace.remove(uploads.finish(workspace, pending))
    finally:
        uploads.discard(workspace, pending.id)


def copy_folder_in(workspace: Workspace) -> None:
    source = workspace.root.parents[1] / "given"
    (source / "inner").mkdir(parents=True, exist_ok=True)
    (source / "inner" / "f").write_bytes(b"harmless")
    copy_in(workspace, source, RelPath("d"))
    workspace.remove(RelPath("d/given"))


def search_files(workspace: Workspace) -> None:
    """Search and sort files as the page's file tree does."""
    for query in (
        ListingQuery(words="outside"),
        ListingQuery(sort="size", locate_paths=[RelPath("d/f")]),
    ):
        for folder in (ROOT, RelPath("d")):
            with suppress(WorkspaceError):
                rows = list_folder(workspace, folder, query)["entries"]
                assert "only-outside" not in {row["name"] for row in rows}
    assert row_for_path(workspace, RelPath("d/only-outside")) is None


@pytest.mark.parametrize(
    "operation",
    [
        list_folder_d,
        pytest.param(lambda workspace: read_file(workspace, "d/f"), id="read_file"),
        pytest.param(lambda workspace: read_file(workspace, "d/inner/f"), id="read_nested_file"),
        stat_file,
        pytest.param(
            lambda workspace: workspace.remove(workspace.write(RelPath("d/new"), [b"x"])),
            id="write_file",
        ),
        pytest.param(
            lambda workspace: workspace.make_folder(RelPath("d/made/deeper")), id="make_folders"
        ),
        remove_files,
        zip_all,
        move_file,
        make_empty_files,
        undo_removal,
        undo_rename,
        replace_file,
        upload_file,
        copy_folder_in,
        search_files,
        pytest.param(lambda workspace: bytes_on_disk(workspace.root), id="measure_size"),
    ],
)
def test_swapped_folders_never_lead_outside(
    race: RaceWorkspace, rounds: int, operation: Callable[[Workspace], None]
) -> None:
    race.swap_while(rounds, lambda: operation(race.workspace))


def test_removing_a_swapped_folder_stays_inside(race: RaceWorkspace, rounds: int) -> None:
    def remove_and_make_again() -> None:
        with suppress(OSError):
            race.workspace.remove(RelPath("d"))
            race.workspace.remove(RelPath("swap"))
            (race.root / "fresh").mkdir(exist_ok=True)
            (race.root / "fresh" / "f").write_bytes(b"harmless")
            (race.root / "fresh").rename(race.root / "d")

    race.swap_while(rounds, remove_and_make_again)


def test_copied_output_contains_nothing_from_outside(race: RaceWorkspace, rounds: int) -> None:
    def copy_output() -> None:
        out = Path(mkdtemp(dir=race.folder)) / "out"
        with suppress(WorkspaceError):
            copy_out(race.workspace, ROOT, out)
        contents = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
        assert SECRET not in contents
        assert not [path for path in out.rglob("*") if path.is_symlink()]

    race.swap_while(rounds // 10, copy_output)


@pytest.mark.parametrize("watched", [True, False])
def test_a_snapshot_contains_nothing_from_outside(
    race: RaceWorkspace, rounds: int, watched: bool
) -> None:
    def take_snapshot() -> None:
        snapshots.take()
        assert not [path for path in snapshots.manifest.nodes if "outside" in path]

    blobs = race.folder / "blobs"
    with WorkspaceWatcher(race.root.parent) if watched else nullcontext() as watch:
        snapshots = SnapshotTracker(race.root, BlobStore(blobs), watch, sweep_below=0)
        race.swap_while(rounds // 3, take_snapshot)
    assert SECRET not in [path.read_bytes() for path in blobs.rglob("*") if path.is_file()]
    snapshots.take(final=True)
    assert snapshots.manifest.nodes["d"].kind == "folder"


def test_removing_a_sandbox_removes_nothing_outside(race: RaceWorkspace, rounds: int) -> None:
    def remove_sandbox() -> None:
        volume.discard(race.root / "d")
        race.workspace.make_folder(RelPath("d/inner/deep"))

    race.swap_while(rounds // 10, remove_sandbox)


def test_output_lists_contain_nothing_from_outside(tmp_path: Path, rounds: int) -> None:
    """Here, ``output/`` itself is swapped."""

    def list_output() -> None:
        results = str(list_results(race.workspace, versions))
        assert "only-outside" not in results
        assert SECRET.decode() not in results

    race = RaceWorkspace(tmp_path)
    (race.root / "output").mkdir()
    versions = FileVersions(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))
    race.swap_while(rounds // 3, list_output)


@pytest.fixture(scope="module")
def preview_service() -> Iterator[PreviewService]:
    with closing(PreviewService()) as service:
        service.open()
        yield service


def test_a_preview_shows_nothing_from_outside(
    race: RaceWorkspace, rounds: int, preview_service: PreviewService
) -> None:
    def preview() -> None:
        with race.workspace.open_read(RelPath("d/f")) as file:
            shown = preview_service.render("text", file, PreviewRequest("f", 8))
            assert SECRET not in shown.content

    race.swap_while(rounds // 10, preview)
