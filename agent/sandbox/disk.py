"""A sandbox's own disk: a file system of a fixed size in a sparse file, mounted on its folder.

::

    <data>/sandboxes/<sandbox>     where it is mounted: the workspace, and what is staged for it
    <data>/disks/<sandbox>         the file, which takes of the host's disk what is in use

So the workspace is full where the quota says, however fast it is filled. It needs root and loop
devices; where they are missing a sandbox's folder is a plain one, and all of this leaves it be.
Nothing is remembered but in these paths and in the kernel's mounts: a process that is killed
leaves nothing that the next one does not find.
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
# Nothing reserved for root, nothing written before it is needed.
_FORMAT = "-q -F -m 0 -O ^resize_inode -J size=4 -E nodiscard,lazy_itable_init=1"


def image(folder: Path) -> Path:
    """The file of the disk that is mounted on a sandbox's folder, where it has one."""
    return folder.parent.parent / "disks" / folder.name


def make(folder: Path, size: int) -> bool:
    """Give a sandbox whose folder is still to be made a disk of its own.

    Args:
        folder: The sandbox's folder.
        size: Bytes, what the file system itself needs included.

    Returns:
        Whether it has one; the log says why not.
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
    """Whether what is in a sandbox's folder can be seen there: it is mounted, or a plain one."""
    return not image(folder).exists() or _mounted(folder)


def attach(folder: Path) -> None:
    """Mount a sandbox's disk where it has one and that is not mounted.

    Raises:
        SandboxError: it cannot be mounted.
    """
    if attached(folder):
        return
    with _lock:
        if attached(folder):
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        # A disk that another process still holds mounted is found by mount, and shared.
        _do("mount", "-t", "ext4", "-o", _MOUNT, str(image(folder)), str(folder))


def detach(folder: Path, *, idle: bool = False) -> None:
    """Unmount a sandbox's disk; its files stay. Who has one open keeps that until it is closed.

    Args:
        folder: The sandbox's folder.
        idle: Only where nobody has anything open.
    """
    with _lock:
        if _mounted(folder):
            try:
                _do("umount", *([] if idle else ["--lazy"]), str(folder))
            except SandboxError as error:
                if not idle:
                    _log.warning("A sandbox's disk cannot be unmounted: %s", error)


def detach_all(data: Path) -> None:
    """Unmount all disks of a data folder; each is mounted again when it is looked at."""
    for file in _images(data):
        detach(data / "sandboxes" / file.name)


def discard(folder: Path) -> None:
    """Remove a sandbox's folder with all it holds, as far as that can be done."""
    detach(folder)
    if not _mounted(folder):
        with suppress(OSError):
            image(folder).unlink(missing_ok=True)
        with suppress(SandboxError):  # a program of its own, which no depth brings down
            _do("rm", "-rf", "--one-file-system", "--", str(folder))


def move(folder: Path, destination: Path) -> None:
    """Move a sandbox's folder that nobody works in, its disk too. Raises ``OSError``."""
    detach(folder)
    folder.rename(destination)
    if image(folder).exists():
        image(destination).parent.mkdir(mode=0o700, exist_ok=True)
        image(folder).rename(image(destination))


def orphans(data: Path, named: set[str]) -> Iterator[Path]:
    """A data folder's sandbox folders but for those named; only a disk may be left of one."""
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
