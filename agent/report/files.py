"""The files of a run in its report: their versions as JSON values, and their contents as data."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.documents.signatures import is_office, is_pdf
from agent.errors import JournalError
from agent.report.budget import Budget
from agent.report.documents import Documents, read_table
from agent.report.page import data_block, json_block
from agent.report.redaction import Redactor
from agent.report.source import Change, Content, Source
from agent.util.text import plural
from agent.workspace.paths import RelPath

_MAX_PATHS = 2_000
_MAX_VERSIONS = 4_000
_START = 64 * 1024
_MAX_TABLE = 4 * 1024**2
_CHUNK = 192 * 1024
_LINES, _WIDTH = 6, 120
_SIGNATURES: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"ftypavif", 4, "image/avif"),
    (b"BM", 0, "image/bmp"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"\xff\xfb", 0, "audio/mpeg"),
    (b"\xff\xf3", 0, "audio/mpeg"),
    (b"OggS", 0, "audio/ogg"),
    (b"fLaC", 0, "audio/flac"),
    (b"ftypM4A", 4, "audio/mp4"),
    (b"ftyp", 4, "video/mp4"),
    (b"\x1a\x45\xdf\xa3", 0, "video/webm"),
)
_TABLES = {".csv": ",", ".tsv": "\t"}
_PAGES = {".html": "html", ".htm": "html", ".svg": "svg"}
_TOO_LARGE = "it is over the size of files that was chosen for this report"
_MISSING = "it is not in the store any more"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A content that the report contains."""

    name: str
    size: int
    kind: str
    media: str
    content: Content


class Files:
    """The files of a run, within a budget; ``notes`` are sentences on what is left out."""

    def __init__(
        self, source: Source, budget: Budget, redactor: Redactor, prefix: str = ""
    ) -> None:
        self._source = source
        self._budget = budget
        self._redactor = redactor
        self._prefix = prefix  # of the contents' ids
        self._documents = Documents(redactor)
        self._stored: dict[str, _Stored] = {}
        changes, self.notes = _read(source)
        ids = self._choose(changes)
        self.versions = [
            {
                "path": redactor.redact(RelPath.trusted(path).to_url()),
                "versions": [self._version(each, ids) for each in versions],
            }
            for path, versions in changes.items()
        ]
        self.contents = {
            name: {"kind": each.kind, "type": each.media, "lines": self._lines(each)}
            for name, each in self._stored.items()
        }

    def blocks(self) -> Iterator[str]:
        """Yield the contents, and what their previews show in place of them."""
        for name, stored in self._stored.items():
            try:
                yield from self._preview(name, stored)
                yield from data_block(f"content-{name}", self._data(stored))
            except OSError:
                yield json_block(f"view-{name}", {"error": "The content cannot be read."})

    def _choose(self, changes: dict[str, list[Change]]) -> dict[str, str]:
        """Decide which contents become data, by their key: results first, earlier versions last."""
        every = [(each, each is all_[-1]) for all_ in changes.values() for each in all_]
        ids, left = dict[str, str](), self._budget.files
        for change, _ in sorted(every, key=_rank):
            content = self._source.content(change.path, change.node) if change.node else None
            if content is None or content.key in ids or change.node is None:
                continue
            size = change.node.size
            if size > min(self._budget.file, left):
                continue
            try:
                with content.open() as file:
                    start = file.read(_START)
            except OSError:
                continue
            left -= size
            ids[content.key] = name = f"{self._prefix}{len(ids) + 1}"
            kind, media = _kind(change.path, start)
            self._stored[name] = _Stored(change.path, size, kind, media, content)
        return ids

    def _version(self, change: Change, ids: dict[str, str]) -> dict[str, Any]:
        node = change.node
        if node is None:
            return {"step": change.step, "kind": None}
        kind = node.kind if node.kind in ("file", "link") else "other"
        row: dict[str, Any] = {"step": change.step, "kind": kind, "size": node.size}
        if change.by_user:
            row["by_user"] = True
        if node.kind == "link":
            row["target"] = self._redactor.redact(node.target)
        if node.kind == "file":
            content = self._source.content(change.path, node)
            if content is not None and content.key in ids:
                row["content"] = ids[content.key]
            else:
                row["not_kept"] = _TOO_LARGE if content else node.reason or _MISSING
        return row

    def _is_text(self, stored: _Stored) -> bool:
        return stored.kind in ("text", "table", "html", "svg")

    def _lines(self, stored: _Stored) -> list[str]:
        """Return the first lines of a text, for the card of a result."""
        if stored.kind not in ("text", "table"):
            return []
        with stored.content.open() as file:
            text = self._redactor.redact(file.read(_START).decode("utf-8", "replace"))
        return [line[:_WIDTH] for line in text.splitlines()[:_LINES]]

    def _preview(self, name: str, stored: _Stored) -> Iterator[str]:
        """Yield what the preview of a document or a table shows."""
        suffix = posixpath.splitext(stored.name)[1].lower()
        if stored.kind == "document":
            view = self._documents.preview(suffix, stored.size, stored.content)
            yield json_block(f"view-{name}", view)
        elif stored.kind == "table":
            with stored.content.open() as file:
                text = self._redactor.redact(file.read(_MAX_TABLE).decode("utf-8-sig", "replace"))
            sheet = read_table("", text, _TABLES[suffix])
            view = {"kind": "table", "sheets": [sheet]} if sheet else {"kind": "text"}
            yield json_block(f"view-{name}", view)

    def _data(self, stored: _Stored) -> Iterator[bytes]:
        """Yield a content; a text redacted."""
        with stored.content.open() as file:
            if self._is_text(stored):
                whole = file.read(self._budget.file).decode("utf-8", "surrogateescape")
                yield self._redactor.redact(whole).encode("utf-8", "surrogateescape")
            else:
                yield from iter(lambda: file.read(_CHUNK), b"")


def media_type(start: bytes) -> str:
    """Return the type of an image, a sound or a video by its first bytes; empty for others."""
    found = (media for mark, at, media in _SIGNATURES if start[at : at + len(mark)] == mark)
    return next(found, "")


def _kind(path: str, start: bytes) -> tuple[str, str]:
    """Return how a file is previewed, and its media type."""
    suffix = posixpath.splitext(path)[1].lower()
    if media := media_type(start):
        return media.partition("/")[0], media
    if is_office(path, start) or is_pdf(path, start):
        return "document", "application/octet-stream"
    if not _is_text(start):
        return "hex", "application/octet-stream"
    kind = "table" if suffix in _TABLES else _PAGES.get(suffix, "text")
    return kind, "image/svg+xml" if kind == "svg" else "text/plain"


def _is_text(start: bytes) -> bool:
    if b"\0" in start:
        return False
    try:
        start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return len(start) == _START and error.start >= _START - 4  # cut in a character
    return True


def _read(source: Source) -> tuple[dict[str, list[Change]], list[str]]:
    """Return the changes of each path in order, and what is missing of them."""
    paths: dict[str, list[Change]] = {}
    versions = more = 0
    notes = []
    try:
        for change in source.changes():
            known = paths.get(change.path)
            if known is None and (change.node is None or len(paths) >= _MAX_PATHS):
                more += change.node is not None
                continue
            if change.node is not None:
                versions += 1
                if versions > _MAX_VERSIONS:
                    more += 1
                    continue
            known = paths.setdefault(change.path, [])
            if known and known[-1].step == change.step:  # changed twice in a step
                known.pop()
            known.append(change)
    except JournalError as error:
        notes.append(str(error))
    if more:
        notes.append(f"{plural(more, 'further file or version')} left out.")
    return paths, notes


def _rank(item: tuple[Change, bool]) -> tuple[int, int, str]:
    """Return the order in which contents are chosen; earlier versions come last, newest first."""
    change, is_last = item
    group = 0 if change.path.startswith("output/") else 2 if change.path.startswith("input/") else 1
    return (group if is_last else 4, -change.step, change.path)
