"""Which files can be looked at: told by their first bytes and their names."""

import re
from typing import Literal

from agent.documents.signatures import OFFICE_EXTENSIONS, is_office, is_pdf

Kind = Literal["image", "heif", "svg", "pdf", "notebook", "document", "video", "other"]
"""``other`` is a file that has to be read in another way."""

HEAD_BYTES = 4096
MAX_FILE_BYTES = 64 * 1024**2
"""Maximum size in bytes of a file to look at."""

_SIGNATURES = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*",
    b"\0\0\x01\0", b"\0\0\0\x0cjP",
)  # fmt: skip
_HEIF_BRANDS = (b"hei", b"hev", b"mif", b"msf")  # the last two may hold AVIF
_AVIF_BRAND = b"avi"
_TEXT_SIGNATURES = re.compile(rb"BM.{4}\0\0\0\0|P[1-6]\s", re.DOTALL)  # may begin a text
_PICTURE_NAMES = ("bmp", "dib", "ppm", "pgm", "pbm", "tga", "heic", "heif", "avif")
_OTHER_PICTURE_NAMES = ("png", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "ico", "jp2")
_VIDEO_NAMES = ("mp4", "m4v", "webm", "ogv", "mov", "mkv", "avi")
_OLE = b"\xd0\xcf\x11\xe0"


def kind_of(name: str, head: bytes) -> Kind:
    """Return the kind of a file, by its name and its first ``HEAD_BYTES``; the bytes win."""
    extension = name.lower().rpartition(".")[2] if "." in name else ""
    if is_pdf(name, head):
        return "pdf"
    if head.startswith(_SIGNATURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return "image"
    if head[4:8] == b"ftyp":
        return _kind_by_brands(head)
    if extension in _PICTURE_NAMES and (_TEXT_SIGNATURES.match(head) or b"\0" in head):
        return "image"
    if extension == "svgz" or (extension == "svg" and b"\0" not in head):
        return "svg"
    if extension == "ipynb" and head.lstrip().startswith(b"{"):
        return "notebook"
    if is_office(name, head) or head.startswith(_OLE):
        return "document"
    return "video" if extension in _VIDEO_NAMES and b"\0" in head else "other"


def _kind_by_brands(head: bytes) -> Kind:
    """Return the kind of an ISO media file, by its brands (ISO/IEC 14496-12, 4.3)."""
    end = min(int.from_bytes(head[:4]), len(head))
    brands = [head[at : at + 3] for at in (8, *range(16, end, 4))]
    if brands[0] != _AVIF_BRAND and brands[0] not in _HEIF_BRANDS:
        return "video"
    return "image" if _AVIF_BRAND in brands else "heif"


def is_viewed_name(name: str) -> bool:
    """Return whether a name is that of a picture, a video or a document, which no text is."""
    extension = name.lower().rpartition(".")[2] if "." in name else ""
    seen = (*_PICTURE_NAMES, *_OTHER_PICTURE_NAMES, *_VIDEO_NAMES, "pdf")
    return extension in seen or name.lower().endswith(OFFICE_EXTENSIONS)


def is_picture(name: str, head: bytes) -> bool:
    """Return whether a file given with a task or a message is one to look at at once."""
    return kind_of(name, head) in ("image", "heif") or name.lower().endswith((".svg", ".svgz"))
