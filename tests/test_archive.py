"""A folder of the workspace as a zip that streams while it is made."""

import io
import os
import stat
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace.archive import LEFT_OUT, stream_zip
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "workspace").mkdir()
    return Workspace(tmp_path / "workspace")


def unzipped(workspace: Workspace, folder: RelPath = ROOT) -> zipfile.ZipFile:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(stream_zip(workspace, folder))))
    assert archive.testzip() is None
    return archive


def test_a_folder_comes_with_names_below_it_modes_and_empty_folders(workspace: Workspace) -> None:
    top = workspace.root / "output"
    (top / "sub" / "empty").mkdir(parents=True)
    (top / "a b é.txt").write_bytes(b"text")
    (top / "sub" / "run.sh").write_bytes(b"#!")
    (top / "sub" / "run.sh").chmod(0o4755)
    os.utime(top / "a b é.txt", (0, 0))
    archive = unzipped(workspace, RelPath("output"))
    assert archive.namelist() == ["a b é.txt", "sub/", "sub/empty/", "sub/run.sh"]
    assert archive.read("a b é.txt") == b"text"
    assert archive.getinfo("sub/run.sh").external_attr >> 16 == stat.S_IFREG | 0o755
    assert archive.getinfo("a b é.txt").date_time[0] == 1980


def test_links_and_special_files_stay_out_and_the_archive_says_so(workspace: Workspace) -> None:
    (workspace.root / "passwd").symlink_to("/etc/passwd")
    (workspace.root / "etc").symlink_to("/etc")
    os.mkfifo(workspace.root / "pipe")
    archive = unzipped(workspace)
    assert archive.namelist() == [LEFT_OUT]
    assert archive.read(LEFT_OUT).decode().splitlines() == [
        "etc: a link",
        "passwd: a link",
        "pipe: special",
    ]


def test_names_that_are_no_utf8_stay_apart(workspace: Workspace) -> None:
    (workspace.root / os.fsdecode(b"\xff")).write_bytes(b"raw")
    (workspace.root / "%FF").write_bytes(b"plain")
    archive = unzipped(workspace)
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "%FF": b"plain",
        "%FF (2)": b"raw",
    }


def test_a_file_that_shrinks_or_grows_meanwhile_leaves_a_valid_archive(
    workspace: Workspace,
) -> None:
    size = 4 * 1024**2
    for name in ("grows", "shrinks", "vanishes"):
        (workspace.root / name).write_bytes(os.urandom(size))
    chunks = []
    for chunk in stream_zip(workspace, ROOT):
        chunks.append(chunk)
        with (workspace.root / "grows").open("ab") as file:
            file.write(b"more")
        os.truncate(workspace.root / "shrinks", 1000)
        (workspace.root / "vanishes").unlink(missing_ok=True)
    archive = zipfile.ZipFile(io.BytesIO(b"".join(chunks)))
    assert archive.testzip() is None
    assert archive.getinfo("grows").file_size == size
    assert archive.getinfo("shrinks").file_size == 1000
    assert "vanishes" in archive.read(LEFT_OUT).decode()


def test_memory_does_not_grow_with_the_files(workspace: Workspace) -> None:
    with (workspace.root / "large").open("wb") as file:
        file.truncate(300 * 1024**2)
    tracemalloc.start()
    try:
        for _ in stream_zip(workspace, ROOT):
            pass
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_reader_who_leaves_early_is_no_trouble(workspace: Workspace) -> None:
    (workspace.root / "a").write_bytes(os.urandom(2 * 1024**2))
    stream = stream_zip(workspace, ROOT)
    assert next(stream)
    stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("folder", ["missing", "file", "link"])
def test_what_is_no_folder_is_refused(workspace: Workspace, folder: str) -> None:
    (workspace.root / "file").write_text("")
    (workspace.root / "link").symlink_to("/etc")
    with pytest.raises(WorkspaceError, match=folder):
        next(stream_zip(workspace, RelPath(folder)))
