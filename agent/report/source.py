"""Where a report reads a run: in the data folder, or in a folder or journal that was exported."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, RunError
from agent.events import Event
from agent.runs import journal
from agent.runs.folder import Parent, RunFolder
from agent.runs.requests.records import read_log
from agent.workspace.versions.blobs import content_path
from agent.workspace.versions.manifest import Delta, ManifestLog, Node

_MAX_FILES = 5_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Content:
    """A stored content of a file; the same content has the same key."""

    key: str
    path: Path

    def open(self) -> BinaryIO:
        """Open it; raises ``OSError`` for a link, or anything but a regular file."""
        return open_regular(self.path)


@dataclass(frozen=True, slots=True)
class Change:
    """A path from a step on; ``node`` is None where it was removed."""

    path: str
    step: int
    node: Node | None
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A recorded run; its files are in ``blobs``, or in ``files`` of an exported folder."""

    journal: Path
    outputs: Path
    title: str = ""
    manifests: Path | None = None
    blobs: Path | None = None
    files: Path | None = None
    requests: Path | None = None
    parent: Parent | None = None
    imported: str = ""

    @classmethod
    def of(cls, run: RunFolder | Path) -> "Source":
        """Return the source of a run, an exported folder, or a journal."""
        if isinstance(run, RunFolder):
            return cls(
                journal=run.journal, outputs=run.outputs, title=run.title,
                manifests=run.manifests, blobs=run.data / "blobs", requests=run.requests,
                parent=run.parent, imported=run.imported,
            )  # fmt: skip
        path = run / "journal.jsonl" if run.is_dir() else run
        if not path.is_file():
            raise RunError(f"{run} is not a run: it has no journal.")
        files = path.parent / "files"
        return cls(
            journal=path, outputs=path.parent / "outputs", files=files if files.is_dir() else None
        )

    def events(self) -> Iterator[tuple[int, Event]]:
        """Yield the events, each with the journal's cursor after it."""
        return journal.read(self.journal)

    def long_output(self, name: str) -> BinaryIO | None:
        """Open a long output; None if it is missing. The name comes from the journal."""
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            return None
        try:
            return open_regular(self.outputs / name)
        except OSError:
            return None

    def settings(self) -> dict[str, object]:
        """Return the parameters of the last request that was recorded."""
        if self.requests is None:
            return {}
        sent = [each.sent for each in read_log(self.requests) if each.sent is not None]
        return dict(sent[-1].parameters) if sent else {}

    def changes(self) -> Iterator[Change]:
        """Yield the changes of files in order; ``JournalError`` if the rest is damaged."""
        if self.manifests is not None:
            log = ManifestLog(self.manifests)
            for step, delta in log.read():
                yield from _changes(step, delta)
            if log.damage:
                raise JournalError(log.damage)
        elif self.files is not None:
            yield from _exported(self.files)

    def content(self, path: str, node: Node) -> Content | None:
        """Return where the content of a path's version is; None if it was not kept."""
        if self.blobs is not None:
            if not node.stored or node.hash is None:
                return None
            stored = content_path(self.blobs, node.hash)
            return Content(node.hash, stored) if stored.is_file() else None
        if self.files is None or node.kind != "file":
            return None
        return Content(path, self.files / path)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, without following a link or waiting; raises ``OSError`` for others."""
    file = os.open(path, _OPEN)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path.name} is not a regular file")
    return os.fdopen(file, "rb")


def _changes(step: int, delta: Delta) -> Iterator[Change]:
    for path in delta.removed:
        yield Change(path, step, None, delta.by_user)
    for path, node in delta.changed.items():
        if node.kind != "folder":
            yield Change(path, step, node, delta.by_user)


def _exported(folder: Path) -> Iterable[Change]:
    """Yield the files of an exported folder, as if they had always been there."""
    found = 0
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            info = path.lstat()
            if not stat.S_ISREG(info.st_mode):
                continue
            found += 1
            if found > _MAX_FILES:
                return
            relative = path.relative_to(folder).as_posix()
            yield Change(relative, 0, Node("file", info.st_size, stat.S_IMODE(info.st_mode)))
