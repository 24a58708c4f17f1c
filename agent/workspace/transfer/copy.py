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
from agent.workspace.transfer.uploads import check_space
from agent.workspace.tree import name_candidates, walk

_CHUNK = 1024**2


@dataclass(slots=True)
class CopyReport:
    """Result of a copy."""

    copied: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # a message for each

    def add_skipped(self, path: str, reason: str) -> None:
        """Record that ``path`` was not copied."""
        self.skipped.append(f"{paths.display_text(path)}: {reason}")


def copy_in(workspace: Workspace, source: Path, folder: RelPath = ROOT) -> CopyReport:
    """Copy a host file or folder in; links in it, which could expose other files, are left out."""
    report = CopyReport()
    try:
        resolved = source.resolve(strict=True)
        path = folder.child(source.name or resolved.name)
        if resolved.is_file():
            with resolved.open("rb") as file:
                _copy_file_in(workspace, file, path)
            report.copied.append(str(resolved))
        elif resolved.is_dir():
            _copy_folder_in(workspace, resolved, path, report)
        else:
            raise WorkspaceError(f"{source} is neither a file nor a folder.")
    except OSError as error:
        raise WorkspaceError(f"{source} cannot be read: {error.strerror}.") from error
    return report


def copy_out(workspace: Workspace, folder: RelPath, destination: Path) -> CopyReport:
    """Copy a folder's contents to the host: overwrite nothing; no links, devices, setuid bits."""
    report = CopyReport()
    try:
        destination.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{destination} cannot be created: {error.strerror}.") from error
    with workspace.open_root(folder) as root, paths.folder_fd(root, folder):
        _copy_folder_out(workspace, root, folder, destination, report)
    return report


def _copy_file_in(workspace: Workspace, file: BinaryIO, path: RelPath) -> None:
    check_space(workspace, path, os.fstat(file.fileno()).st_size, min_free=0)
    with workspace.open_write(path) as upload:
        while chunk := file.read(_CHUNK):
            upload.write(chunk)
        upload.commit()


def _copy_folder_in(workspace: Workspace, source: Path, path: RelPath, report: CopyReport) -> None:
    workspace.make_folder(path)
    with paths.host_folder_fd(source) as root:
        for name, info in walk(root, ""):
            if isinstance(info, OSError):
                report.add_skipped(name, f"cannot be read: {info.strerror}")
            elif stat.S_ISDIR(info.st_mode):
                workspace.make_folder(RelPath(f"{path}/{name}"))
            elif stat.S_ISREG(info.st_mode):
                try:
                    with os.fdopen(paths.open_file(root, name), "rb") as file:
                        _copy_file_in(workspace, file, RelPath(f"{path}/{name}"))
                    report.copied.append(str(source / name))
                except OSError as error:
                    report.add_skipped(name, f"cannot be read: {error.strerror}")
            else:
                report.add_skipped(name, _skip_reason(info.st_mode))


def _copy_folder_out(
    workspace: Workspace, root: int, folder: RelPath, destination: Path, report: CopyReport
) -> None:
    """Copy ``folder``; ``copies`` maps each folder in it to its copy on the host."""
    copies = {str(folder): destination}
    for path, info in walk(root, folder):
        parent, _, name = path.rpartition("/")
        if isinstance(info, OSError):
            report.add_skipped(path, f"cannot be listed: {info.strerror}")
        elif stat.S_ISDIR(info.st_mode):
            copies[path] = _new_folder(copies[parent], name)
        elif stat.S_ISREG(info.st_mode):
            _copy_file_out(workspace, RelPath.trusted(path), copies[parent], report)
        else:
            report.add_skipped(path, _skip_reason(info.st_mode))


def _copy_file_out(workspace: Workspace, path: RelPath, parent: Path, report: CopyReport) -> None:
    try:
        source = workspace.open_read(path)
    except WorkspaceError as error:
        report.skipped.append(str(error))
        return
    with source, _convert_errors(parent):
        mode = _safe_mode(source.fileno()) if hasattr(source, "raw") else 0o644
        target = _new_file(parent, path.name, mode)
        with os.fdopen(target, "wb") as file:
            _copy_content(source, file)
    report.copied.append(path)


def _copy_content(source: BinaryIO, target: BinaryIO) -> None:
    """Copy ``source`` up to its size at the start; holes stay holes."""
    if not hasattr(source, "raw"):
        target.write(source.read())
        return
    size = os.fstat(source.fileno()).st_size
    for start, end in _data_ranges(source.fileno(), size):
        for offset in range(start, end, _CHUNK):
            target.seek(offset)
            target.write(os.pread(source.fileno(), min(_CHUNK, end - offset), offset))
    target.truncate(size)


def _data_ranges(file: int, size: int) -> Iterator[tuple[int, int]]:
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


def _safe_mode(file: int) -> int:
    return (os.fstat(file).st_mode & 0o755) | 0o600


def _new_folder(parent: Path, name: str) -> Path:
    with _convert_errors(parent):
        for free in name_candidates(name):
            try:
                (parent / free).mkdir()
            except FileExistsError:
                continue
            return parent / free
    raise WorkspaceError(f"{parent / name} and all similar names are taken.")


def _new_file(parent: Path, name: str, mode: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for free in name_candidates(name):
        try:
            return os.open(parent / free, flags, mode)
        except FileExistsError:
            continue
    raise OSError(errno.EEXIST, "all similar names are taken")


@contextmanager
def _convert_errors(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{destination} cannot be written: {error.strerror}.") from error


def _skip_reason(mode: int) -> str:
    return "a link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
