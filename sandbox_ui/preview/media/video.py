"""Video: codec detection; the browser plays the file."""

from typing import BinaryIO

from sandbox_ui.preview.base import Preview, PreviewRequest

_SEARCHED_BYTES = 256 * 1024
_CODECS = (
    (b"avc1", "H.264"), (b"hvc1", "H.265"), (b"hev1", "H.265"), (b"av01", "AV1"), (b"vp09", "VP9"),
    (b"mp4v", "MPEG-4"), (b"apcn", "ProRes"), (b"apch", "ProRes"), (b"V_VP8", "VP8"),
    (b"V_VP9", "VP9"), (b"V_AV1", "AV1"), (b"V_MPEG4/ISO/AVC", "H.264"),
    (b"V_MPEGH/ISO/HEVC", "H.265"), (b"\x80theora", "Theora"), (b"jpeg", "Motion JPEG"),
)  # fmt: skip


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return the video ``codec``, if found at the start or end of the file."""
    head = file.read(_SEARCHED_BYTES)
    found = _find_codec(head)
    if not found and request.size > _SEARCHED_BYTES:
        file.seek(max(_SEARCHED_BYTES, request.size - _SEARCHED_BYTES))
        found = _find_codec(file.read(_SEARCHED_BYTES))
    return {"codec": found}


def _find_codec(content: bytes) -> str:
    return next((name for mark, name in _CODECS if mark in content), "")
