"""Staging folder, hidden from the sandbox: unfinished uploads and removed files."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from agent.errors import WorkspaceError
from agent.workspace import paths
from agent.workspace.tree import (
    move_out,
    name_candidates,
    remove_tree,
    rename_noreplace,
)

UNDO_SECONDS = 600.0
"""Time in which a removal can be undone."""

UPLOAD_SECONDS = 24 * 3600.0
"""Time for which an idle unfinished upload is kept."""

_RETENTION_SECONDS = {"upload-": UPLOAD_SECONDS, "gone-": UNDO_SECONDS}


class StagingFolder:
    """The staging folder, created on first use with mode 0700."""

    def __init__(
        self,
        folder: Path,
        mounted: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.folder = folder
        self._mounted = mounted

    @contextmanager
    def open(self) -> Iterator[int]:
        """Open the folder for the block. Raises ``OSError``."""
        with self._mounted():
            if self.folder.parent.is_dir():  # else the sandbox was deleted: do not recreate it
                self.folder.mkdir(mode=0o700, exist_ok=True)
            with paths.host_folder_fd(self.folder) as opened:
                yield opened

    def create(self, name: str = "") -> tuple[str, int]:
        """Create an empty file; return its name and a descriptor open for writing."""
        name = name or f"part-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.open() as here:
            return name, os.open(name, flags, 0o644, dir_fd=here)

    def discard(self, folder: int, name: str) -> None:
        """Move ``name`` out of an opened folder, then remove it with its contents.

        A process that still writes into it can slow the removal down but cannot redirect it.
        """
        with self.open() as staging:
            moved_name = move_out(folder, name, staging)
            try:
                remove_tree(staging, moved_name)
            except OSError:
                with suppress(OSError):
                    os.rename(moved_name, name, src_dir_fd=staging, dst_dir_fd=folder)
                raise

    def remove(self, name: str) -> None:
        """Remove ``name`` with its contents, if it exists. Raises ``OSError``."""
        with self.open() as here:
            remove_tree(here, name)

    def clean_up(self, now: float | None = None, *, exclusive: bool = True) -> None:
        """Remove leftovers, and what expired; if ``exclusive``, also files being written."""
        now = time.time() if now is None else now
        if not self.folder.exists():
            return
        with self.open() as staging, os.scandir(staging) as entries:
            for entry in entries:
                retention = next(
                    (s for begin, s in _RETENTION_SECONDS.items() if entry.name.startswith(begin)),
                    0.0,
                )
                with suppress(OSError):
                    age = now - entry.stat(follow_symlinks=False).st_mtime
                    if age > (retention or (0.0 if exclusive else UPLOAD_SECONDS)) or (
                        exclusive and not retention
                    ):
                        remove_tree(staging, entry.name)


def move_to_free_name(source: int, source_name: str, folder: int, wanted: str) -> str:
    """Move ``source_name`` to a free name like ``wanted`` in ``folder``; return the name."""
    for name in name_candidates(wanted):
        try:
            rename_noreplace(source, source_name, folder, name)
        except FileExistsError:
            continue
        return name
    raise WorkspaceError(f"“{paths.display_text(wanted)}” and all similar names are taken.")
