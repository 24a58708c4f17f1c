"""Uploads that can be resumed after a broken connection or a restart.

Each upload is two files in the staging folder: ``upload-<id>`` with the bytes received and
``upload-<id>.json`` with the target path and size. The offset is the size of the first file.
"""

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import NoRoom, NotKept, WorkspaceError
from agent.util.text import size_of
from agent.workspace import paths
from agent.workspace.paths import RelPath
from agent.workspace.staging import Home, Staging, put

FLOOR = 256 * 1024**2
"""Bytes of disk space that an upload leaves free for the rest of the machine."""

_ID = re.compile(r"[0-9a-f]{24}")
_ABOUT_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Pending:
    """State of an upload.

    Attributes:
        id: Its id, which cannot be guessed.
        path: Target path.
        size: Total size in bytes.
        offset: Bytes received.
        done: Final path, once the upload is complete.
    """

    id: str
    path: RelPath
    size: int
    offset: int
    done: RelPath | None = None


class Part:
    """The received part of an upload, open for writing by one thread at a time.

    It remains usable if the staging folder is moved meanwhile.
    """

    def __init__(self, file: int, pending: Pending) -> None:
        self._file = file
        self._pending = pending
        self.offset = pending.offset

    def write(self, *data: bytes) -> None:
        """Append ``data``.

        Raises:
            NoRoom: the disk is full.
            WorkspaceError: the data exceeds the declared size or cannot be written.
        """
        if self.offset + sum(map(len, data)) > self._pending.size:
            raise WorkspaceError(f"More came than the {self._pending.size} bytes that were said.")
        try:
            for each in data:
                rest = memoryview(each)
                while rest:
                    count = os.pwrite(self._file, rest, self.offset)
                    self.offset += count
                    rest = rest[count:]
        except OSError as error:
            raise paths.explain(error, self._pending.path) from error

    def close(self) -> None:
        """Close the file and keep the bytes received."""
        os.close(self._file)


def begin(
    home: Home, path: RelPath, size: int, *, room: int | None = None, floor: int = FLOOR
) -> Pending:
    """Start an upload of ``size`` bytes.

    Args:
        home: The workspace.
        path: Target path; if it exists, the upload gets a free name.
        size: Total size in bytes.
        room: Bytes left in the workspace's quota; None for no quota.
        floor: Bytes of disk space to leave free.

    Raises:
        NoRoom: the file does not fit.
        WorkspaceError: the file cannot be written.
    """
    if not path:
        raise WorkspaceError("A file needs a name.")
    check_room(home, path, size, room=room, floor=floor)
    pending = Pending(secrets.token_hex(12), path, size, 0)
    try:
        _, file = home.staging.create(_name(pending.id))
        os.close(file)
        _keep(home.staging, pending)
    except OSError as error:
        forget(home, pending.id)
        raise paths.explain(error, path) from error
    return pending


def check_room(
    home: Home, path: RelPath, size: int, *, room: int | None = None, floor: int = FLOOR
) -> int:
    """Raise ``NoRoom`` if ``size`` more bytes do not fit; arguments as for ``begin``.

    Returns:
        The number of bytes available.
    """
    disk = os.statvfs(home.root if home.root.is_dir() else home.root.parent)
    free = max(0, disk.f_bavail * disk.f_frsize - floor)
    for most, who in ((free, "the disk"), (room, "this run")):
        if most is not None and size > most:
            raise NoRoom(
                f"“{path.shown}” does not fit: it has {size_of(size)}, "
                f"and {who} can take {size_of(most)} more."
            )
    return free if room is None else min(free, room)


def find(home: Home, upload: str) -> Pending:
    """Return the upload with this id.

    Raises:
        WorkspaceError: the id is unknown, or the upload expired after a day.
    """
    try:
        with home.staging.opened() as here:
            with os.fdopen(paths.open_file(here, f"{_name(upload)}.json"), "rb") as file:
                about = json.loads(file.read(_ABOUT_LIMIT))
            offset = about["size"]
            if about["done"] is None:
                offset = os.stat(_name(upload), dir_fd=here, follow_symlinks=False).st_size
        path, size = RelPath.from_url(about["path"]), int(about["size"])
        done = about["done"] and RelPath.from_url(about["done"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unknown() from error
    return Pending(upload, path, size, offset, done)


def part(home: Home, pending: Pending) -> Part:
    """Open the received part to resume the upload. Raises ``WorkspaceError``."""
    try:
        with home.staging.opened() as here:
            flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            return Part(os.open(_name(pending.id), flags, dir_fd=here), pending)
    except OSError as error:
        raise _unknown() from error


def finish(home: Home, pending: Pending) -> RelPath:
    """Move a complete file to its target and record the resulting path.

    Raises:
        WorkspaceError: the file cannot be moved; the upload is deleted.
    """
    try:
        done = put(home, _name(pending.id), pending.path)
    except (OSError, WorkspaceError) as error:
        forget(home, pending.id)
        if isinstance(error, OSError):
            raise paths.explain(error, pending.path) from error
        raise
    with suppress(OSError):
        _keep(home.staging, Pending(pending.id, pending.path, pending.size, pending.size, done))
    return done


def forget(home: Home, upload: str) -> None:
    """Delete an upload's staging files; a finished file stays in the workspace."""
    for name in (_name(upload), f"{_name(upload)}.json"):
        with suppress(OSError):
            home.staging.drop(name)


def _name(upload: str) -> str:
    if not _ID.fullmatch(upload):
        raise _unknown()
    return f"upload-{upload}"


def _keep(staging: Staging, pending: Pending) -> None:
    about = {
        "path": pending.path.to_url(),
        "size": pending.size,
        "done": pending.done and pending.done.to_url(),
    }
    name = f"{_name(pending.id)}.json"
    new, file = staging.create()
    with os.fdopen(file, "w") as written:
        json.dump(about, written)
    with staging.opened() as here:
        os.rename(new, name, src_dir_fd=here, dst_dir_fd=here)


def _unknown() -> NotKept:
    return NotKept("This upload is not known; it may have been left for a day. Begin anew.")
