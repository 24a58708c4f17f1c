"""Content-addressed blob store: each content is stored once, under its hash."""

# pathlib takes longer than the system calls for a small file.
# ruff: noqa: PTH104, PTH108, PTH110

import hashlib
import itertools
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agent.errors import JournalError, WorkspaceError

_CHUNK = 1024**2
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
_HEX = frozenset("0123456789abcdef")
_COUNTED = "counted"  # the file with the size of a closed store


class StoreFull(WorkspaceError):
    """The store's own limit is reached, or the disk is full (``digest`` is None)."""

    def __init__(self, digest: str | None) -> None:
        super().__init__("the store of file contents is full")
        self.digest = digest


def content_path(folder: Path, digest: str) -> Path:
    """Return a content's path in a store, whether or not it is stored. Raises ``JournalError``."""
    return folder / _name(digest)


def _name(digest: str) -> str:
    if len(digest) != 64 or not _HEX.issuperset(digest):
        raise JournalError("This is not a content hash.")
    return f"{digest[:2]}/{digest}"


class StoredContents:
    """The contents of a store that another process may write, for reading only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, digest: str) -> BinaryIO:
        """Open a content; the caller closes it. Raises ``JournalError`` if that fails."""
        try:
            return content_path(self._folder, digest).open("rb")
        except FileNotFoundError as error:
            raise JournalError("The content of this file version is not stored.") from error
        except OSError as error:
            why = error.strerror
            raise JournalError(
                f"The content of this file version cannot be read: {why}."
            ) from error


class BlobStore(StoredContents):
    """A folder of contents, ``ab/abcdef…``, written atomically. Thread-safe.

    A folder must have one store at a time: the constructor removes partial files of an earlier one.
    Contents survive a killed process but are not fsynced.
    """

    def __init__(self, folder: Path, *, limit: int = 20 * 1024**3) -> None:
        super().__init__(folder)
        self.folder = folder
        self.limit = limit
        self._lock = threading.Lock()
        self._size: int | None = None
        self._name, self._parts = secrets.token_hex(8), itertools.count()
        self._protections = 0
        self._protected: set[str] = set()
        for part in folder.glob("part-*"):
            with suppress(FileNotFoundError):
                part.unlink()

    @property
    def size(self) -> int:
        """Total size of the contents in bytes; computed once, then updated."""
        with self._lock:
            return self._cached_size()

    def close(self) -> None:
        """Note the size, so that the next store of the folder counts no contents."""
        with self._lock, suppress(OSError):
            if self._size is not None:
                (self.folder / _COUNTED).write_text(f"{self._size} {self._changed()}")

    def path(self, digest: str) -> Path:
        """Return a content's path, whether or not it is stored. Raises ``JournalError``."""
        return content_path(self.folder, digest)

    def has(self, digest: str) -> bool:
        """Return whether the content is stored."""
        return os.path.exists(f"{self.folder}/{_name(digest)}")

    def put(self, file: BinaryIO, *, limit: int) -> tuple[str, int]:
        """Store ``file`` from its current position, if it is at most ``limit`` bytes.

        Returns the SHA-256 in hex and the bytes read: ``limit + 1`` for a longer file, which is not
        stored, as after ``StoreFull``.
        """
        first_chunk = file.read(min(_CHUNK, limit + 1))
        if len(first_chunk) < min(_CHUNK, limit + 1):
            return self._put_small(first_chunk), len(first_chunk)
        return self._put_large(first_chunk, file, limit)

    @contextmanager
    def protected(self) -> Iterator[None]:
        """Protect contents stored during the block from ``collect_garbage``.

        By the end of the block, the caller must have recorded references to them where the
        collection looks for references.
        """
        with self._lock:
            self._protections += 1
        try:
            yield
        finally:
            with self._lock:
                self._protections -= 1
                if not self._protections:
                    self._protected.clear()

    def keep(self, digests: Iterable[str]) -> set[str]:
        """Protect stored contents while ``protected`` is active; return those that are stored."""
        return {digest for digest in digests if self._protect(digest)}

    def link(self, folder: Path, digests: Iterable[str]) -> None:
        """Share contents with a store that only its process may write; leave out missing ones."""
        for digest in digests:
            if self._protect(digest):
                continue
            source, target = folder / digest[:2] / digest, self.path(digest)
            with self._lock, suppress(FileNotFoundError):
                counted, size = self._cached_size(), source.stat().st_size
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                try:
                    os.link(source, target)
                except FileExistsError:
                    continue
                except PermissionError:
                    shutil.copyfile(source, target)
                self._size = counted + size

    def collect_garbage(self, find_unreferenced: Callable[[], Iterable[str]]) -> int:
        """Remove what is unreferenced once new contents are protected; return the bytes freed."""
        with self.protected():
            return sum(self._remove(digest) for digest in find_unreferenced())

    def disk_usage(self, digests: Iterable[str]) -> int:
        """Return the total disk usage of these contents, in bytes."""
        return sum(_disk_usage(self.path(digest)) for digest in digests)

    def merge(self, other: "BlobStore") -> None:
        """Move all contents of another store on the same file system into this one."""
        for path in other.folder.glob("[0-9a-f][0-9a-f]/*"):
            if len(path.name) == 64 and _HEX.issuperset(path.name) and not self._protect(path.name):
                self._move_in(path)

    def _move_in(self, path: Path) -> None:
        with self._lock:
            target, size = self.path(path.name), path.stat().st_size
            counted = self._cached_size()
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(target)
            self._size = counted + size

    def _remove(self, digest: str) -> int:
        """Remove a content unless it is protected; return the bytes freed."""
        target = self.path(digest)
        with self._lock:
            if digest in self._protected:
                return 0
            counted, freed = self._cached_size(), _disk_usage(target)
            with suppress(FileNotFoundError):
                size = target.stat().st_size
                target.unlink()
                self._size = max(0, counted - size)
            return freed

    def _protect(self, digest: str) -> bool:
        """Return whether the content is stored; protect it while ``protected`` is active."""
        with self._lock:
            if self._protections:
                self._protected.add(digest)
            return self.has(digest)

    def _put_small(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if not self._protect(digest):
            part = self._partial_path()
            with _removed_on_failure(part):
                self._write(part, content)
                self._commit(part, digest, len(content))
        return digest

    def _put_large(self, first_chunk: bytes, file: BinaryIO, limit: int) -> tuple[str, int]:
        part, count, sha = self._partial_path(), 0, hashlib.sha256()
        with _removed_on_failure(part):
            chunk = first_chunk
            while chunk:
                sha.update(chunk)
                self._write(part, chunk)
                count += len(chunk)
                chunk = file.read(min(_CHUNK, limit + 1 - count))
            digest = sha.hexdigest()
            if count <= limit and not self._protect(digest):
                self._commit(part, digest, count)
            else:
                os.unlink(part)
            return digest, count

    def _partial_path(self) -> str:
        return f"{self.folder}/part-{self._name}-{next(self._parts)}"

    def _write(self, part: str, chunk: bytes) -> None:
        """Append to a partial content, without a buffer: opening one takes more system calls."""
        try:
            try:
                file = os.open(part, _APPEND, 0o666)
            except FileNotFoundError:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                file = os.open(part, _APPEND, 0o666)
            try:
                written = 0
                while written < len(chunk):
                    written += os.write(file, memoryview(chunk)[written:])
            finally:
                os.close(file)
        except OSError as error:
            raise StoreFull(None) from error

    def _commit(self, part: str, digest: str, size: int) -> None:
        """Move a complete content to its final path, if it fits."""
        with self._lock:
            if self._cached_size() + size > self.limit:
                raise StoreFull(digest)
            if self.has(digest):
                os.unlink(part)
                return
            target = f"{self.folder}/{_name(digest)}"
            try:
                try:
                    os.rename(part, target)
                except FileNotFoundError:
                    self.path(digest).parent.mkdir(exist_ok=True)
                    os.rename(part, target)
            except OSError as error:
                raise StoreFull(digest) from error
            self._size = self._cached_size() + size

    def _cached_size(self) -> int:
        if self._size is None:
            self._size = self._size_when_closed()
        if self._size is None:
            self._size = sum(
                entry.stat().st_size for folder in self._folders() for entry in os.scandir(folder)
            )
        return self._size

    def _size_when_closed(self) -> int | None:
        """Return the size that ``close`` has noted, unless contents have come or gone since."""
        try:
            size, changed = map(int, (self.folder / _COUNTED).read_text().split())
        except (OSError, ValueError):
            return None
        return size if changed == self._changed() else None

    def _changed(self) -> int:
        return max((folder.stat().st_mtime_ns for folder in self._folders()), default=0)

    def _folders(self) -> list[os.DirEntry[str]]:
        if not self.folder.is_dir():
            return []
        return [entry for entry in os.scandir(self.folder) if entry.is_dir()]


@contextmanager
def _removed_on_failure(part: str) -> Iterator[None]:
    """Remove a partial content if the block fails."""
    try:
        yield
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _disk_usage(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0
