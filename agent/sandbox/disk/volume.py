"""A sandbox's own disk: a fixed-size file system in a sparse file, mounted on its folder.

::

    <data>/sandboxes/<sandbox>     the mount point: the workspace and its staging folder
    <data>/disks/<sandbox>         the sparse file, which takes only the space in use

This enforces the quota at any write speed. It requires root and loop devices; without them a
sandbox's folder is a plain folder, which these functions leave as it is. All state is in these
paths and the kernel's mounts, so that nothing is lost track of when the process is killed.
"""

import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.errors import SandboxError

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_SECONDS = 60
_TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"
_MOUNT = "loop,nosuid,nodev,noatime,discard,errors=remount-ro"
# No blocks reserved for root; blocks are written only when needed.
_FORMAT = "-q -F -m 0 -O ^resize_inode -J size=4 -E nodiscard,lazy_itable_init=1"


def image(folder: Path) -> Path:
    """Return the path of the disk image for a sandbox's folder; it may not exist."""
    return folder.parent.parent / "disks" / folder.name


def make(folder: Path, size: int) -> bool:
    """Create and mount a disk for a sandbox whose folder does not exist yet.

    Args:
        folder: The sandbox's folder.
        size: Size in bytes, including the file system's overhead.

    Returns:
        Whether the sandbox now has a disk; failures are logged.
    """
    if os.geteuid() != 0:
        return False
    file = image(folder)
    try:
        for parent in (file.parent, folder.parent):
            parent.mkdir(mode=0o700, exist_ok=True)
        with file.open("xb") as made:
            os.fchmod(made.fileno(), 0o600)
            made.truncate(size)
        _do("mkfs.ext4", *_FORMAT.split(), str(file))
        attach(folder)
        folder.chmod(0o700)
        (folder / "lost+found").rmdir()
    except (OSError, SandboxError) as error:
        _log.warning(
            "A sandbox's disk is only watched, since it can have none of its own: %s", error
        )
        discard(folder)
        return False
    return True


def attached(folder: Path) -> bool:
    """Return whether a sandbox's files are visible in its folder: plain, or disk mounted."""
    return not image(folder).exists() or _mounted(folder)


def attach(folder: Path) -> None:
    """Mount a sandbox's disk if it has one and it is not mounted.

    Raises:
        SandboxError: the disk cannot be mounted.
    """
    if attached(folder):
        return
    with _lock:
        if attached(folder):
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        # If another process still has the disk mounted, mount reuses that file system.
        _do("mount", "-t", "ext4", "-o", _MOUNT, str(image(folder)), str(folder))


def detach(folder: Path, *, idle: bool = False) -> None:
    """Unmount a sandbox's disk and keep its files. Open files stay usable until closed.

    Args:
        folder: The sandbox's folder.
        idle: Unmount only if no file is open.
    """
    with _lock:
        if _mounted(folder):
            try:
                _do("umount", *([] if idle else ["--lazy"]), str(folder))
            except SandboxError as error:
                if not idle:
                    _log.warning("A sandbox's disk cannot be unmounted: %s", error)


def detach_all(data: Path) -> None:
    """Unmount all disks of a data folder; each is mounted again on its next use."""
    for file in _images(data):
        detach(data / "sandboxes" / file.name)


def discard(folder: Path) -> None:
    """Remove a sandbox's disk and folder with its contents; ignore errors."""
    detach(folder)
    if not _mounted(folder):
        with suppress(OSError):
            image(folder).unlink(missing_ok=True)
        with suppress(SandboxError):
            remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder with its contents at any depth; do nothing if it is missing.

    Raises:
        SandboxError: some of it is left.
    """
    _do("rm", "-rf", "--one-file-system", "--", str(folder))  # avoids Python's recursion limit


def move(folder: Path, destination: Path) -> None:
    """Move an unused sandbox's folder and its disk. Raises ``OSError`` on failure."""
    detach(folder)
    folder.rename(destination)
    if image(folder).exists():
        image(destination).parent.mkdir(mode=0o700, exist_ok=True)
        image(folder).rename(image(destination))


def orphans(data: Path, named: set[str]) -> Iterator[Path]:
    """Yield a data folder's sandbox folders not in ``named``; one may have only a disk left."""
    found = {path.name for path in (data / "sandboxes").glob("*")}
    for name in (found | {path.name for path in _images(data)}) - named:
        yield data / "sandboxes" / name


def _images(data: Path) -> list[Path]:
    return list((data / "disks").glob("*"))


def _mounted(folder: Path) -> bool:
    try:
        return folder.lstat().st_dev != folder.parent.stat().st_dev
    except FileNotFoundError:
        return False


def _do(name: str, *arguments: str) -> None:
    tool = shutil.which(name, path=_TOOLS)
    if tool is None:
        raise SandboxError(f"{name} is not installed.")
    try:
        done = subprocess.run(
            [tool, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{name} did not end.") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise SandboxError(f"{name} failed: {said or done.returncode}")
