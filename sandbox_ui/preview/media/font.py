"""Fonts: metadata; the browser renders the glyphs from the file."""

from typing import BinaryIO

from sandbox_ui.preview.base import JsonPreview, PreviewRequest
from sandbox_ui.preview.media.font_reader import Font, read_font

_TABLE_TAGS = {"name", "OS/2", "head", "maxp", "cmap", "fvar", "post"}
_NAMES = {
    "family": (16, 1), "style": (17, 2), "full_name": (4,), "version": (5,), "designer": (9, 8),
    "copyright": (0,), "licence": (13,),
}  # fmt: skip
_WEIGHTS = {
    100: "thin", 200: "extra light", 300: "light", 400: "regular", 500: "medium",
    600: "semibold", 700: "bold", 800: "extra bold", 900: "black",
}  # fmt: skip
_MAX_TEXT_LENGTH = 400
_ITALIC = 1


def view(file: BinaryIO, _request: PreviewRequest) -> JsonPreview:
    """Return names, style and supported characters.

    Raises:
        PreviewError: The file is not a font, corrupt or too large.
    """
    font = read_font(file, _TABLE_TAGS)
    names = font.names()
    texts = {
        key: _truncate(next((names[number] for number in numbers if number in names), ""))
        for key, numbers in _NAMES.items()
    }
    ranges = font.code_point_ranges()
    return JsonPreview(
        {
            **texts,
            "format": font.format_name,
            "glyphs": font.read_number("maxp", 4),
            "weight": _WEIGHTS.get(font.read_number("OS/2", 4), ""),
            "italic": bool(font.read_number("OS/2", 62) & _ITALIC),
            "monospaced": _is_monospaced(font),
            "axes": font.axes(),
            "characters": sum(last - first + 1 for first, last in ranges),
            "ranges": ranges,
        }
    )


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}…"


def _is_monospaced(font: Font) -> bool:
    return font.read_number("post", 12, ">I") != 0
