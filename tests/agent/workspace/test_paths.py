"""Relative paths, and opening files despite links, devices and FIFOs."""

import errno
import fcntl
import os
import signal
from pathlib import Path

import pytest

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.paths import ROOT, RelPath


@pytest.fixture(params=["openat2", "component walk"])
def resolution(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "component walk":
        monkeypatch.setattr(paths, "HAS_OPENAT2", False)
    elif not paths.HAS_OPENAT2:
        pytest.skip("this kernel has no openat2")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("a/../b", "“..”"),
        ("..", "“..”"),
        ("./a", "“.”"),
        ("a//b", "empty name"),
        ("a/", "empty name"),
        ("a\0b", "NUL"),
        ("x" * 256, "too long"),
        ("ä" * 128, "too long"),
        ("x/" * 2100 + "x", "long"),
        ("\ud800", "not valid text"),
    ],
)
def test_unsafe_paths_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(WorkspaceError, match=reason):
        RelPath(text)


def test_a_path_has_a_name_and_a_parent() -> None:
    path = RelPath("a/b/c.txt")
    assert (path.name, path.parent, path.parent.parent.parent) == ("c.txt", "a/b", ROOT)
    assert ROOT.child("a") == "a"
    assert RelPath.from_url("") == ROOT
    assert RelPath(b"\xc3\xa9\xff%").to_url().isascii()
    assert RelPath(b"caf\xe9/\xff").display == "caf%E9/%FF"
    with pytest.raises(WorkspaceError):
        RelPath("a").child("b/c")
    with pytest.raises(WorkspaceError):
        RelPath.from_url("%2e%2e/secret")


def read_file(root: Path, path: str) -> bytes:
    with paths.host_folder_fd(root) as fd:
        file = paths.open_file(fd, path)
    with os.fdopen(file, "rb") as opened:
        return opened.read()


@pytest.mark.usefixtures("resolution")
def test_links_are_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to(secret)
    (root / "file").symlink_to(secret / "file")
    (root / "inner").mkdir()
    (root / "inner" / "up").symlink_to("..")
    for path in ("folder/file", "file", "inner/up/file", "inner/up/folder/file"):
        with pytest.raises(OSError, match=r"\[Errno"):
            read_file(root, path)
    with paths.host_folder_fd(root) as fd, pytest.raises(OSError, match=r"\[Errno"):
        paths.open_folder(fd, "folder")


@pytest.mark.usefixtures("resolution")
def test_special_files_are_rejected_without_opening_them(tmp_path: Path) -> None:
    names = ["fifo", "folder"]
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    if os.geteuid() == 0:  # only root can make a device; to open this one would fail with ENXIO
        os.mknod(tmp_path / "device", 0o600 | 0o020000, os.makedev(4, 250))
        names.append("device")
    for name in names:
        with pytest.raises(OSError, match="not a regular file") as caught:
            read_file(tmp_path, name)
        assert caught.value.errno == errno.EINVAL


def test_file_leases_do_not_block(tmp_path: Path) -> None:
    file = tmp_path / "leased"
    file.write_text("x")
    holder = os.open(file, os.O_RDWR)
    previous_handler = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with pytest.raises(BlockingIOError):
            read_file(tmp_path, "leased")
    finally:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(holder)
        signal.signal(signal.SIGIO, previous_handler)


def test_failures_leave_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "fifo")
    descriptors_before = len(list(Path("/proc/self/fd").iterdir()))
    for name in ("link", "link/passwd", "fifo", "missing", "missing/x"):
        with pytest.raises(OSError, match=r"\[Errno"):
            read_file(tmp_path, name)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors_before
