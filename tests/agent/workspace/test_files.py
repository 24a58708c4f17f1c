"""The workspace's files: listing, reading, writing and removal."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from tests.support.hostile.full_disk import limit_file_size
from tests.support.hostile.hostile_workspace import RootsFiles, make_deep_folders
from tests.support.hostile.ordinary_user import as_ordinary_user, let_others_enter
from tests.support.workspaces import staged_names


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "workspace").mkdir()
    return Workspace(tmp_path / "workspace")


def names(workspace: Workspace, folder: str = "") -> list[str]:
    return [entry.name for entry in workspace.list(RelPath(folder) if folder else ROOT)]


def test_a_listing_has_folders_first_and_marks_links(workspace: Workspace) -> None:
    root = workspace.root
    (root / "Zoo").mkdir()
    (root / "b.txt").write_text("bb")
    (root / "A.txt").write_text("a")
    (root / "out").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    entries = [f"{entry.name}: {entry.kind}" for entry in workspace.list(ROOT)]
    assert entries == ["Zoo: folder", "A.txt: file", "b.txt: file", "out: link", "pipe: other"]
    assert workspace.stat(RelPath("b.txt")).size == 2
    assert workspace.stat(RelPath("out")).kind == "link"


def test_only_files_can_be_read(workspace: Workspace) -> None:
    (workspace.root / "folder").mkdir()
    for path in ("folder", "missing"):
        with pytest.raises(WorkspaceError, match=path):
            workspace.open_read(RelPath(path))


def test_an_upload_is_visible_only_when_complete(workspace: Workspace) -> None:
    with workspace.open_write(RelPath("input/paper.pdf")) as upload:
        upload.write(b"one ")
        assert names(workspace) == []
        upload.write(b"two")
        assert upload.commit() == "input/paper.pdf"
    assert (workspace.root / "input" / "paper.pdf").read_bytes() == b"one two"
    assert staged_names(workspace) == []


def test_an_aborted_upload_leaves_nothing(workspace: Workspace) -> None:
    def failing_chunks() -> Iterator[bytes]:
        yield b"part"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        workspace.write(RelPath("input/x"), failing_chunks())
    assert names(workspace) == []
    assert staged_names(workspace) == []


def test_an_existing_name_keeps_both_files(workspace: Workspace) -> None:
    path = RelPath("data.tar.gz")
    assert workspace.write(path, [b"1"]) == "data.tar.gz"
    assert workspace.write(path, [b"2"]) == "data.tar (2).gz"
    assert workspace.write(path, [b"3"]) == "data.tar (3).gz"
    assert workspace.write(RelPath(".env"), [b"1"]) == ".env"
    assert workspace.write(RelPath(".env"), [b"2"]) == ".env (2)"
    assert (workspace.root / "data.tar.gz").read_bytes() == b"1"


def test_a_link_at_the_destination_is_neither_followed_nor_replaced(workspace: Workspace) -> None:
    outside = workspace.root.parent / "victim"
    outside.write_text("safe")
    (workspace.root / "report").symlink_to(outside)
    assert workspace.write(RelPath("report"), [b"new"]) == "report (2)"
    assert outside.read_text() == "safe"


def test_a_full_disk_is_reported_and_leaves_nothing(workspace: Workspace) -> None:
    """A limit on file size stands in for a full disk: the kernel refuses the write."""
    with limit_file_size(1000), pytest.raises(WorkspaceError, match="larger"):
        workspace.write(RelPath("big"), [b"x" * 2000])
    assert names(workspace) == []
    assert staged_names(workspace) == []


def test_making_a_folder_creates_parents_and_is_idempotent(workspace: Workspace) -> None:
    workspace.make_folder(RelPath("a/b/c"))
    workspace.make_folder(RelPath("a/b/c"))
    assert (workspace.root / "a" / "b" / "c").is_dir()
    (workspace.root / "file").write_text("")
    with pytest.raises(WorkspaceError, match="not a folder"):
        workspace.make_folder(RelPath("file/x"))


def test_removing_a_link_keeps_its_target(workspace: Workspace) -> None:
    outside = workspace.root.parent / "victim"
    outside.mkdir()
    (outside / "file").write_text("safe")
    (workspace.root / "tree" / "inner").mkdir(parents=True)
    (workspace.root / "tree" / "inner" / "link").symlink_to(outside)
    (workspace.root / "link").symlink_to(outside)
    workspace.remove(RelPath("tree"))
    workspace.remove(RelPath("link"))
    workspace.remove(RelPath("never/was"))
    assert names(workspace) == []
    assert (outside / "file").read_text() == "safe"
    assert staged_names(workspace) == []
    with pytest.raises(WorkspaceError, match="itself"):
        workspace.remove(ROOT)


def test_a_tree_deeper_than_the_path_limit_can_be_removed(workspace: Workspace) -> None:
    make_deep_folders(workspace.root, 3000)
    workspace.remove(RelPath("d"))
    assert names(workspace) == []
    assert staged_names(workspace) == []


def test_leftovers_of_a_dead_process_are_removed(workspace: Workspace) -> None:
    abandoned = workspace.open_write(RelPath("never-finished"))
    (workspace.staging.folder / "ruin-1" / "x").mkdir(parents=True)
    workspace.staging.clean_up()
    assert staged_names(workspace) == []
    abandoned.abort()


def write_unreadable_file(workspace: Workspace, name: str) -> None:
    for folder in (workspace.root.parent, workspace.root):
        folder.chmod(0o755)
    file = workspace.root / name
    file.write_text("closed")
    file.chmod(0)


def test_files_unreadable_on_the_host_are_read_through_the_sandbox(workspace: Workspace) -> None:
    write_unreadable_file(workspace, "secret")
    write_unreadable_file(workspace, "refused")
    let_others_enter(workspace.root)
    with as_ordinary_user(), pytest.raises(WorkspaceError, match="permission denied"):
        workspace.open_read(RelPath("secret"))
    workspace.fallback = RootsFiles()
    with as_ordinary_user():
        with workspace.open_read(RelPath("secret")) as file:
            assert file.read() == b"from the sandbox: /workspace/secret"
        with pytest.raises(WorkspaceError, match="too large"):
            workspace.open_read(RelPath("refused"))


def test_files_unremovable_on_the_host_are_removed_through_the_sandbox(
    workspace: Workspace,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make what an ordinary user may not remove")
    workspace.staging.folder.mkdir()
    os.chown(workspace.staging.folder, 65534, 65534)
    os.chown(workspace.root, 65534, 65534)
    (workspace.root / "mine" / "closed").mkdir(parents=True)
    (workspace.root / "mine" / "closed" / "file").write_text("x")
    os.chown(workspace.root / "mine", 65534, 65534)
    let_others_enter(workspace.root)
    workspace.fallback = fallback = RootsFiles()
    with as_ordinary_user():
        workspace.remove(RelPath("mine"))
    assert fallback.removed == ["/workspace/mine"]
    assert (workspace.root / "mine" / "closed" / "file").exists()


def test_a_sparse_terabyte_file_can_be_read(workspace: Workspace) -> None:
    with (workspace.root / "huge").open("wb") as file:
        try:
            file.truncate(1024**4)
        except OSError:
            pytest.skip("this file system has no files of 1 TB")
    assert workspace.stat(RelPath("huge")).size == 1024**4
    with workspace.open_read(RelPath("huge")) as file:
        assert file.read(4) == b"\0\0\0\0"
