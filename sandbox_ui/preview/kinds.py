"""Which kind of preview a file gets: by its name's ending, unless its first bytes say otherwise."""

HEAD = 4096
"""Bytes of a file's beginning that are looked at."""

_ENDINGS = {
    "markdown": "md markdown",
    "image": "png jpg jpeg jpe jfif gif webp bmp tif tiff ico cur avif ppm pgm pbm tga jp2",
    "drawing": "svg svgz",
    "pdf": "pdf",
    "page": "html htm xhtml",
    "sound": "wav mp3 ogg oga opus flac m4a aac",
    "midi": "mid midi",
    "film": "mp4 m4v webm ogv mov",
    "table": "csv tsv xlsx xlsm xls ods parquet",
    "database": "sqlite sqlite3 db db3",
    "tree": "json jsonl ndjson geojson yaml yml",
    "notebook": "ipynb",
    "document": "docx doc odt",
    "slides": "pptx ppt odp",
    "archive": "zip tar tgz tbz2 txz whl jar gz bz2 xz epub",
    "font": "ttf otf woff woff2",
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"%PDF-", "pdf"),
    (b"SQLite format 3\x00", "database"),
    (b"MThd", "midi"),
    (b"fLaC", "sound"),
    (b"ID3", "sound"),
    (b"OggS", "sound"),
    (b"PAR1", "table"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"OTTO", "font"),
    (b"\x00\x01\x00\x00\x00", "font"),
    (b"\x1f\x8b", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ\x00", "archive"),
    (b"\x1aE\xdf\xa3", "film"),
)
_PICTURES = {b"avi", b"hei", b"hev", b"mif", b"msf"}
_ZIPPED = {"archive", "drawing", "document", "slides", "table"}
_PLAYED = {"sound", "film"}  # the same containers hold both
_AS_TEXT = {"markdown", "drawing", "page", "tree", "notebook"}
KINDS = frozenset({*_ENDINGS, "text", "bytes"})
"""Each has a module here, and a twin in ``static/preview/``."""

COMPARED = "difference"
"""Shows two versions of a file beside each other; no file is of this kind."""


def kind_of(name: str, head: bytes) -> str:
    """The kind of a file, one of ``KINDS``.

    Args:
        name: Its name.
        head: Its first ``HEAD`` bytes, or all of it.
    """
    lowered = name.lower()
    by_name = _BY_ENDING.get(lowered.rpartition(".")[2], "") if "." in lowered else ""
    found = _signature(head)
    if found == "archive" and by_name in _ZIPPED:
        return by_name
    if found in _PLAYED and by_name in _PLAYED:
        return by_name
    if found and found != by_name:
        return found
    if by_name in _AS_TEXT or not by_name:
        text = _is_text(head)
        return (by_name or "text") if text else "bytes"
    return by_name


def _signature(head: bytes) -> str:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")) or head[257:262] == b"ustar":
        return "archive"
    if head[:4] == b"RIFF":
        return {b"WEBP": "image", b"WAVE": "sound"}.get(head[8:12], "")
    if head[4:8] == b"ftyp" and head[8:11] not in _PICTURES:
        return "sound" if head[8:11] == b"M4A" else "film"
    return next((kind for sign, kind in _SIGNATURES if head.startswith(sign)), "")


def _is_text(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\0" not in head
