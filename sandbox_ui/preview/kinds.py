"""Detection of preview kinds by extension and signature; the signature wins."""

import re

from agent.documents.signatures import is_pdf

HEAD_BYTES = 4096
"""Number of leading bytes inspected."""

_EXTENSIONS = {
    "markdown": "md markdown",
    "image": "png jpg jpeg jpe jfif gif webp bmp tif tiff ico cur avif ppm pgm pbm tga jp2",
    "svg": "svg svgz",
    "pdf": "pdf",
    "html": "html htm xhtml",
    "audio": "wav mp3 ogg oga opus flac m4a aac",
    "midi": "mid midi",
    "video": "mp4 m4v webm ogv mov",
    "table": "csv tsv xlsx xlsm xlsb xls ods parquet",
    "database": "sqlite sqlite3 db db3",
    "json": "json jsonl ndjson geojson yaml yml",
    "notebook": "ipynb",
    "document": "docx doc odt",
    "slides": "pptx ppt odp",
    "archive": "zip tar tgz tbz2 txz whl jar gz bz2 xz epub",
    "font": "ttf otf ttc otc woff woff2",
}
_KIND_BY_EXTENSION = {
    ending: kind for kind, endings in _EXTENSIONS.items() for ending in endings.split()
}
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"SQLite format 3\x00", "database"),
    (b"MThd", "midi"),
    (b"fLaC", "audio"),
    (b"ID3", "audio"),
    (b"OggS", "audio"),
    (b"PAR1", "table"),
    (b"PARE", "table"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"OTTO", "font"),
    (b"ttcf", "font"),
    (b"\x00\x01\x00\x00\x00", "font"),
    (b"\x1f\x8b", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ\x00", "archive"),
    (b"\x1aE\xdf\xa3", "video"),
)
_TEXT_LIKE_SIGNATURES = {
    b"GIF87a",
    b"GIF89a",
    b"MThd",
    b"fLaC",
    b"ID3",
    b"OggS",
    b"PAR1",
    b"PARE",
    b"OTTO",
    b"ttcf",
    b"BZh",
}
"""Signatures that text may start with; in the formats, control characters follow."""
_CONTROLS = re.compile(rb"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")
_IMAGE_BRANDS = {b"avi", b"hei", b"hev", b"mif", b"msf"}
_ZIP_BASED_KINDS = {"archive", "svg", "document", "slides", "table"}
_MEDIA_KINDS = {"audio", "video"}  # share container formats
_TEXT_BASED_KINDS = {"markdown", "svg", "html", "json", "notebook"}
KINDS = frozenset({*_EXTENSIONS, "text", "hex"})
"""All kinds; ``_MODULES`` and ``static/preview/loader.js`` map them to modules."""

DIFFERENCE = "difference"
"""Pseudo-kind that shows two versions of a file side by side; no file has it."""


_MODULES = {
    "text": "text.text",
    "markdown": "text.markdown",
    "notebook": "text.notebook",
    "table": "tables.table",
    "database": "tables.sqlite",
    "image": "media.image",
    "svg": "media.svg",
    "audio": "media.audio",
    "video": "media.video",
    "midi": "media.midi",
    "font": "media.font",
    "pdf": "documents.pdf",
    "document": "documents.docx",
    "slides": "documents.pptx",
    "html": "documents.html",
    "json": "data.json_tree",
    "archive": "data.archive",
    "hex": "data.hex",
    DIFFERENCE: "text.versions",
}


def module_of(kind: str) -> str:
    """Return the dotted name of the module whose ``view`` renders a kind."""
    return f"{__package__}.{_MODULES[kind]}"


def kind_of(name: str, head: bytes) -> str:
    """Return the kind of a file, by its name and its first ``HEAD_BYTES`` bytes."""
    lowered = name.lower()
    by_name = _KIND_BY_EXTENSION.get(lowered.rpartition(".")[2], "") if "." in lowered else ""
    found = _signature(head)
    if found == "archive" and by_name in _ZIP_BASED_KINDS:
        return by_name
    if found in _MEDIA_KINDS and by_name in _MEDIA_KINDS:
        return by_name
    if found and found != by_name:
        return found
    if by_name in _TEXT_BASED_KINDS or not by_name:
        text = is_text(head)
        return (by_name or "text") if text else "hex"
    return by_name


def _signature(head: bytes) -> str:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) or head[257:262] == b"ustar":
        return "archive"
    if is_pdf("", head):
        return "pdf"
    if head[:4] == b"RIFF":
        return {b"WEBP": "image", b"WAVE": "audio"}.get(head[8:12], "")
    if head[4:8] == b"ftyp" and head[8:11] not in _IMAGE_BRANDS:
        return "audio" if head[8:11] == b"M4A" else "video"
    sign, kind = next((each for each in _SIGNATURES if head.startswith(each[0])), (b"", ""))
    return "" if sign in _TEXT_LIKE_SIGNATURES and not _CONTROLS.search(head) else kind


def is_text(head: bytes) -> bool:
    """Return whether a file with this start is read as text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\0" not in head
