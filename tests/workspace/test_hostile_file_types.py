"""Links, devices, sockets and FIFOs where a file or a folder is expected: none is opened."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import ChangedMeanwhile, WorkspaceError
from agent.workspace import operations
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.staging import ANY
from agent.workspace.transfer.copy import copy_in, copy_out
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.past_files import Past
from agent.workspace.versions.snapshots import Snapshots
from sandbox_ui.workspace.listing import Wanted, listing
from sandbox_ui.workspace.outputs import results
from tests.support.hostile.hostile_workspace import F, left_out, zipped


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


def test_what_is_no_file_is_never_opened_as_one(
    workspace: Workspace, snapshots: Snapshots, special: Callable[[Path], None], tmp_path: Path
) -> None:
    special(workspace.root / F)
    with pytest.raises(WorkspaceError, match=r"not a regular file|is a link"):
        workspace.open_read(F)
    with pytest.raises(ChangedMeanwhile), workspace.begin(F) as upload:
        upload.replace(ANY)
    assert snapshots.take().changed[F].kind not in ("file", "folder")
    assert "output/f" in left_out(zipped(workspace))
    assert len(copy_out(workspace, RelPath("output"), tmp_path / "out").left_out) == 1
    past = Past(tmp_path / "manifests.jsonl", BlobStore(tmp_path / "blobs"))
    assert results(workspace, past)["made"]["files"] == []
    removed = operations.remove(workspace, [F])
    assert removed.undo
    assert operations.undo(workspace, removed.undo).paths == (F,)
    assert operations.rename(workspace, F, "g").paths == ("output/g",)


def test_what_is_no_folder_is_never_entered_as_one(
    workspace: Workspace, special: Callable[[Path], None], tmp_path: Path
) -> None:
    special(workspace.root / "away")
    inside = RelPath("away/f")
    workspace.write(F, [b"x"])
    for act in (
        lambda: workspace.list(RelPath("away")),
        lambda: workspace.stat(inside),
        lambda: workspace.open_read(inside),
        lambda: workspace.write(inside, [b"x"]),
        lambda: workspace.make_folder(inside),
        lambda: workspace.remove(inside),
        lambda: operations.new_folder(workspace, inside),
        lambda: operations.move(workspace, [F], RelPath("away")),
        lambda: operations.remove(workspace, [inside]),
        lambda: listing(workspace, RelPath("away"), Wanted()),
        lambda: copy_out(workspace, RelPath("away"), tmp_path / "out"),
        lambda: zipped(workspace, inside),
    ):
        with pytest.raises(WorkspaceError):
            act()
    assert workspace.stat(F).size == 1


@pytest.mark.parametrize("what", [a_fifo, a_device, a_link, a_folder])
def test_what_stands_in_for_input_does_not_break_the_start(
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


def test_a_folder_given_is_read_without_following_what_is_in_it(
    workspace: Workspace, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for make in (a_fifo, a_socket, a_link, a_folder):
        make(given / make.__name__)
    (given / "f").write_text("x")
    report = copy_in(workspace, given)
    assert report.copied == [str(given / "f")]
    assert len(report.left_out) == 3
