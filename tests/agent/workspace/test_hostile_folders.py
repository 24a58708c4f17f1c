"""Hard links, folders without permissions, and replaced workspaces."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from agent.provisioning.move_files import move_to_sandbox
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import operations
from agent.workspace.files import ANY_VERSION, Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.copy import copy_out
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher
from sandbox_ui.workspace.listing import ListingQuery, list_folder
from tests.support.hostile.hostile_workspace import FILE_PATH, read_omission_note, zip_workspace
from tests.support.hostile.ordinary_user import NOBODY, as_ordinary_user, let_others_enter
from tests.support.workspaces import assert_refused, staged_names, undo_change


def test_replacing_a_hard_link_changes_one_name_only(workspace: Workspace) -> None:
    workspace.write(FILE_PATH, [b"old"])
    (workspace.root / "other").hardlink_to(workspace.root / FILE_PATH)
    with workspace.open_write(FILE_PATH) as upload:
        upload.write(b"new")
        upload.replace(ANY_VERSION)
    assert (workspace.root / "other").read_bytes() == b"old"
    assert (workspace.root / FILE_PATH).read_bytes() == b"new"


def test_hard_linked_files_are_never_written_in_place(workspace: Workspace) -> None:
    """A sandbox could link a file from elsewhere on the same disk."""
    outside = workspace.root.parent / "outside"
    outside.write_bytes(b"mine")
    outside.chmod(0o400)
    (workspace.root / FILE_PATH).hardlink_to(outside)
    before = outside.stat()
    workspace.write(FILE_PATH, [b"beside it"])
    operations.rename(workspace, FILE_PATH, "g")
    undo_change(workspace, operations.remove(workspace, [RelPath("output/g")]))
    workspace.remove(RelPath("output/g"))
    after = outside.stat()
    assert outside.read_bytes() == b"mine"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def make_closed_folder(workspace: Workspace) -> None:
    """Make a folder that only root can enter, as a program in the sandbox would."""
    inner = workspace.root / "output" / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "f").write_text("x")
    for folder_path in (inner, inner.parent):
        folder_path.chmod(0)


def test_root_reads_folders_without_permissions(
    workspace: Workspace, snapshots: SnapshotTracker, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can enter folders without permissions")
    make_closed_folder(workspace)
    assert "output/closed/inner/f" in snapshots.take().changed
    assert "output/closed/inner/f" in zip_workspace(workspace).namelist()
    assert copy_out(workspace, RelPath("output"), tmp_path / "out").copied
    undo_change(workspace, operations.remove(workspace, [RelPath("output/closed")]))
    assert stat.S_IMODE((workspace.root / "output" / "closed").stat().st_mode) == 0
    workspace.remove(RelPath("output/closed"))
    assert workspace.list(RelPath("output")) == []


@pytest.fixture
def user_workspace(workspace: Workspace) -> Workspace:
    """A workspace owned by an ordinary user, as of an application without root's rights."""
    make_closed_folder(workspace)
    workspace.staging.folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        for path in (workspace.root, workspace.staging.folder, *workspace.root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        let_others_enter(workspace.root)
    return workspace


def test_unreadable_folders_are_reported_to_an_ordinary_user(
    user_workspace: Workspace, snapshots: SnapshotTracker, tmp_path: Path
) -> None:
    path = RelPath("output/closed")
    with as_ordinary_user():
        assert_refused(
            lambda: user_workspace.list(path),
            lambda: user_workspace.open_read(RelPath(f"{path}/f")),
            match="permission denied",
        )
        delta = SnapshotTracker(user_workspace.root, snapshots._reader.blobs).take()
        assert "cannot be looked into" in delta.changed[path].reason
        assert "permission denied" in read_omission_note(zip_workspace(user_workspace))
        (row,) = list_folder(user_workspace, RelPath("output"), ListingQuery())["entries"]
        assert row["child_count"] is None


def test_an_ordinary_user_removes_their_own_unreadable_folders(user_workspace: Workspace) -> None:
    with as_ordinary_user():
        user_workspace.remove(RelPath("output/closed"))
        assert user_workspace.list(RelPath("output")) == []
        assert staged_names(user_workspace) == []


def test_a_workspace_replaced_by_a_link_is_not_followed(
    workspace: Workspace, snapshots: SnapshotTracker, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "output").mkdir(parents=True)
    (outside / FILE_PATH).write_text("secret")
    workspace.write(FILE_PATH, [b"x"])
    with WorkspaceWatcher(workspace.root.parent) as watch:
        watched = SnapshotTracker(
            workspace.root, BlobStore(tmp_path / "more"), watch, sweep_below=0
        )
        watched.take()
        workspace.root.rename(tmp_path / "moved")
        workspace.root.symlink_to(outside)
        assert_refused(
            lambda: workspace.list(ROOT),
            lambda: workspace.open_read(FILE_PATH),
            lambda: workspace.write(FILE_PATH, [b"x"]),
            lambda: workspace.remove(FILE_PATH),
            lambda: operations.rename(workspace, FILE_PATH, "g"),
            lambda: zip_workspace(workspace),
            lambda: copy_out(workspace, ROOT, tmp_path / "out"),
            snapshots.take,
            lambda: watched.take(final=True),
        )
    assert (outside / FILE_PATH).read_text() == "secret"
    assert not list((tmp_path / "blobs").rglob("*-*"))


@pytest.mark.contract
def test_a_missing_or_replaced_workspace_is_reported(workspace: Workspace) -> None:
    volume.discard(workspace.root)
    assert_refused(lambda: workspace.list(ROOT), match="does not exist")
    workspace.root.write_text("a file")
    assert_refused(lambda: workspace.list(ROOT), match="not a folder")


def test_moving_into_a_sandbox_follows_no_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = RunFolder.create(tmp_path / "data", "draft")
    source, target = folder.workspace, tmp_path / "data" / "sandboxes" / "warm" / "workspace"
    for folder_path in (source / "input" / "deep", source / "taken", target / "input"):
        folder_path.mkdir(parents=True)
    (source / "link").symlink_to(outside)
    (target / "taken").symlink_to(outside)
    with suppress(OSError):  # a link in place of a folder is not followed
        move_to_sandbox(folder, "warm", target)
    assert list(outside.iterdir()) == []
