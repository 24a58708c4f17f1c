"""Fonts: metadata; the browser renders the glyphs from the file."""

from typing import BinaryIO

from sandbox_ui.preview.base import Ask, View
from sandbox_ui.preview.media.font_reader import Font, read

_WANTED = {"name", "OS/2", "head", "maxp", "cmap", "fvar", "post"}
_NAMES = {
    "family": (16, 1), "style": (17, 2), "full": (4,), "version": (5,), "designer": (9, 8),
    "copyright": (0,), "licence": (13,),
}  # fmt: skip
_WEIGHTS = {
    100: "thin", 200: "extra light", 300: "light", 400: "regular", 500: "medium",
    600: "semibold", 700: "bold", 800: "extra bold", 900: "black",
}  # fmt: skip
_LONGEST = 400
_ITALIC = 1


def view(file: BinaryIO, _ask: Ask) -> View:
    """Return names, style and supported characters.

    Raises:
        Unreadable: The file is not a font, corrupt or too large.
    """
    font = read(file, _WANTED)
    names = font.names()
    said = {
        key: _short(next((names[number] for number in numbers if number in names), ""))
        for key, numbers in _NAMES.items()
    }
    ranges = font.ranges()
    return View(
        {
            **said,
            "form": font.form,
            "glyphs": font.number("maxp", 4),
            "weight": _WEIGHTS.get(font.number("OS/2", 4), ""),
            "italic": bool(font.number("OS/2", 62) & _ITALIC),
            "monospaced": _is_monospaced(font),
            "axes": font.axes(),
            "characters": sum(last - first + 1 for first, last in ranges),
            "ranges": ranges,
        }
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_monospaced(font: Font) -> bool:
    return font.number("post", 12, ">I") != 0
