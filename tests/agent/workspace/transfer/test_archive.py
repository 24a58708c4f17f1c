"""Downloads of files and folders as a streamed ZIP archive."""

import io
import itertools
import os
import shutil
import stat
import subprocess
import tracemalloc
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.transfer.archive import ArchiveBuilder
from agent.workspace.transfer.zip_stream import NOTE_NAME, ZipStream


def build_zip(workspace: Workspace, *selected: str) -> ZipStream:
    builder = ArchiveBuilder()
    builder.add_files(workspace, [RelPath(path) for path in selected])
    return builder.build()


def open_zip(workspace: Workspace, *selected: str) -> zipfile.ZipFile:
    stream = build_zip(workspace, *selected)
    return read_zip(stream.size, stream.chunks())


def read_zip(size: int, chunks: Iterable[bytes]) -> zipfile.ZipFile:
    data = b"".join(chunks)
    assert len(data) == size
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    return archive


def test_a_folder_keeps_its_name_modes_and_empty_folders(workspace: Workspace) -> None:
    top = workspace.root / "output"
    (top / "sub" / "empty").mkdir(parents=True)
    (top / "a b é.txt").write_bytes(b"text")
    (top / "sub" / "run.sh").write_bytes(b"#!")
    (top / "sub" / "run.sh").chmod(0o4755)
    (top / "sub" / "nothing").touch()
    os.utime(top / "a b é.txt", (0, 0))
    archive = open_zip(workspace, "output")
    assert archive.namelist() == [
        "output/", "output/a b é.txt", "output/sub/", "output/sub/empty/",
        "output/sub/nothing", "output/sub/run.sh",
    ]  # fmt: skip
    assert archive.read("output/a b é.txt") == b"text"
    assert archive.getinfo("output/sub/run.sh").external_attr >> 16 == stat.S_IFREG | 0o755
    assert archive.getinfo("output/a b é.txt").date_time[0] == 1980


def test_a_selection_is_relative_to_its_common_folder_without_duplicates(
    workspace: Workspace,
) -> None:
    (workspace.root / "d" / "e").mkdir(parents=True)
    for name in ("d/a", "d/b", "d/e/c"):
        (workspace.root / name).write_text(name)
    assert open_zip(workspace, "d/a", "d/e", "d/e/c", "d/a").namelist() == ["a", "e/", "e/c"]
    assert open_zip(workspace, "d/e/c").namelist() == ["c"]
    assert open_zip(workspace).namelist() == ["d/", "d/a", "d/b", "d/e/", "d/e/c"]


@pytest.mark.contract
@pytest.mark.skipif(not shutil.which("unzip"), reason="unzip is not installed")
def test_unzip_can_extract_the_archive(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.root / "d").mkdir()
    (workspace.root / "d" / "日本 ﷽.txt").write_text("content")
    (workspace.root / "link").symlink_to("/etc")
    (tmp_path / "a.zip").write_bytes(b"".join(build_zip(workspace).chunks()))
    result = subprocess.run(
        ["unzip", "-t", str(tmp_path / "a.zip")], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "No errors detected" in result.stdout


def test_links_and_special_files_are_omitted_with_a_note(workspace: Workspace) -> None:
    (workspace.root / "passwd").symlink_to("/etc/passwd")
    (workspace.root / "etc").symlink_to("/etc")
    os.mkfifo(workspace.root / "pipe")
    archive = open_zip(workspace)
    assert archive.namelist() == [NOTE_NAME]
    assert archive.read(NOTE_NAME) == b"etc: a link\npasswd: a link\npipe: special\n"
    assert open_zip(workspace, "etc").read(NOTE_NAME) == b"etc: a link\n"


def test_names_are_unique_and_safe_on_every_system(workspace: Workspace) -> None:
    for name, content in ((b"\xff", "raw"), (b"%FF", "plain"), (b"..\\..\\x", "up")):
        (workspace.root / os.fsdecode(name)).write_text(content)
    (workspace.root / NOTE_NAME).write_text("mine")
    (workspace.root / "link").symlink_to("/")
    archive = open_zip(workspace)
    assert {name: archive.read(name) for name in archive.namelist()} == {
        "%FF": b"plain",
        "%FF (2)": b"raw",
        "..%5C..%5Cx": b"up",
        NOTE_NAME: b"mine",
        f"{NOTE_NAME} (2)": b"link: a link\n",
    }


def test_files_changing_during_the_download_keep_the_archive_valid(
    workspace: Workspace,
) -> None:
    size = 4 * 1024**2
    for name in ("a", "grows", "shrinks", "vanishes"):
        (workspace.root / name).write_bytes(os.urandom(size))
    stream = build_zip(workspace)
    chunks = stream.chunks()
    first = next(chunks)
    with (workspace.root / "grows").open("ab") as file:
        file.write(b"more")
    os.truncate(workspace.root / "shrinks", 1000)
    (workspace.root / "vanishes").unlink()
    archive = read_zip(stream.size, itertools.chain([first], chunks))
    assert archive.namelist() == ["a", "grows", "shrinks", NOTE_NAME]
    assert archive.getinfo("grows").file_size == size
    assert archive.getinfo("shrinks").file_size == 1000
    note = archive.read(NOTE_NAME).decode()
    assert f"shrinks: its last {size - 1000} bytes" in note
    assert "“vanishes” does not exist" in note


def test_long_omission_notes_are_truncated_and_the_size_is_correct(workspace: Workspace) -> None:
    for number in range(300):
        (workspace.root / f"{number}").touch()
    (workspace.root / "zz").write_bytes(b"stays")
    stream = build_zip(workspace)
    for number in range(300):
        (workspace.root / f"{number}").unlink()
    archive = read_zip(stream.size, stream.chunks())
    assert archive.namelist() == ["zz", NOTE_NAME]
    assert "does not exist" in archive.read(NOTE_NAME).decode()


@contextmanager
def memory_below(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1024**2
    finally:
        tracemalloc.stop()


@pytest.mark.nightly
def test_memory_does_not_grow_with_file_size(workspace: Workspace) -> None:
    with (workspace.root / "large").open("wb") as file:
        file.truncate(300 * 1024**2)
    stream = build_zip(workspace)
    with memory_below(8):
        assert sum(map(len, stream.chunks())) == stream.size


@pytest.mark.nightly
def test_a_tree_of_ten_thousand_files_takes_a_few_megabytes(workspace: Workspace) -> None:
    for folder in range(100):
        (workspace.root / f"{folder}").mkdir()
        for number in range(100):
            (workspace.root / f"{folder}" / f"{number}").write_bytes(b"x")
    with memory_below(24):
        stream = build_zip(workspace)
        assert sum(map(len, stream.chunks())) == stream.size


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_more_than_four_gigabytes_and_more_than_65535_names(
    workspace: Workspace, tmp_path: Path
) -> None:
    with (workspace.root / "a").open("wb") as file:
        file.truncate(4 * 1024**3 + 5)
    (workspace.root / "b").write_text("behind it")
    for number in range(66_000):
        (workspace.root / f"n{number}").touch()
    stream = build_zip(workspace)
    with (tmp_path / "a.zip").open("wb") as out:
        for chunk in stream.chunks():
            if chunk.count(0) == len(chunk):
                out.seek(len(chunk), os.SEEK_CUR)
            else:
                out.write(chunk)
    assert (tmp_path / "a.zip").stat().st_size == stream.size
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert len(archive.namelist()) == 66_002
        assert archive.read("b") == b"behind it"
        assert archive.testzip() is None


def test_an_aborted_download_is_handled(workspace: Workspace) -> None:
    (workspace.root / "a").write_bytes(os.urandom(2 * 1024**2))
    stream = build_zip(workspace).chunks()
    assert next(stream)
    stream.close()  # type: ignore[attr-defined]


def test_missing_files_are_refused(workspace: Workspace) -> None:
    (workspace.root / "link").symlink_to("/etc")
    for path in ("missing", "link/passwd"):
        with pytest.raises(WorkspaceError, match=path):
            build_zip(workspace, path)
