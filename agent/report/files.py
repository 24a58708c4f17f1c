"""The files of a run in its report: their versions, previews, and contents as data."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.errors import JournalError
from agent.report.budget import Budget
from agent.report.documents import Documents, lines, read_table
from agent.report.html import Html, base64_chunks, el, markup
from agent.report.redaction import Redactor
from agent.report.source import Change, Content, Source, shown_path
from agent.util.text import format_size, plural
from agent.workspace.versions.manifest import Node

_MAX_PATHS = 2_000
_MAX_VERSIONS = 4_000
_MAX_FRAME = 400_000
_CHUNK = 192 * 1024
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
_PAGES = (".html", ".htm", ".svg")
_SVG_STYLE = "<style>html, body { margin: 0 } svg { max-width: 100%; height: auto }</style>"
_KIND_LABELS = {
    "link": "a link",
    "fifo": "a named pipe",
    "socket": "a socket",
    "device": "a device",
}


@dataclass(slots=True)
class _Version:
    """A file from a step on until another one; ``until`` is None for the last version."""

    node: Node
    step: int
    by_user: bool
    until: int | None = None
    content: Content | None = None


@dataclass(slots=True)
class _Path:
    name: str
    versions: list[_Version] = field(default_factory=list)

    @property
    def last(self) -> _Version:
        return self.versions[-1]

    @property
    def exists(self) -> bool:
        return self.last.until is None


class Files:
    """The files of a run.

    Args:
        source: The run.
        budget: How much of them becomes part of the report.
        redactor: Redacts texts.
    """

    def __init__(self, source: Source, budget: Budget, redactor: Redactor) -> None:
        self._source = source
        self._budget = budget
        self._redactor = redactor
        self._paths, self._more, self._damage = _read(source)
        self._ids: dict[str, int] = {}
        self._written: set[str] = set()
        self._documents = Documents(redactor)
        self._first_group = min(map(_group, self._paths.values()), default=0)
        self._choose()

    def parts(self) -> Iterator[str]:
        """Yield the section of the files; their data in chunks."""
        yield Html('<section class="files" id="files" aria-label="Files">\n')
        yield el("h2", "Files ", el("small", "", class_="as-of"))
        if self._damage:
            yield el("p", self._damage, class_="left-out")
        elif not self._paths:
            known = self._source.manifests or self._source.files
            yield el("p", "No files." if known else "This record has no files.", class_="dim")
        for path in sorted(self._paths.values(), key=_order):
            yield from self._path(path)
        if self._more:
            text = f"{plural(self._more, 'further file or version')} left out"
            yield el("p", text, class_="left-out")
        yield Html("</section>\n")

    def _choose(self) -> None:
        """Decide which contents become data: results first, earlier versions last."""
        versions = [(path, each) for path in self._paths.values() for each in path.versions]
        left, refused = self._budget.files, set[str]()
        for path, version in sorted(versions, key=_rank):
            content = version.content = self._source.content(path.name, version.node)
            if content is None or content.key in self._ids:
                continue
            size = version.node.size
            if size > self._budget.file or size > left or content.key in refused:
                refused.add(content.key)
                continue
            left -= size
            self._ids[content.key] = len(self._ids) + 1

    def _path(self, path: _Path) -> Iterator[str]:
        last = path.last
        name = shown_path(path.name)
        size = format_size(last.node.size) if last.node.kind == "file" else ""
        gone = f"deleted in step {last.until}" if last.until is not None else ""
        attributes = ' data-output=""' if path.name.startswith("output/") else ""
        opened = " open" if path.exists and _group(path) == self._first_group else ""
        deleted = " deleted" if gone else ""
        yield Html(f'<details class="file{deleted}"{attributes}{opened}>')
        yield el("summary", el("b", name), el("small", gone or size, class_="num"))
        for version in path.versions:
            yield from self._version(path, version)
        yield Html("</details>\n")

    def _version(self, path: _Path, version: _Version) -> Iterator[str]:
        shown = "version" if version is path.last else "version earlier"
        until = "" if version.until is None else f' data-until="{version.until}"'
        yield Html(f'<div class="{shown}" data-since="{version.step}"{until}>')
        yield el("p", _origin(version), class_="origin")
        if version.node.kind != "file":
            target = f" to {version.node.target}" if version.node.kind == "link" else ""
            yield el("p", f"{_KIND_LABELS[version.node.kind].capitalize()}{target}")
        elif version.content is None:
            why = version.node.reason or "it is not in the store any more"
            yield el("p", f"The content was not kept: {why}.", class_="left-out")
        else:
            yield from self._content(path.name, version, version.content)
        yield Html("</div>")

    def _content(self, name: str, version: _Version, content: Content) -> Iterator[str]:
        number = self._ids.get(content.key)
        try:
            with content.open() as file:
                start = file.read(4 * _MAX_FRAME)
        except OSError:
            yield el("p", "The content cannot be read.", class_="left-out")
            return
        media = media_type(start)
        text = None if media else _text(start)
        if text is not None:
            yield from _text_preview(name, self._redactor.redact(text), len(start), version.node)
        elif media and number:
            yield from self._media(name, media, content, number)
        elif not media:
            yield self._documents.preview(name, start, version.node, content)
        if not number:
            size = format_size(version.node.size)
            text = f"The file ({size}) is not in the report: it is over the chosen size."
            yield el("p", text, class_="left-out")
            return
        if not media and content.key not in self._written:
            yield Html(f'<script type="text/plain" id="content-{number}">')
            yield from self._data(content, text=text is not None)
            yield Html("</script>")
        self._written.add(content.key)
        file_name = posixpath.basename(shown_path(name))
        yield el("button", "Download", type="button", class_="download", hidden=True,
                 data_content=str(number), data_name=file_name,
                 aria_label=f"Download {file_name}")  # fmt: skip

    def _media(self, name: str, media: str, content: Content, number: int) -> Iterator[str]:
        kind = media.partition("/")[0]
        tag = "img" if kind == "image" else kind
        label = f"{shown_path(name)}"
        options = 'decoding="async"' if tag == "img" else "controls"
        named = f'alt="{markup(label)}"' if tag == "img" else f'aria-label="{markup(label)}"'
        close = "" if tag == "img" else f"</{tag}>"
        if content.key in self._written:
            yield Html(f'<{tag} data-copy-of="content-{number}" {named} {options}>{close}')
            return
        yield Html(f'<{tag} id="content-{number}" {named} {options} src="data:{media};base64,')
        yield from self._data(content, text=False)
        yield Html(f'">{close}')

    def _data(self, content: Content, *, text: bool) -> Iterator[str]:
        """Yield a file in base64; a text redacted."""
        with content.open() as file:
            if text:
                whole = file.read(self._budget.file).decode("utf-8", "surrogateescape")
                data = self._redactor.redact(whole).encode("utf-8", "surrogateescape")
                yield from base64_chunks([data])
            else:
                yield from base64_chunks(iter(lambda: file.read(_CHUNK), b""))


def media_type(start: bytes) -> str:
    """Return the type of an image, a sound or a video by its first bytes; empty for others."""
    found = (media for mark, at, media in _SIGNATURES if start[at : at + len(mark)] == mark)
    return next(found, "")


def _read(source: Source) -> tuple[dict[str, _Path], int, str]:
    """Return the versions of all paths, the number of those that are too many, and the damage."""
    paths: dict[str, _Path] = {}
    versions = more = 0
    try:
        for change in source.changes():
            path = paths.get(change.path)
            if path is not None and path.exists:
                path.last.until = change.step
            if change.node is None:
                continue
            versions += 1
            if versions > _MAX_VERSIONS or (path is None and len(paths) >= _MAX_PATHS):
                more += 1
                continue
            _add(paths, change, change.node)
    except JournalError as error:
        return paths, more, str(error)
    return paths, more, ""


def _add(paths: dict[str, _Path], change: Change, node: Node) -> None:
    path = paths.setdefault(change.path, _Path(change.path))
    if path.versions and path.last.step == change.step:  # changed twice in a step
        path.versions.pop()
    path.versions.append(_Version(node, change.step, change.by_user))


def _order(path: _Path) -> tuple[int, str]:
    """Return where a path is listed: results, other files, inputs, deleted ones."""
    return _group(path), path.name


def _group(path: _Path) -> int:
    if not path.exists:
        return 3
    return 0 if path.name.startswith("output/") else 2 if path.name.startswith("input/") else 1


def _rank(item: tuple[_Path, _Version]) -> tuple[int, int, str]:
    """Return the order in which contents are chosen; earlier versions come last, newest first."""
    path, version = item
    is_last = version is path.last and path.exists
    return (_group(path) if is_last else 4, -version.step, path.name)


def _origin(version: _Version) -> str:
    by = " by the user" if version.by_user else ""
    since = f"from step {version.step}{by}" if version.step else "from the beginning"
    return f"{since}, until step {version.until}" if version.until is not None else since


def _text(start: bytes) -> str | None:
    """Return the beginning of a text file; None if it is none."""
    if b"\0" in start:
        return None
    try:
        return start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= len(start) - 4 and len(start) >= 4 * _MAX_FRAME:  # cut in a character
            return start[: error.start].decode("utf-8-sig")
        return None


def _text_preview(name: str, text: str, read: int, node: Node) -> Iterator[str]:
    suffix = posixpath.splitext(name)[1].lower()
    whole = node.size <= read
    if suffix in _TABLES and (table := read_table(text, _TABLES[suffix])):
        yield table
        return
    if suffix in _PAGES and whole and len(text) <= _MAX_FRAME:
        title = f"{shown_path(name)}, without its scripts"
        page = f"{_SVG_STYLE}{text}" if suffix == ".svg" else text
        yield el("iframe", sandbox="", srcdoc=page, title=title, loading="lazy")
        yield el("p", "Shown without scripts and without the network.", class_="dim")
        yield el("details", el("summary", "Source"), _lines(text, node), class_="folded")
        return
    yield _lines(text, node)


def _lines(text: str, node: Node) -> Html:
    return lines(text, format_size(node.size))
