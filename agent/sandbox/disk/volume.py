"""A sandbox's own disk: a fixed-size file system in a sparse file, mounted on its folder.

::

    <data>/sandboxes/<sandbox>     the mount point: the workspace and its staging folder
    <data>/disks/<sandbox>         the sparse file, which takes only the space in use; before the
                                   first use a text file with its size in bytes
    <data>/empty-disks/<id>        a formatted disk of one size, which new ones are copies of
    <data>/unassigned/<sandbox>    an empty file while no run has the sandbox; its name ends with
                                   ``.<run>`` while one gets it or leaves it

Without root and loop devices, a sandbox's folder is a plain folder. All state is in these paths and
the kernel's mounts, so that a killed process leaves nothing untracked. A disk is unmounted only
while nothing in it is open.
"""

import ctypes
import errno
import hashlib
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from agent.errors import SandboxError
from agent.sandbox.keyed_locks import KeyedLocks

_log = logging.getLogger(__name__)
_locks = KeyedLocks[Path]()  # for mounting and unmounting
_NEW = "lost+found"
"""A folder of each new file system, removed once those of the workspace are made."""
_UNASSIGNED, _COMPLETE = "unassigned", ".complete"
_format_lock = threading.Lock()
_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2
_DETACH_THREADS = 8
_MAX_PLAN_BYTES = 64  # no disk is that small
_TIMEOUT_SECONDS = 60
_UNMOUNT_ATTEMPTS, _UNMOUNT_SECONDS = 20, 0.25
_REPAIR_BYTES = 16 * 1024**2
_FSCK_REPAIRED = (0, 1, 2)  # no errors, or errors that were corrected
_HOST_DISK_FULL = (
    "The studio's disk is full, and the sandbox's disk cannot be written until it is not. "
    "Free some space on the studio's disk, then send a message to continue."
)
_IN_USE = (
    "The sandbox's disk failed and cannot be repaired while its files are open. Close the "
    "downloads and previews of this run, then send a message to continue."
)
_TOOL_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_MOUNT_OPTIONS = "loop,nosuid,nodev,noatime,discard,errors=remount-ro"
# No blocks reserved for root; blocks are written only when needed.
_MKFS_OPTIONS = "-q -F -m 0 -O ^resize_inode -J size=4 -E nodiscard,lazy_itable_init=1"
_ESCAPED = {ord(each): f"\\{ord(each):03o}" for each in " \t\n\\"}  # in the list of mounts


def disk_image(folder: Path) -> Path:
    """Return the path of the disk image for a sandbox's folder; it may not exist."""
    return folder.parent.parent / "disks" / folder.name


def create(folder: Path, size: int | None) -> None:
    """Create a sandbox's folder; its disk, of ``size`` bytes or none, is made on its first use."""
    file, mark = disk_image(folder), _mark(folder)
    for parent in (file.parent, mark.parent, folder.parent):
        parent.mkdir(mode=0o700, exist_ok=True)
    mark.touch()
    folder.mkdir(mode=0o700, exist_ok=True)
    if size is not None and os.geteuid() == 0:
        file.write_text(str(size))
    else:
        _make_workspace(folder)


def is_unused(folder: Path) -> bool:
    """Return whether a sandbox's disk is not made yet, so that it has no files."""
    try:
        return disk_image(folder).stat().st_size < _MAX_PLAN_BYTES
    except FileNotFoundError:
        return False


def _make(folder: Path) -> None:
    """Make the disk that was planned for a sandbox."""
    file = disk_image(folder)
    size, part = int(file.read_text()), file.with_suffix(".part")
    empty = _empty_disk(folder, size)
    try:
        empty.parent.mkdir(mode=0o700, exist_ok=True)
        _format_once(empty, size)
        _copy_sparse(empty, part)
        part.replace(file)
        _mount(folder)
    except (OSError, SandboxError):
        part.unlink(missing_ok=True)
        with suppress(OSError):
            empty.unlink(missing_ok=True)  # in case it is damaged
        raise


def _make_workspace(folder: Path) -> None:
    for name in ("input", "output"):
        (folder / "workspace" / name).mkdir(parents=True, exist_ok=True)


def _empty_disk(folder: Path, size: int) -> Path:
    """Return where the formatted disk of a size is kept, next to a sandbox's folder."""
    name = hashlib.sha256(f"{size} {_MKFS_OPTIONS}".encode()).hexdigest()[:16]
    return folder.parent.parent / "empty-disks" / name


def _format_once(file: Path, size: int) -> None:
    """Create a formatted disk if it does not exist: to copy it takes a tenth of the time."""
    with _format_lock:
        if file.exists():
            return
        part = file.with_suffix(".part")
        _create_sparse(part, size)
        _run_tool("mkfs.ext4", *_MKFS_OPTIONS.split(), str(part))
        with part.open("rb") as formatted:
            os.fsync(formatted.fileno())
        part.replace(file)


def _create_sparse(file: Path, size: int) -> None:
    """Create a file of zeros that takes no space, replacing an earlier one."""
    file.unlink(missing_ok=True)
    with file.open("xb") as created:
        os.fchmod(created.fileno(), 0o600)
        created.truncate(size)


def _copy_sparse(source: Path, target: Path) -> None:
    """Copy a file without its holes."""
    with source.open("rb") as old:
        _create_sparse(target, os.fstat(old.fileno()).st_size)
        with target.open("r+b") as new:
            end = 0
            while (begin := _next_data(old.fileno(), end)) is not None:
                end = os.lseek(old.fileno(), begin, os.SEEK_HOLE)
                os.lseek(new.fileno(), begin, os.SEEK_SET)
                while begin < end:
                    begin += os.sendfile(new.fileno(), old.fileno(), begin, end - begin)


def _next_data(file: int, after: int) -> int | None:
    """Return where a file's next data begin; None if only a hole is left."""
    try:
        return os.lseek(file, after, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise


def is_attached(folder: Path) -> bool:
    """Return whether a sandbox's files are visible in its folder: plain, or disk mounted."""
    return not disk_image(folder).exists() or _is_mounted(folder)


def attached(data: Path) -> list[Path]:
    """Return the folders of a data folder's sandboxes whose disks are mounted."""
    parent = f"{data.resolve() / 'sandboxes'}/".translate(_ESCAPED)
    mounts = Path("/proc/self/mounts")
    targets = (
        [line.split()[1] for line in mounts.read_text().splitlines()] if mounts.exists() else []
    )
    names = [each.removeprefix(parent) for each in targets if each.startswith(parent)]
    return [data / "sandboxes" / name for name in names if "/" not in name]


def attach(folder: Path) -> None:
    """Mount a sandbox's disk, or make it; without disks on this host, make a plain folder."""
    if _is_complete(folder):
        return
    with _locks.of(folder):
        if _is_complete(folder):
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        unused = is_unused(folder)
        try:
            if unused:
                _make(folder)
            elif not _is_mounted(folder):
                _mount(folder)
        except OSError as error:
            raise SandboxError(_HOST_DISK_FULL) from error
        except SandboxError as error:
            if not unused:
                raise
            _log.warning("A sandbox has no disk of its own; its usage is only monitored: %s", error)
            disk_image(folder).unlink(missing_ok=True)
        new = folder / _NEW
        if unused or new.exists():
            folder.chmod(0o700)
            _make_workspace(folder)
            with suppress(OSError):
                new.rmdir()  # last: a process that dies before this is repeated


def _is_complete(folder: Path) -> bool:
    """Return whether a sandbox's files are visible, in a new disk with its folders."""
    return is_attached(folder) and not (folder / _NEW).exists()


def _mount(folder: Path) -> None:
    # If another process still has the disk mounted, mount reuses that file system.
    _run_tool("mount", "-t", "ext4", "-o", _MOUNT_OPTIONS, str(disk_image(folder)), str(folder))


def _unmount(folder: Path, flags: int = 0) -> None:
    """Unmount a disk. Raises ``OSError``, with EBUSY while something in it is open."""
    if _libc.umount2(os.fsencode(folder), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep a sandbox's disk mounted for the block; mount it first if it is not."""
    while True:
        attach(folder)
        try:
            opened = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            yield  # the sandbox was deleted
            return
        try:
            if os.fstat(opened).st_dev != _device_above(folder) or not disk_image(folder).exists():
                yield
                return
        finally:
            os.close(opened)


def is_broken(folder: Path) -> bool:
    """Return whether a mounted disk is read-only, since the host's disk below it is full."""
    if not disk_image(folder).exists() or not _is_mounted(folder):
        return False
    try:
        os.utime(folder)  # statvfs reports such a file system as writable since Linux 6.14
    except OSError as error:
        return error.errno in (errno.EROFS, errno.EIO)
    return False


def repair(folder: Path) -> None:
    """Check and mount again a broken disk of a sandbox whose container does not run."""
    if not is_broken(folder):
        return
    image = disk_image(folder)
    host = os.statvfs(image.parent)
    if host.f_bavail * host.f_frsize < _REPAIR_BYTES:
        raise SandboxError(_HOST_DISK_FULL)
    with _locks.of(folder):
        for left in reversed(range(_UNMOUNT_ATTEMPTS)):
            try:
                _unmount(folder)
                break
            except OSError as error:
                if not left:
                    raise SandboxError(_IN_USE) from error
                time.sleep(_UNMOUNT_SECONDS)
        _run_tool("fsck.ext4", "-f", "-y", str(image), accepted=_FSCK_REPAIRED)
    attach(folder)


def detach(folder: Path, *, idle: bool = False) -> None:
    """Unmount a disk, which open files still use; ``idle``: only if none is and a run has it."""
    with _locks.of(folder):
        if _is_mounted(folder) and not (idle and _mark(folder).exists()):
            try:
                _unmount(folder, 0 if idle else _MNT_DETACH)
            except OSError as error:
                if not idle:
                    _log.warning("A sandbox's disk cannot be unmounted: %s", error)


def _mark(folder: Path, run: str = "") -> Path:
    return folder.parent.parent / _UNASSIGNED / (f"{folder.name}.{run}" if run else folder.name)


@contextmanager
def assigned(folder: Path, run: str) -> Iterator[None]:
    """Assign a sandbox to a run, whose record is written in the block."""
    with suppress(FileNotFoundError):
        _mark(folder).rename(_mark(folder, run))
    yield
    _mark(folder, run).unlink(missing_ok=True)


def leave(folder: Path, run: str) -> None:
    """Note that a run will leave its sandbox; ``discard`` it once the run no longer names it."""
    with suppress(FileNotFoundError):  # an earlier version made it
        _mark(folder, run).touch()


def is_assigned(folder: Path) -> bool:
    """Return whether a sandbox exists and a run has it."""
    return (folder.exists() or disk_image(folder).exists()) and not _mark(folder).exists()


def detach_all(data: Path) -> None:
    """Unmount all disks of a data folder; each is mounted again on its next use."""
    with ThreadPoolExecutor(_DETACH_THREADS) as executor:
        list(executor.map(detach, attached(data)))


def discard(folder: Path) -> None:
    """Remove a sandbox's disk and its folder; ignore errors."""
    detach(folder)
    if not _is_mounted(folder):
        with suppress(OSError):
            disk_image(folder).unlink(missing_ok=True)
        with suppress(OSError, SandboxError):
            remove(folder)
            for mark in (_mark(folder), *_mark(folder).parent.glob(f"{folder.name}.*")):
                mark.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove a folder with its contents at any depth; do nothing if it is missing."""
    with suppress(OSError):
        return folder.rmdir()  # an empty one, as most are
    if os.path.lexists(folder):
        # Another program, since Python's recursion limit is lower than the depth of a tree.
        _run_tool("rm", "-rf", "--one-file-system", "--", str(folder))


def move(folder: Path, destination: Path) -> None:
    """Move an unused sandbox's folder and its disk. Raises ``OSError`` on failure."""
    detach(folder)
    folder.rename(destination)
    if disk_image(folder).exists():
        disk_image(destination).parent.mkdir(mode=0o700, exist_ok=True)
        disk_image(folder).rename(disk_image(destination))


def find_orphans(data: Path, sandboxes: Callable[[str], Container[str]]) -> Iterator[Path]:
    """Yield folders of sandboxes without a run; ``sandboxes`` of "" returns those of all runs."""
    marks = data / _UNASSIGNED
    if not (marks / _COMPLETE).exists():
        assigned = sandboxes("")
        found = {path.name for name in ("sandboxes", "disks") for path in (data / name).glob("*")}
        yield from (data / "sandboxes" / name for name in found if name not in assigned)
        marks.mkdir(mode=0o700, exist_ok=True)
        (marks / _COMPLETE).touch()
    for mark in marks.glob("[!.]*"):
        name, _, run = mark.name.partition(".")
        if run and name in sandboxes(run):
            mark.unlink()
        else:
            yield data / "sandboxes" / name


def _is_mounted(folder: Path) -> bool:
    try:
        return folder.lstat().st_dev != _device_above(folder)
    except FileNotFoundError:
        return False


def _device_above(folder: Path) -> int:
    return folder.parent.stat().st_dev


def _run_tool(name: str, *arguments: str, accepted: Container[int] = (0,)) -> None:
    """Run a program. The error names no path of the host: users and models read it."""
    tool = shutil.which(name, path=_TOOL_PATH)
    if tool is None:
        raise SandboxError(f"{name} is not installed.")
    try:
        done = subprocess.run(
            [tool, *arguments],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{name} did not end in time.") from error
    if done.returncode not in accepted:
        output = " ".join((done.stderr or done.stdout).split())
        _log.warning("%s failed: %s", " ".join((name, *arguments)), output)
        raise SandboxError(
            f"The sandbox's disk cannot be used: {name} failed with exit code "
            f"{done.returncode}. The studio's log says why."
        )
