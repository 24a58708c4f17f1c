"""The workspace's files as the page and the command line use them."""

import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from agent.errors import ToolError, WorkspaceError
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.staging import Staging, Upload
from agent.workspace.tree import make_folders, scan

Kind = Literal["file", "folder", "link", "other"]
STAGING = "staging"
RESCUE_LIMIT = 64 * 1024**2


class Rescue(Protocol):
    """Whoever may read and remove what the application's own user may not.

    ``agent.sandbox.base.Sandbox`` is one: paths are the sandbox's (``/workspace/…``), and
    ``ToolError`` says why it did not work either.
    """

    def read(self, path: str, *, limit: int) -> bytes:
        """The file's bytes, at most ``limit``."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all it holds."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One name in a folder.

    Attributes:
        name: The name; bytes that are no UTF-8 are surrogate-escaped.
        kind: What it is; a link is a link, wherever it leads.
        size: Bytes.
        mtime: Last change of its content, seconds since the epoch.
        mode: Permission bits, setuid and sticky included.
    """

    name: str
    kind: Kind
    size: int
    mtime: float
    mode: int


def entry_of(name: str, info: os.stat_result) -> FileEntry:
    """The entry for what ``lstat`` said about ``name``."""
    return FileEntry(
        name, kind_of(info.st_mode), info.st_size, info.st_mtime, stat.S_IMODE(info.st_mode)
    )


def kind_of(mode: int) -> Kind:
    """The kind that a file mode tells."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


Listing = list[FileEntry]


class Workspace:
    """The folder that a person and a model share, seen from outside the sandbox.

    Every method is safe against whatever runs in the sandbox at that moment: links are never
    followed, nothing outside ``root`` is read or written, nothing blocks on a FIFO, a lease
    or a device. Methods raise ``WorkspaceError`` with a sentence for a person.

    Args:
        root: The host folder that the sandbox mounts; its own path is ours alone.
        staging: A folder on the same file system that the sandbox cannot see, for uploads
            under way and for what is being removed; beside ``root`` by default.
        rescue: Reads and removes what the application's user may not (files that root in
            the sandbox wrote with mode 0600).
    """

    def __init__(
        self, root: Path, *, staging: Path | None = None, rescue: Rescue | None = None
    ) -> None:
        self.root = root
        self.staging = Staging(staging or root.parent / STAGING)
        self.rescue = rescue

    @contextmanager
    def opened(self, path: RelPath) -> Iterator[int]:
        """A descriptor of the root for the block; ``OSError`` inside speaks of ``path``."""
        try:
            with paths.opened_folder_path(self.root) as root:
                yield root
        except OSError as error:
            raise paths.explain(error, path) from error

    def list(self, folder: RelPath) -> Listing:
        """What ``folder`` holds: folders first, then by name without regard to case."""
        with self.opened(folder) as root, paths.opened_folder(root, folder) as opened:
            entries = [entry_of(name, info) for name, info in scan(opened)]
        return sorted(entries, key=lambda entry: (entry.kind != "folder", entry.name.casefold()))

    def stat(self, path: RelPath) -> FileEntry:
        """What ``path`` names, a link being a link."""
        with self.opened(path) as root:
            return entry_of(path.name, paths.lstat_below(root, path))

    def open_read(self, path: RelPath) -> BinaryIO:
        """The regular file ``path``, seekable, to be closed by the caller.

        What the application's user may not read comes through ``rescue``, up to 64 MB.
        """
        with self.opened(path) as root:
            try:
                return os.fdopen(paths.open_file(root, path), "rb")
            except PermissionError as error:
                if self.rescue is None:
                    raise
                return io.BytesIO(self._rescued(self.rescue, path, error))

    def begin(self, path: RelPath, room: int | None = None) -> Upload:
        """Start writing a file that appears, whole, when ``commit`` is called.

        The folder is made if it is missing. A name that exists keeps both.

        Args:
            path: What it is to become.
            room: Bytes that it may have; None for as many as the disk takes.
        """
        if not path:
            raise WorkspaceError("A file needs a name.")
        return Upload(self, path, room)

    def write(self, path: RelPath, chunks: Iterable[bytes]) -> RelPath:
        """Write a new file whole, or leave nothing; return the path that it got.

        A name that exists keeps both: ``name (2).ext``.
        """
        with self.begin(path) as upload:
            for chunk in chunks:
                upload.write(chunk)
            return upload.commit()

    def make_folder(self, path: RelPath) -> None:
        """Make a folder and those that lead to it; one that is there is no error."""
        with self.opened(path) as root:
            os.close(make_folders(root, path))

    def remove(self, path: RelPath) -> None:
        """Remove a file, a link, or a folder with all it holds; missing is no error."""
        if not path:
            raise WorkspaceError("The workspace itself cannot be removed.")
        with self.opened(path) as root:
            try:
                with paths.opened_folder(root, path.parent) as folder:
                    self.staging.discard(folder, path.name)
            except FileNotFoundError:
                return
            except PermissionError as error:
                if self.rescue is None:
                    raise
                self._removed(self.rescue, path, error)

    def _rescued(self, rescue: Rescue, path: RelPath, error: PermissionError) -> bytes:
        try:
            return rescue.read(f"/workspace/{path}", limit=RESCUE_LIMIT)
        except ToolError as refused:
            raise WorkspaceError(f"“{path.shown}” cannot be read: {refused}") from error

    def _removed(self, rescue: Rescue, path: RelPath, error: PermissionError) -> None:
        try:
            rescue.remove(f"/workspace/{path}")
        except ToolError as refused:
            raise WorkspaceError(f"“{path.shown}” cannot be removed: {refused}") from error
