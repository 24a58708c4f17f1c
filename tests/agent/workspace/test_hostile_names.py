"""Hostile file names and very deep folders.

Every operation succeeds or is refused with a message.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest

from agent.errors import WorkspaceError
from agent.provisioning.move_files import is_cheap_to_move
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import operations
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.workspace.listing import ListingQuery, list_folder
from tests.support.hostile.hostile_workspace import (
    make_deep_folders,
    read_omission_note,
    zip_workspace,
)
from tests.support.workspaces import assert_refused


@pytest.fixture(autouse=True)
def remove_deep_folders(tmp_path: Path) -> Iterator[None]:
    """Remove very deep folders, which pytest's own cleanup may not be able to remove."""
    yield
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


SIMILAR_NAMES = [
    (normalize("NFC", "é"), normalize("NFD", "é")),
    ("readme", "README"),
    ("ß", "ẞ"),
    ("a", "a "),
    ("x\n", "x"),
    (os.fsdecode(b"\xff"), "�"),
]


@pytest.mark.parametrize(("one", "other"), SIMILAR_NAMES)
def test_similar_looking_names_are_different_files(
    workspace: Workspace, snapshots: SnapshotTracker, one: str, other: str
) -> None:
    for name in (one, other):
        assert workspace.write(RelPath(f"output/{name}"), [os.fsencode(name)]).name == name
    assert {entry.name for entry in workspace.list(RelPath("output"))} == {one, other}
    snapshots.take()
    for name in (one, other):
        path = RelPath.from_url(RelPath(f"output/{name}").to_url())
        with workspace.open_read(path) as file:
            assert file.read() == os.fsencode(name)
        assert path in snapshots.manifest.nodes
    assert len(set(zip_workspace(workspace, RelPath("output")).namelist())) == 3
    operations.remove(workspace, [RelPath(f"output/{one}")])
    assert [entry.name for entry in workspace.list(RelPath("output"))] == [other]


def test_names_are_limited_to_255_bytes(workspace: Workspace) -> None:
    longest = "n" * 251 + ".txt"
    assert workspace.write(RelPath(longest), [b"x"]) == longest
    second = workspace.write(RelPath(longest), [b"x"])
    assert len(second) == 255
    assert second.endswith("(2).txt")
    with pytest.raises(WorkspaceError, match="too long"):
        operations.rename(workspace, RelPath(longest), "n" * 256)


@pytest.mark.nightly
def test_files_beyond_the_path_limit_are_omitted_and_removable(
    workspace: Workspace, snapshots: SnapshotTracker, tmp_path: Path
) -> None:
    make_deep_folders(workspace.root / "output", 3000)
    snapshots.take()
    assert any(node.reason for node in snapshots.manifest.nodes.values())
    assert bytes_on_disk(workspace.root) > 0
    assert "too long" in read_omission_note(zip_workspace(workspace))
    assert list_folder(workspace, ROOT, ListingQuery(words="end"))["entries"] == []
    workspace.remove(RelPath("output/d"))
    assert not (workspace.root / "output" / "d").exists()


def test_a_name_beyond_the_path_limit_breaks_no_listing_and_none_is_moved_there(
    workspace: Workspace,
) -> None:
    folder = RelPath("/".join(["d" * 200] * 20))
    workspace.make_folder(folder)
    with workspace.open_root(folder) as root:
        folder_fd = os.open(folder, os.O_RDONLY, dir_fd=root)
        os.close(os.open("n" * 200, os.O_CREAT | os.O_WRONLY, dir_fd=folder_fd))
        os.close(os.open("short", os.O_CREAT | os.O_WRONLY, dir_fd=folder_fd))
        os.close(folder_fd)
    rows = list_folder(workspace, folder, ListingQuery())["entries"]
    assert [row["name"] for row in rows] == ["n" * 200, "short"]
    matches = list_folder(workspace, ROOT, ListingQuery(words="nnn"))["entries"]
    assert [row["name"] for row in matches] == ["n" * 200]
    name = workspace.write(RelPath("n" * 200), [b"x"])
    assert_refused(
        lambda: RelPath.from_url(rows[0]["path"]),
        lambda: operations.move(workspace, [name], folder),
        match="the maximum is 4095",
    )
    assert workspace.stat(name).kind == "file"


@pytest.mark.contract
def test_a_sandbox_of_any_depth_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    sandbox = tmp_path / "data" / "sandboxes" / "some"
    sandbox.mkdir(parents=True)
    (sandbox / "link").symlink_to(outside)
    make_deep_folders(sandbox, 3000)
    volume.discard(sandbox)
    assert not sandbox.exists()
    assert outside.is_dir()


def test_very_deep_files_are_not_cheap_to_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moving them into an existing sandbox would take longer than creating one."""
    folder = RunFolder.create(tmp_path, "draft")
    folder.workspace.mkdir(parents=True)
    monkeypatch.setattr(volume, "is_attached", lambda _: True)
    volume.disk_image(folder.sandbox_folder).parent.mkdir()
    volume.disk_image(folder.sandbox_folder).write_bytes(bytes(1000))
    Workspace(folder.workspace).write(RelPath("d/" * 2000 + "f"), [b"x"])
    assert not is_cheap_to_move(folder)
