"""Links, devices, sockets and FIFOs in place of a file or a folder are never opened."""

import os
import socket
import stat
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from agent.errors import EditConflict, WorkspaceError
from agent.workspace import operations
from agent.workspace.files import ANY_VERSION, Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.copy import copy_in, copy_out
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import FileVersions
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.workspace.listing import ListingQuery, list_folder
from sandbox_ui.workspace.outputs import list_results
from tests.support.hostile.hostile_workspace import FILE_PATH, read_omission_note, zip_workspace
from tests.support.workspaces import assert_refused, undo_change

pytestmark = pytest.mark.contract


def make_socket(path: Path) -> None:
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)  # socket paths must be short


def make_device(path: Path) -> None:
    """Make a terminal device without a driver, which cannot be opened."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(4, 250))
    except PermissionError:
        pytest.skip("only root can make a device")


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def make_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


MakeFile = Callable[[Path], None]


@pytest.fixture(params=[os.mkfifo, make_socket, make_device, make_link, make_dangling_link])
def make_special(request: pytest.FixtureRequest) -> MakeFile:
    function: MakeFile = request.param
    return function


def test_special_files_are_never_opened(
    workspace: Workspace, snapshots: SnapshotTracker, make_special: MakeFile, tmp_path: Path
) -> None:
    make_special(workspace.root / FILE_PATH)
    with pytest.raises(WorkspaceError, match=r"not a regular file|is a link"):
        workspace.open_read(FILE_PATH)
    with pytest.raises(EditConflict), workspace.open_write(FILE_PATH) as upload:
        upload.replace(ANY_VERSION)
    assert snapshots.take().changed[FILE_PATH].kind not in ("file", "folder")
    assert "output/f" in read_omission_note(zip_workspace(workspace))
    assert len(copy_out(workspace, RelPath("output"), tmp_path / "out").skipped) == 1
    versions = FileVersions(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))
    assert list_results(workspace, versions)["outputs"]["files"] == []
    removed = operations.remove(workspace, [FILE_PATH])
    assert undo_change(workspace, removed).paths == (FILE_PATH,)
    assert operations.rename(workspace, FILE_PATH, "g").paths == ("output/g",)


def test_non_folders_are_never_entered(
    workspace: Workspace, make_special: MakeFile, tmp_path: Path
) -> None:
    make_special(workspace.root / "away")
    inside = RelPath("away/f")
    workspace.write(FILE_PATH, [b"x"])
    assert_refused(
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
    )
    assert workspace.stat(FILE_PATH).size == 1


def test_a_replaced_input_folder_does_not_break_the_start(
    workspace: Workspace, make_special: MakeFile, tmp_path: Path
) -> None:
    """The user's files are copied into ``input``, which the model may have replaced."""
    (tmp_path / "given").write_text("x")
    make_special(workspace.root / "input")
    assert_refused(lambda: copy_in(workspace, tmp_path / "given", RelPath("input")))
    (workspace.root / "input").unlink()
    (workspace.root / "input").mkdir()
    assert copy_in(workspace, tmp_path / "given", RelPath("input")).copied
