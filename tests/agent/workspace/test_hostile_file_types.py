"""Links, devices, sockets and FIFOs where a file or a folder is expected: none is opened."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import EditConflict, WorkspaceError
from agent.workspace import operations
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.staging import ANY_VERSION
from agent.workspace.transfer.copy import copy_in, copy_out
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import FileVersions
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.workspace.listing import ListingQuery, list_folder
from sandbox_ui.workspace.outputs import list_results
from tests.support.hostile.hostile_workspace import FILE_PATH, read_omission_note, zip_workspace


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(before)


def a_device(path: Path) -> None:
    """A terminal without a driver: opening it would answer ENXIO at best."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(4, 250))
    except PermissionError:
        pytest.skip("only root can make a device")


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.fixture(params=[a_fifo, a_socket, a_device, a_link, a_dangling_link])
def special(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    made: Callable[[Path], None] = request.param
    return made


def test_special_files_are_never_opened(
    workspace: Workspace,
    snapshots: SnapshotTracker,
    special: Callable[[Path], None],
    tmp_path: Path,
) -> None:
    special(workspace.root / FILE_PATH)
    with pytest.raises(WorkspaceError, match=r"not a regular file|is a link"):
        workspace.open_read(FILE_PATH)
    with pytest.raises(EditConflict), workspace.open_write(FILE_PATH) as upload:
        upload.replace(ANY_VERSION)
    assert snapshots.take().changed[FILE_PATH].kind not in ("file", "folder")
    assert "output/f" in read_omission_note(zip_workspace(workspace))
    assert len(copy_out(workspace, RelPath("output"), tmp_path / "out").skipped) == 1
    past = FileVersions(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))
    assert list_results(workspace, past)["outputs"]["files"] == []
    removed = operations.remove(workspace, [FILE_PATH])
    assert removed.undo_token
    assert operations.undo(workspace, removed.undo_token).paths == (FILE_PATH,)
    assert operations.rename(workspace, FILE_PATH, "g").paths == ("output/g",)


def test_non_folders_are_never_entered(
    workspace: Workspace, special: Callable[[Path], None], tmp_path: Path
) -> None:
    special(workspace.root / "away")
    inside = RelPath("away/f")
    workspace.write(FILE_PATH, [b"x"])
    for act in (
        lambda: workspace.list(RelPath("away")),
        lambda: workspace.stat(inside),
        lambda: workspace.open_read(inside),
        lambda: workspace.write(inside, [b"x"]),
        lambda: workspace.make_folder(inside),
        lambda: workspace.remove(inside),
        lambda: operations.new_folder(workspace, inside),
        lambda: operations.move(workspace, [FILE_PATH], RelPath("away")),
        lambda: operations.remove(workspace, [inside]),
        lambda: list_folder(workspace, RelPath("away"), ListingQuery()),
        lambda: copy_out(workspace, RelPath("away"), tmp_path / "out"),
        lambda: zip_workspace(workspace, inside),
    ):
        with pytest.raises(WorkspaceError):
            act()
    assert workspace.stat(FILE_PATH).size == 1


@pytest.mark.parametrize("what", [a_fifo, a_device, a_link, a_folder])
def test_a_replaced_input_folder_does_not_break_the_start(
    workspace: Workspace, what: Callable[[Path], None], tmp_path: Path
) -> None:
    """The person's files go into ``input``, which the model may have replaced."""
    what(workspace.root / "input")
    given = tmp_path / "given"
    given.write_text("x")
    if what is a_folder:
        assert copy_in(workspace, given, RelPath("input")).copied
    else:
        with pytest.raises(WorkspaceError):
            copy_in(workspace, given, RelPath("input"))


def test_links_in_a_given_folder_are_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for make in (a_fifo, a_socket, a_link, a_folder):
        make(given / make.__name__)
    (given / "f").write_text("x")
    report = copy_in(workspace, given)
    assert report.copied == [str(given / "f")]
    assert len(report.skipped) == 3
