"""Delete runs with their files, and compute the disk space that this frees.

A rename removes a run from the list at once. Its files are then deleted without following
links. The next start deletes the leftovers of a process that died.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent.errors import RunError, StudioError
from agent.runs.disk_usage import on_disk, sandbox_on_disk, sandboxes_of
from agent.sandbox.disk import volume
from agent.workspace import paths
from agent.workspace.staging import Staging
from agent.workspace.tree import walk
from agent.workspace.versions.blobs import BlobStore

_HASH = re.compile(rb"[0-9a-f]{64}")


class Removal:
    """Deletes runs of a data folder that is locked by this process.

    Args:
        data: The data folder.
        blobs: Its store of file contents.
        empty: Deletes files that only root may delete from the workspace of a sandbox id.
    """

    def __init__(self, data: Path, blobs: BlobStore, empty: Callable[[str], None]) -> None:
        self._data = data
        self._blobs = blobs
        self._empty = empty
        self._ruins = Staging(data / "deleted")

    def frees(self, runs: Collection[str]) -> int:
        """Return the bytes on disk that deleting these runs would free now."""
        folders = [self._data / "runs" / run for run in runs]
        sandboxes = list[Path]()
        contents = self._blobs.on_disk(self._named_only_in(folders))
        for run in runs:
            sandboxes += [self._data / "sandboxes" / each for each in sandboxes_of(self._data, run)]
        return sum(map(on_disk, folders)) + sum(map(sandbox_on_disk, sandboxes)) + contents

    def remove(self, runs: Iterable[str]) -> int:
        """Delete runs that are not active.

        Returns:
            The freed bytes on disk.

        Raises:
            RunError: A run cannot be deleted; it is kept, and those before it are deleted.
        """
        freed, gone = 0, list[Path]()
        try:
            for run in runs:
                freed += self._take_out(run)
                gone.append(self._ruins.folder / run)
        finally:
            freed += self._forget(gone)
        return freed

    def finish(self) -> None:
        """Delete the leftovers of a process that died; called at the start."""
        self._forget(list(self._ruins.folder.glob("*")))
        self._ruins.tidy()

    def _take_out(self, run: str) -> int:
        """Remove a run from the list, delete its sandboxes and return the freed bytes."""
        place, sandboxes = self._data / "runs" / run, sandboxes_of(self._data, run)
        with self._ruins.opened():
            place.rename(self._ruins.folder / run)
        try:
            return sum(self._remove_sandbox(each) for each in sandboxes)
        except (OSError, StudioError) as error:
            (self._ruins.folder / run).rename(place)
            raise RunError(f"The run's files cannot be removed: {error}") from error

    def _remove_sandbox(self, sandbox: str) -> int:
        folder = self._data / "sandboxes" / sandbox
        size = sandbox_on_disk(folder)
        if volume.image(folder).exists():
            volume.discard(folder)
            return size
        if not _removable(folder):
            self._empty(sandbox)
        self._discard(folder)
        return size

    def _forget(self, gone: list[Path]) -> int:
        """Delete run folders removed from the list, and the contents only they reference."""
        if not gone:
            return 0
        freed = self._blobs.sweep(lambda: self._named_only_in(gone))
        for folder in gone:
            freed += on_disk(folder)
            with suppress(OSError):  # retried at the next start
                self._discard(folder)
        return freed

    def _discard(self, folder: Path) -> None:
        with (
            suppress(FileNotFoundError),
            paths.opened_folder_path(folder.parent.resolve()) as parent,
        ):
            self._ruins.discard(parent, folder.name)

    def _named_only_in(self, folders: Collection[Path]) -> set[str]:
        """Return the content hashes referenced by these run folders and by no others."""
        try:
            named = {each for folder in folders for each in _hashes(folder)}
            for other in (self._data / "runs").glob("*"):
                if named and other not in folders:
                    named.difference_update(_hashes(other))
        except OSError:
            return set()  # an unreadable run may reference all of them
        return named


def _removable(folder: Path) -> bool:
    """Return whether this process may write to every folder in it; delete nothing."""
    try:
        with paths.opened_folder_path(folder) as root:
            for path, info in walk(root, ""):
                if isinstance(info, PermissionError):
                    return False
                if not isinstance(info, OSError) and stat.S_ISDIR(info.st_mode):
                    with paths.opened_folder(root, path) as opened:
                        os.utime(opened)
    except PermissionError:
        return False
    except OSError:
        return True  # the deletion reports the error
    return True


def _hashes(run: Path) -> Iterator[str]:
    """Yield the content hashes in a run's manifests, even in damaged ones."""
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        (run / "manifests.jsonl").open("rb") as file,
    ):
        for line in file:
            for found in _HASH.findall(line):
                yield found.decode()
