"""Deletes runs: a rename, then their files, without following links; leftovers at a start."""

import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from agent.errors import RunError, StudioError
from agent.history.indexing import OwnChanges
from agent.history.records import content_hashes
from agent.runs.disk_usage import bytes_on_disk, run_sandbox_ids, sandbox_bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import paths
from agent.workspace.staging import StagingFolder
from agent.workspace.tree import walk
from agent.workspace.versions.blobs import BlobStore

SharedContents = Callable[[Collection[str], Collection[str]], tuple[set[str], set[str]]]


class RunDeleter:
    """Deletes runs of a locked data folder; ``empty_as_root`` empties a sandbox's workspace."""

    def __init__(
        self,
        data: Path,
        blobs: BlobStore,
        empty_as_root: Callable[[str], None],
        own: OwnChanges | None = None,
        shared: SharedContents | None = None,
    ) -> None:
        self._shared = shared or (lambda _, runs: (set(), {*RunFolder.ids(data)}.difference(runs)))
        self._own = own or OwnChanges(data)
        self._data = data
        self._blobs = blobs
        self._empty_as_root = empty_as_root
        self._staging = StagingFolder(data / "deleted")

    def freed_bytes(self, runs: Collection[str]) -> int:
        """Return the bytes on disk that deleting these runs would free now."""
        folders = [self._data / "runs" / run for run in runs]
        sandboxes = list[Path]()
        contents = self._blobs.disk_usage(self._unshared_hashes(folders))
        for run in runs:
            sandboxes += [
                self._data / "sandboxes" / each for each in run_sandbox_ids(self._data, run)
            ]
        return (
            sum(map(bytes_on_disk, folders)) + sum(map(sandbox_bytes_on_disk, sandboxes)) + contents
        )

    def delete(self, runs: Iterable[str]) -> int:
        """Delete runs that are not active, up to the first that fails; return the freed bytes."""
        freed, removed = 0, list[Path]()
        try:
            for run in runs:
                freed += self._remove_from_list(run)
                removed.append(self._staging.folder / run)
        finally:
            freed += self._delete_removed(removed)
        return freed

    def delete_leftovers(self) -> None:
        """Delete the leftovers of a process that died; called at the start."""
        self._delete_removed(list(self._staging.folder.glob("*")))
        self._staging.clean_up()

    def _remove_from_list(self, run: str) -> int:
        """Remove a run from the list, delete its sandboxes and return the freed bytes."""
        place, sandboxes = self._data / "runs" / run, run_sandbox_ids(self._data, run)
        for sandbox in sandboxes:
            volume.leave(self._data / "sandboxes" / sandbox, run)
        with self._staging.open(), self._own.made():
            place.rename(self._staging.folder / run)
        try:
            return sum(self._delete_sandbox(each) for each in sandboxes)
        except (OSError, StudioError) as error:
            (self._staging.folder / run).rename(place)
            raise RunError(f"The run's files cannot be removed: {error}") from error

    def _delete_sandbox(self, sandbox: str) -> int:
        folder = self._data / "sandboxes" / sandbox
        size = sandbox_bytes_on_disk(folder)
        if not volume.disk_image(folder).exists():
            if not _is_removable(folder):
                self._empty_as_root(sandbox)
            self._delete_folder(folder)
        volume.discard(folder)
        return size

    def _delete_removed(self, removed: list[Path]) -> int:
        """Delete run folders removed from the list, and the contents only they reference."""
        if not removed:
            return 0
        freed = self._blobs.collect_garbage(lambda: self._unshared_hashes(removed))
        for folder in removed:
            freed += bytes_on_disk(folder)
            with suppress(OSError):  # retried at the next start
                self._delete_folder(folder)
        return freed

    def _delete_folder(self, folder: Path) -> None:
        with (
            suppress(FileNotFoundError),
            paths.host_folder_fd(folder.parent.resolve()) as parent,
        ):
            self._staging.discard(parent, folder.name)

    def _unshared_hashes(self, folders: Collection[Path]) -> set[str]:
        """Return the content hashes referenced by these run folders and by no others."""
        try:
            named = {each for folder in folders for each in content_hashes(folder)}
            if named:  # a plain run has none
                shared, unknown = self._shared(named, {folder.name for folder in folders})
                named -= shared
                for other in unknown:
                    if named:
                        named.difference_update(content_hashes(self._data / "runs" / other))
        except OSError:
            return set()  # an unreadable run may reference all of them
        return named


def _is_removable(folder: Path) -> bool:
    """Return whether this process may write to every folder in it; delete nothing."""
    try:
        with paths.host_folder_fd(folder) as root:
            for path, info in walk(root, ""):
                if isinstance(info, PermissionError):
                    return False
                if not isinstance(info, OSError) and stat.S_ISDIR(info.st_mode):
                    with paths.folder_fd(root, path) as opened:
                        os.utime(opened)
    except PermissionError:
        return False
    except OSError:
        return True  # the deletion reports the error
    return True
