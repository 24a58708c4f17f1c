"""Resumable uploads."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.errors import StorageFull, WorkspaceError
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.staging import UPLOAD_SECONDS
from agent.workspace.transfer import uploads
from tests.support.workspaces import staged_names

TARGET = RelPath("input/big")


def send(workspace: Workspace, upload: str, *data: bytes) -> None:
    with closing(uploads.open_writer(workspace, uploads.find(workspace, upload))) as part:
        part.write(*data)


def test_an_upload_resumes_and_appears_when_complete(workspace: Workspace) -> None:
    upload = uploads.start(workspace, TARGET, 6).id
    send(workspace, upload, b"ab", b"c")
    assert uploads.find(workspace, upload).offset == 3
    assert not (workspace.root / "input").exists()
    send(workspace, upload, b"def")
    assert uploads.finish(workspace, uploads.find(workspace, upload)) == TARGET
    assert (workspace.root / "input" / "big").read_bytes() == b"abcdef"
    finished = uploads.find(workspace, upload)
    assert (finished.offset, finished.final_path) == (6, TARGET)
    uploads.discard(workspace, upload)
    assert staged_names(workspace) == []
    assert (workspace.root / "input" / "big").exists()


def test_a_name_taken_meanwhile_keeps_both_files(workspace: Workspace) -> None:
    upload = uploads.start(workspace, TARGET, 1).id
    send(workspace, upload, b"2")
    workspace.write(TARGET, [b"1"])
    assert uploads.finish(workspace, uploads.find(workspace, upload)) == "input/big (2)"
    assert (workspace.root / TARGET).read_bytes() == b"1"


def test_bytes_beyond_the_declared_size_are_refused(workspace: Workspace) -> None:
    upload = uploads.start(workspace, TARGET, 2).id
    with pytest.raises(WorkspaceError, match="exceeds its stated size, 2 bytes"):
        send(workspace, upload, b"abc")
    assert uploads.find(workspace, upload).offset == 0


@pytest.mark.parametrize(
    ("quota_left", "min_free", "message"),
    [(99, 0, "this run can take 99 bytes more"), (None, 1 << 60, "the disk can take 0 bytes")],
)
def test_an_upload_larger_than_the_free_space_is_refused_at_the_start(
    workspace: Workspace, quota_left: int | None, min_free: int, message: str
) -> None:
    with pytest.raises(StorageFull, match=message):
        uploads.start(workspace, TARGET, 100, quota_left=quota_left, min_free=min_free)
    assert staged_names(workspace) == []


def test_an_invalid_id_is_refused(workspace: Workspace) -> None:
    for name in ("", "x", "0" * 24, "../../etc/passwd", "A" * 24):
        with pytest.raises(WorkspaceError, match="is unknown"):
            uploads.find(workspace, name)


def test_a_forbidden_destination_leaves_nothing(workspace: Workspace) -> None:
    (workspace.root / "input").symlink_to("/tmp")
    upload = uploads.start(workspace, TARGET, 0).id
    with pytest.raises(WorkspaceError):
        uploads.finish(workspace, uploads.find(workspace, upload))
    assert staged_names(workspace) == []


def test_an_upload_survives_a_restart_and_expires_after_a_day(workspace: Workspace) -> None:
    upload = uploads.start(workspace, TARGET, 6).id
    send(workspace, upload, b"abc")
    workspace.open_write(RelPath("never finished"))
    now = workspace.staging.folder.stat().st_mtime
    Workspace(workspace.root).staging.clean_up(now)
    assert uploads.find(workspace, upload).offset == 3
    assert len(staged_names(workspace)) == 2
    workspace.staging.clean_up(now + UPLOAD_SECONDS + 10)
    assert staged_names(workspace) == []


def test_cleanup_keeps_uploads_in_progress(workspace: Workspace) -> None:
    with workspace.open_write(RelPath("a")) as upload:
        workspace.staging.clean_up(exclusive=False)
        upload.write(b"x")
        upload.commit()
    assert (workspace.root / "a").read_bytes() == b"x"


def test_a_plain_upload_beyond_the_free_space_is_aborted(workspace: Workspace) -> None:
    upload = workspace.open_write(TARGET, max_size=5)
    upload.write(b"abc", b"de")
    with pytest.raises(StorageFull, match="more than 5 bytes, which is the space left"):
        upload.write(b"f")
    assert staged_names(workspace) == []
    assert list(workspace.root.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace on a disk of 4 MB."""
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount_point)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a disk can only be mounted by root")
    try:
        (mount_point / "workspace").mkdir()
        yield Workspace(mount_point / "workspace")
    finally:
        subprocess.run(["umount", str(mount_point)], check=True)


@pytest.mark.contract
def test_a_disk_that_fills_up_is_reported_and_leaves_nothing(small_disk: Workspace) -> None:
    with pytest.raises(StorageFull, match="the disk is full"):
        small_disk.write(TARGET, [bytes(1024**2)] * 5)
    assert list(small_disk.root.iterdir()) == []
    upload = uploads.start(small_disk, TARGET, 3 * 1024**2, min_free=0).id
    (small_disk.root / "other").write_bytes(bytes(2 * 1024**2))
    with pytest.raises(StorageFull, match="the disk is full"):
        send(small_disk, upload, bytes(3 * 1024**2))
    uploads.discard(small_disk, upload)
    assert staged_names(small_disk) == []


@pytest.mark.contract
def test_a_killed_writer_keeps_the_received_bytes(workspace: Workspace) -> None:
    upload = uploads.start(workspace, TARGET, 100).id
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from agent.workspace.transfer import uploads\n"
        "from agent.workspace.files import Workspace\n"
        "home = Workspace(Path(sys.argv[1]))\n"
        "uploads.open_writer(home, uploads.find(home, sys.argv[2])).write(b'x' * 40)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(workspace.root), upload],
        cwd=Path(__file__).parents[4],
    )
    assert uploads.find(workspace, upload).offset == 40
