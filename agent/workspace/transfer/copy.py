"""Copy files from the host to a workspace, and from a workspace to the host."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT, RelPath
from agent.workspace.transfer.uploads import check_room
from agent.workspace.tree import free_names, walk

_CHUNK = 1024**2


@dataclass(slots=True)
class Report:
    """Result of a copy.

    Attributes:
        copied: Source paths of the copied files.
        left_out: A message for the user for each path not copied, with the reason.
    """

    copied: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave(self, path: str, why: str) -> None:
        """Record that ``path`` was not copied."""
        self.left_out.append(f"{paths.shown(path)}: {why}")


def copy_in(workspace: Workspace, source: Path, folder: RelPath = ROOT) -> Report:
    """Copy a file or a folder of the host into ``folder`` of the workspace.

    The user names ``source`` explicitly, so it may be a link. Inside a folder only regular
    files and folders are copied, since a link could expose files the user did not mean to
    share.

    Raises:
        WorkspaceError: ``source`` does not exist, cannot be read or does not fit.
    """
    report = Report()
    try:
        given = source.resolve(strict=True)
        path = folder.child(source.name or given.name)
        if given.is_file():
            with given.open("rb") as file:
                _take(workspace, file, path)
            report.copied.append(str(given))
        elif given.is_dir():
            _take_folder(workspace, given, path, report)
        else:
            raise WorkspaceError(f"{source} is neither a file nor a folder.")
    except OSError as error:
        raise WorkspaceError(f"{source} cannot be read: {error.strerror}.") from error
    return report


def copy_out(workspace: Workspace, folder: RelPath, destination: Path) -> Report:
    """Copy the contents of a workspace folder to a host folder.

    Nothing in ``destination`` is overwritten: on a conflict the copy gets a free name. Links,
    devices, sockets and FIFOs are left out; hard links become separate files; setuid, setgid
    and sticky bits and foreign owners are not copied.

    Raises:
        WorkspaceError: ``folder`` does not exist, or ``destination`` cannot be written.
    """
    report = Report()
    try:
        destination.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{destination} cannot be made: {error.strerror}.") from error
    with workspace.opened(folder) as root, paths.opened_folder(root, folder):
        _hand_out(workspace, root, folder, destination, report)
    return report


def _take(workspace: Workspace, file: BinaryIO, path: RelPath) -> None:
    check_room(workspace, path, os.fstat(file.fileno()).st_size, floor=0)
    with workspace.begin(path) as upload:
        while chunk := file.read(_CHUNK):
            upload.write(chunk)
        upload.commit()


def _take_folder(workspace: Workspace, source: Path, path: RelPath, report: Report) -> None:
    workspace.make_folder(path)
    with paths.opened_folder_path(source) as root:
        for name, info in walk(root, ""):
            if isinstance(info, OSError):
                report.leave(name, f"cannot be read: {info.strerror}")
            elif stat.S_ISDIR(info.st_mode):
                workspace.make_folder(RelPath(f"{path}/{name}"))
            elif stat.S_ISREG(info.st_mode):
                try:
                    with os.fdopen(paths.open_file(root, name), "rb") as file:
                        _take(workspace, file, RelPath(f"{path}/{name}"))
                    report.copied.append(str(source / name))
                except OSError as error:
                    report.leave(name, f"cannot be read: {error.strerror}")
            else:
                report.leave(name, _why(info.st_mode))


def _hand_out(
    workspace: Workspace, root: int, folder: RelPath, destination: Path, report: Report
) -> None:
    """Copy ``folder``; ``places`` maps each folder in it to its copy on the host."""
    places = {str(folder): destination}
    for path, info in walk(root, folder):
        parent, _, name = path.rpartition("/")
        if isinstance(info, OSError):
            report.leave(path, f"cannot be listed: {info.strerror}")
        elif stat.S_ISDIR(info.st_mode):
            places[path] = _new_folder(places[parent], name)
        elif stat.S_ISREG(info.st_mode):
            _hand_file(workspace, RelPath.trusted(path), places[parent], report)
        else:
            report.leave(path, _why(info.st_mode))


def _hand_file(workspace: Workspace, path: RelPath, place: Path, report: Report) -> None:
    try:
        source = workspace.open_read(path)
    except WorkspaceError as error:
        report.left_out.append(str(error))
        return
    with source, _writing(place):
        mode = _plain_mode(source.fileno()) if hasattr(source, "raw") else 0o644
        target = _new_file(place, path.name, mode)
        with os.fdopen(target, "wb") as file:
            _copy(source, file)
    report.copied.append(path)


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    """Copy ``source`` up to its size at the start; holes stay holes."""
    if not hasattr(source, "raw"):
        target.write(source.read())
        return
    size = os.fstat(source.fileno()).st_size
    for start, end in _pieces(source.fileno(), size):
        for at in range(start, end, _CHUNK):
            target.seek(at)
            target.write(os.pread(source.fileno(), min(_CHUNK, end - at), at))
    target.truncate(size)


def _pieces(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each range that is not a hole."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return
        end = min(os.lseek(file, start, os.SEEK_HOLE), size)
        yield start, end


def _plain_mode(file: int) -> int:
    return (os.fstat(file).st_mode & 0o755) | 0o600


def _new_folder(place: Path, name: str) -> Path:
    with _writing(place):
        for free in free_names(name):
            try:
                (place / free).mkdir()
            except FileExistsError:
                continue
            return place / free
    raise WorkspaceError(f"{place / name} and all names like it are taken.")


def _new_file(place: Path, name: str, mode: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for free in free_names(name):
        try:
            return os.open(place / free, flags, mode)
        except FileExistsError:
            continue
    raise OSError(errno.EEXIST, "all names like it are taken")


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{place} cannot be written: {error.strerror}.") from error


def _why(mode: int) -> str:
    return "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
