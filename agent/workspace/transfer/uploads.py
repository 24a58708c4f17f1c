"""Uploads that can be resumed after a broken connection or a restart.

In the staging folder, ``upload-<id>`` has the bytes received, whose number is the offset, and
``upload-<id>.json`` the target path and size.
"""

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import NotStored, StorageFull, WorkspaceError
from agent.util.text import format_size
from agent.workspace import paths
from agent.workspace.files import Workspace, move_from_staging
from agent.workspace.paths import RelPath
from agent.workspace.staging import StagingFolder

MIN_FREE_BYTES = 256 * 1024**2
"""Bytes of disk space that an upload leaves free for the rest of the machine."""

_ID = re.compile(r"[0-9a-f]{24}")
_MAX_RECORD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class UploadState:
    """State of an upload."""

    id: str  # cannot be guessed
    path: RelPath
    size: int
    offset: int
    final_path: RelPath | None = None  # once it is complete


class UploadWriter:
    """The received part of an upload, for one thread at a time, even if staging is moved."""

    def __init__(self, file: int, pending: UploadState) -> None:
        self._file = file
        self._pending = pending
        self.offset = pending.offset

    def write(self, *data: bytes) -> None:
        """Append ``data``, up to the declared size."""
        if self.offset + sum(map(len, data)) > self._pending.size:
            raise WorkspaceError(f"The upload exceeds its stated size, {self._pending.size} bytes.")
        try:
            for each in data:
                rest = memoryview(each)
                while rest:
                    count = os.pwrite(self._file, rest, self.offset)
                    self.offset += count
                    rest = rest[count:]
        except OSError as error:
            raise paths.to_workspace_error(error, self._pending.path) from error

    def close(self) -> None:
        """Close the file and keep the bytes received."""
        os.close(self._file)


def start(
    workspace: Workspace,
    path: RelPath,
    size: int,
    *,
    quota_left: int | None = None,
    min_free: int = MIN_FREE_BYTES,
) -> UploadState:
    """Start an upload of ``size`` bytes; if the path exists, it gets a free name."""
    if not path:
        raise WorkspaceError("The file has no name. Enter one.")
    check_space(workspace, path, size, quota_left=quota_left, min_free=min_free)
    pending = UploadState(secrets.token_hex(12), path, size, 0)
    try:
        _, file = workspace.staging.create(_staged_name(pending.id))
        os.close(file)
        _write_record(workspace.staging, pending)
    except OSError as error:
        discard(workspace, pending.id)
        raise paths.to_workspace_error(error, path) from error
    return pending


def check_space(
    workspace: Workspace,
    path: RelPath,
    size: int,
    *,
    quota_left: int | None = None,
    min_free: int = MIN_FREE_BYTES,
) -> int:
    """Return the bytes available; ``StorageFull`` if ``size`` more do not fit."""
    with workspace.staging.open() as staging:
        disk = os.fstatvfs(staging)
    free = max(0, disk.f_bavail * disk.f_frsize - min_free)
    for limit, subject in ((free, "the disk"), (quota_left, "this run")):
        if limit is not None and size > limit:
            raise StorageFull(
                f"“{path.display}” does not fit: it has {format_size(size)}, "
                f"and {subject} can take {format_size(limit)} more."
            )
    return free if quota_left is None else min(free, quota_left)


def find(workspace: Workspace, upload: str) -> UploadState:
    """Return the upload with this id."""
    try:
        with workspace.staging.open() as staging:
            with os.fdopen(paths.open_file(staging, f"{_staged_name(upload)}.json"), "rb") as file:
                record = json.loads(file.read(_MAX_RECORD_BYTES))
            offset = record["size"]
            if record["done"] is None:
                offset = os.stat(
                    _staged_name(upload), dir_fd=staging, follow_symlinks=False
                ).st_size
        path, size = RelPath.from_url(record["path"]), int(record["size"])
        final_path = record["done"] and RelPath.from_url(record["done"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unknown_upload() from error
    return UploadState(upload, path, size, offset, final_path)


def open_writer(workspace: Workspace, pending: UploadState) -> UploadWriter:
    """Open the received part to resume the upload. Raises ``WorkspaceError``."""
    try:
        with workspace.staging.open() as staging:
            flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            return UploadWriter(os.open(_staged_name(pending.id), flags, dir_fd=staging), pending)
    except OSError as error:
        raise _unknown_upload() from error


def finish(workspace: Workspace, pending: UploadState) -> RelPath:
    """Move a complete file to its target and record the resulting path; delete it if that fails."""
    try:
        final_path = move_from_staging(workspace, _staged_name(pending.id), pending.path)
    except (OSError, WorkspaceError) as error:
        discard(workspace, pending.id)
        if isinstance(error, OSError):
            raise paths.to_workspace_error(error, pending.path) from error
        raise
    with suppress(OSError):
        _write_record(
            workspace.staging,
            UploadState(pending.id, pending.path, pending.size, pending.size, final_path),
        )
    return final_path


def discard(workspace: Workspace, upload: str) -> None:
    """Delete an upload's staging files; a finished file stays in the workspace."""
    for name in (_staged_name(upload), f"{_staged_name(upload)}.json"):
        with suppress(OSError):
            workspace.staging.remove(name)


def _staged_name(upload: str) -> str:
    if not _ID.fullmatch(upload):
        raise _unknown_upload()
    return f"upload-{upload}"


def _write_record(staging: StagingFolder, pending: UploadState) -> None:
    record = {
        "path": pending.path.to_url(),
        "size": pending.size,
        "done": pending.final_path and pending.final_path.to_url(),
    }
    name = f"{_staged_name(pending.id)}.json"
    draft, file = staging.create()
    with os.fdopen(file, "w") as stream:
        json.dump(record, stream)
    with staging.open() as folder:
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def _unknown_upload() -> NotStored:
    return NotStored("This upload is unknown; it may have expired after a day. Start it again.")
