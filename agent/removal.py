"""Runs removed with all that is theirs, and what that frees on the disk.

A run that is removed leaves the list at once, by a rename; the rest of it then goes without
a link being followed, and what a process that died left behind goes at the next start.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent import journal
from agent.errors import JournalError, RunError, StudioError
from agent.events import SandboxReady, decode
from agent.folder import RunFolder
from agent.sandbox import disk
from agent.sandbox.instance import places
from agent.workspace import paths
from agent.workspace.blobs import BlobStore
from agent.workspace.staging import Staging
from agent.workspace.tree import walk

_HASH = re.compile(rb"[0-9a-f]{64}")
_READY = b'"kind":"sandbox_ready"'
_BLOCK = 512


def on_disk(folder: Path) -> int:
    """The bytes that a folder takes on the disk with all it holds; nothing is followed."""
    total, linked = 0, set()
    with suppress(OSError), paths.opened_folder_path(folder) as root:
        for _, info in walk(root, ""):
            if isinstance(info, OSError):
                continue
            if info.st_nlink > 1:
                if (info.st_dev, info.st_ino) in linked:
                    continue
                linked.add((info.st_dev, info.st_ino))
            total += info.st_blocks * _BLOCK
    return total


def sandbox_on_disk(folder: Path) -> int:
    """The bytes that a sandbox's folder takes: where it is a disk of its own, those of its file."""
    try:
        return disk.image(folder).lstat().st_blocks * _BLOCK
    except OSError:
        return on_disk(folder)


def sandboxes_of(data: Path, run_id: str) -> set[str]:
    """The ids of a run's sandboxes; where its record cannot be read, those its journal tells."""
    try:
        return {RunFolder.open(data, run_id).sandbox}
    except RunError:
        told = set(_told(data / "runs" / run_id / "journal.jsonl"))
        return told - {folder.sandbox for folder in RunFolder.all(data)}


def named_sandboxes(data: Path) -> set[str]:
    """The ids of the sandboxes that a run has, in the data folder and all places within it."""
    return {
        sandbox
        for place in places(data)
        for run in RunFolder.ids(place)
        for sandbox in sandboxes_of(place, run)
    }


class Removal:
    """Removes runs of one data folder, which this process holds.

    Args:
        data: The data folder.
        blobs: Its store of contents.
        empty: Empties the workspace of a sandbox, by its id, of what only root may remove.
    """

    def __init__(self, data: Path, blobs: BlobStore, empty: Callable[[str], None]) -> None:
        self._data = data
        self._blobs = blobs
        self._empty = empty
        self._ruins = Staging(data / "deleted")

    def frees(self, runs: Collection[str]) -> int:
        """The bytes on disk that removing these runs frees at this moment."""
        folders = [self._data / "runs" / run for run in runs]
        sandboxes = list[Path]()
        contents = self._blobs.on_disk(self._named_only_in(folders))
        for run in runs:
            sandboxes += [self._data / "sandboxes" / each for each in sandboxes_of(self._data, run)]
        return sum(map(on_disk, folders)) + sum(map(sandbox_on_disk, sandboxes)) + contents

    def remove(self, runs: Iterable[str]) -> int:
        """Remove runs that nobody is at work in.

        Returns:
            The bytes on disk that this freed.

        Raises:
            RunError: one cannot be removed; it stays, and those before it are gone.
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
        """Remove what a process that died in the middle has left; for the start."""
        self._forget(list(self._ruins.folder.glob("*")))
        self._ruins.tidy()

    def _take_out(self, run: str) -> int:
        """Take a run out of the list, its workspace removed; the bytes that freed."""
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
        if disk.image(folder).exists():
            disk.discard(folder)
            return size
        if not _removable(folder):
            self._empty(sandbox)
        self._discard(folder)
        return size

    def _forget(self, gone: list[Path]) -> int:
        """Remove run folders that have left the list, and what only they named."""
        if not gone:
            return 0
        freed = self._blobs.sweep(lambda: self._named_only_in(gone))
        for folder in gone:
            freed += on_disk(folder)
            with suppress(OSError):  # what cannot be removed now is tried at the next start
                self._discard(folder)
        return freed

    def _discard(self, folder: Path) -> None:
        with (
            suppress(FileNotFoundError),
            paths.opened_folder_path(folder.parent.resolve()) as parent,
        ):
            self._ruins.discard(parent, folder.name)

    def _named_only_in(self, folders: Collection[Path]) -> set[str]:
        """The contents that these run folders name and no other does."""
        try:
            named = {each for folder in folders for each in _hashes(folder)}
            for other in (self._data / "runs").glob("*"):
                if named and other not in folders:
                    named.difference_update(_hashes(other))
        except OSError:
            return set()  # whoever cannot be read may name all of them
        return named


def _removable(folder: Path) -> bool:
    """Whether this process's user may change every folder in it, without removing anything."""
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
        return True  # what is wrong with it is said when it is removed
    return True


def _hashes(run: Path) -> Iterator[str]:
    """What a run's manifests name, however broken they are."""
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        (run / "manifests.jsonl").open("rb") as file,
    ):
        for line in file:
            for found in _HASH.findall(line):
                yield found.decode()


def _told(path: Path) -> Iterator[str]:
    """The sandboxes that a journal says were made ready."""
    with suppress(OSError):
        for _, line in journal.lines(path):
            if _READY in line:
                with suppress(JournalError):
                    event = decode(line)
                    if isinstance(event, SandboxReady) and re.fullmatch(r"[\w-]+", event.sandbox):
                        yield event.sandbox
