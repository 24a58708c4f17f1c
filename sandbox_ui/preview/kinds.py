"""The kinds of files: how each is recognised, its limits, and the modules that show it."""

import re
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import BinaryIO

from agent.documents import svg
from agent.documents.signatures import is_pdf
from agent.util.text import format_size
from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest, Renderer

HEAD_BYTES = 4096
"""Number of leading bytes inspected."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file."""

    view: str  # module of this package whose ``view`` renders it in the worker process
    page: str  # module of static/preview/ that shows the result; its folder has the style sheet
    extensions: str = ""  # docs/workspace.md lists them
    signatures: tuple[bytes, ...] = ()  # first bytes; those of letters may also begin a text
    noun: str = ""  # of a file that is empty, too large or damaged; without it, the view says so
    max_bytes: int = 2**63
    rendered: str = ""  # name of the view beside the source; empty if the source is not shown
    packed: bool = False  # whether its files are archives
    headers: tuple[str, ...] = ()  # options that are no part of the address, which is stored
    companion: str = ""  # suffix of the name of a second file that belongs to it


MB = 1024**2
KINDS = {
    "text": Kind("text.text", "text/text", headers=("languages",)),
    "markdown": Kind(
        "text.markdown", "text/markdown", "md markdown",
        rendered="Rendered", headers=("languages",),
    ),
    "image": Kind(
        "media.image", "media/image",
        "png jpg jpeg jpe jfif gif webp bmp tif tiff ico cur avif ppm pgm pbm tga jp2",
        (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"), noun="file",
    ),
    "svg": Kind(
        "media.svg", "media/svg", "svg svgz",
        noun="drawing", max_bytes=svg.MAX_FILE_BYTES, rendered="Image", packed=True,
    ),
    "pdf": Kind(
        "documents.pdf", "pdf/pdf", "pdf", noun="PDF", max_bytes=2048 * MB, headers=("password",)
    ),
    "html": Kind("documents.html", "documents/html", "html htm xhtml", rendered="Page"),
    "audio": Kind(
        "media.audio", "media/audio", "wav mp3 ogg oga opus flac m4a aac",
        (b"fLaC", b"ID3", b"OggS"), noun="file",
    ),
    "midi": Kind("media.midi", "media/midi", "mid midi", (b"MThd",), noun="file"),
    "video": Kind(
        "media.video", "media/video", "mp4 m4v webm ogv mov", (b"\x1aE\xdf\xa3",), noun="file"
    ),
    "table": Kind(
        "tables.table", "tables/table", "csv tsv xlsx xlsm xlsb xls ods parquet",
        (b"PAR1", b"PARE"), noun="file", rendered="Table", packed=True, headers=("languages",),
    ),
    "database": Kind(
        "tables.sqlite", "tables/sqlite", "sqlite sqlite3 db db3",
        (b"SQLite format 3\x00",), companion="-wal",
    ),
    "json": Kind("data.json_tree", "data/json_tree", "json jsonl ndjson geojson yaml yml",
                 rendered="Tree"),
    "notebook": Kind(
        "text.notebook", "documents/notebook", "ipynb",
        noun="notebook", max_bytes=200 * MB, rendered="Notebook",
    ),
    "document": Kind(
        "documents.docx", "documents/docx", "docx doc odt",
        noun="document", max_bytes=200 * MB, packed=True,
    ),
    "slides": Kind(
        "documents.pptx", "documents/pptx", "pptx ppt odp",
        noun="presentation", max_bytes=300 * MB, packed=True,
    ),
    "archive": Kind(
        "data.archive", "data/archive", "zip tar tgz tbz2 txz whl jar gz bz2 xz epub",
        (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04", b"PK\x05\x06"),
        noun="file", packed=True, headers=("password",),
    ),
    "font": Kind(
        "media.font", "media/font", "ttf otf ttc otc woff woff2",
        (b"wOFF", b"wOF2", b"OTTO", b"ttcf", b"\x00\x01\x00\x00\x00"),
        noun="font", max_bytes=64 * MB,
    ),
    "hex": Kind("data.hex", "data/hex"),
}  # fmt: skip
DIFFERENCE = "difference"
"""Pseudo-kind that shows two versions of a file side by side; no file has it."""

RENDERED = {**KINDS, DIFFERENCE: Kind("text.versions", "diff/diff")}
_KIND_BY_EXTENSION = {end: name for name, kind in KINDS.items() for end in kind.extensions.split()}
_SIGNATURES = [(start, name) for name, kind in KINDS.items() for start in kind.signatures]
_CONTROLS = re.compile(rb"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")
_IMAGE_BRANDS = {b"avi", b"hei", b"hev", b"mif", b"msf"}
_MEDIA_KINDS = {"audio", "video"}  # share container formats
_TEXT_BASED_KINDS = {"markdown", "svg", "html", "json", "notebook"}


def kind_of(name: str, head: bytes) -> str:
    """Return the kind of a file, by its name and its first ``HEAD_BYTES``; the bytes win."""
    lowered = name.lower()
    by_name = _KIND_BY_EXTENSION.get(lowered.rpartition(".")[2], "") if "." in lowered else ""
    found = _kind_by_signature(head)
    if found == "archive" and by_name and KINDS[by_name].packed:
        return by_name
    if found in _MEDIA_KINDS and by_name in _MEDIA_KINDS:
        return by_name
    if found and found != by_name:
        return found
    if by_name in _TEXT_BASED_KINDS or not by_name:
        return (by_name or "text") if is_text(head) else "hex"
    return by_name


def _kind_by_signature(head: bytes) -> str:
    if head[257:262] == b"ustar":
        return "archive"
    if is_pdf("", head):
        return "pdf"
    if head[:4] == b"RIFF":
        return {b"WEBP": "image", b"WAVE": "audio"}.get(head[8:12], "")
    if head[4:8] == b"ftyp" and head[8:11] not in _IMAGE_BRANDS:
        return "audio" if head[8:11] == b"M4A" else "video"
    start, kind = next((each for each in _SIGNATURES if head.startswith(each[0])), (b"", ""))
    return "" if start.isalnum() and not _CONTROLS.search(head) else kind


def is_text(head: bytes) -> bool:
    """Return whether a file with this start is read as text."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head


def load_renderer(name: str) -> Renderer:
    """Return the ``view`` of a kind's module after the checks that all kinds share."""
    kind = RENDERED[name]
    view: Renderer = import_module(f"{__package__}.{kind.view}").view
    return _checked(view, kind) if kind.noun else view


def _checked(view: Renderer, kind: Kind) -> Renderer:
    @wraps(view)
    def render(file: BinaryIO, request: PreviewRequest) -> Preview:
        if not request.size:
            raise PreviewError(f"This {kind.noun} is empty.")
        if request.size > kind.max_bytes:
            plural, limit = f"{kind.noun[0].upper()}{kind.noun[1:]}s", format_size(kind.max_bytes)
            raise PreviewError(f"{plural} larger than {limit} are not shown.")
        try:
            return view(file, request)
        except (PreviewError, MemoryError, ImportError):
            raise
        except Exception as error:
            raise PreviewError(f"This {kind.noun} is damaged or truncated.") from error

    return render
