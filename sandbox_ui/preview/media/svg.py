"""SVG drawings.

The browser shows them as images, in which it runs no scripts and loads nothing. A few
lines of SVG can repeat their parts a billion times and hang the browser tab. Such files are
detected by counting the elements to draw and are refused.
"""

import re
import zlib
from collections.abc import Mapping
from typing import BinaryIO
from xml.parsers import expat

from sandbox_ui.preview.base import Answer, Ask, Picture, Unreadable, View
from sandbox_ui.preview.media.svg_cost import Repeats

LARGEST = 32 * 1024**2
MOST_DRAWN = 2_000_000
"""Maximum elements drawn, including repetitions."""

_LONGEST_SIDE = 16_384
_UNKNOWN = (800.0, 600.0)
_NAMESPACE = "http://www.w3.org/2000/svg"
_MEDIA = "image/svg+xml"
_UNITS = {"": 1, "px": 1, "pt": 96 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96}
_LENGTH = re.compile(
    r"\s*\+?((?:\d++(?:\.\d++)?|\.\d++)(?:e[+-]?\d++)?)\s*+(px|pt|pc|mm|cm|in|)\s*$", re.IGNORECASE
)
_OUTSIDE = re.compile(r"\s*(?!data:)[a-z][a-z0-9+.-]*:|\s*//", re.IGNORECASE)
_LOADS = {"image", "use", "feImage", "script", "link", "font-face-uri"}


def view(file: BinaryIO, ask: Ask) -> Answer:
    """Return the size and features of a drawing; with ``thumb``, the drawing itself.

    ``wrong`` says why it cannot be drawn; the page then shows its source only.

    Raises:
        Unreadable: The file is empty or too large.
    """
    content = _unpacked(file)
    drawing = _Drawing(content)
    if "thumb" not in ask.options:
        return View(drawing.described())
    if drawing.wrong:
        raise Unreadable(drawing.wrong)
    return Picture(drawing.completed(content), _MEDIA)


def _unpacked(file: BinaryIO) -> bytes:
    content = file.read(LARGEST + 1)
    if content.startswith(b"\x1f\x8b"):
        try:
            content = zlib.decompressobj(31).decompress(content, LARGEST + 1)
        except zlib.error:
            raise Unreadable("This drawing is packed and cannot be unpacked.") from None
    if len(content) > LARGEST:
        raise Unreadable(f"Drawings of more than {LARGEST // 1024**2} MB are not drawn here.")
    if not content.strip():
        raise Unreadable("This file is empty.")
    return content


class _Drawing:
    """Properties of a drawing, collected in one parse without a tree."""

    def __init__(self, content: bytes) -> None:
        self.wrong = ""
        self._title = self._style = self._name = self._inside = ""
        self._scripts = self._outside = 0
        self._links = False
        self._root: Mapping[str, str] = {}
        self._at = 0
        self._repeats = Repeats()
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code) or "it is broken"
            if what in ("no element found", "unclosed token"):
                what = "it ends before the drawing does"
            self.wrong = f"This drawing cannot be read from line {error.lineno:,} on: {what}."
        self._judge()

    def _judge(self) -> None:
        self._repeats.style(self._style)
        if self._name and self._name.rpartition(":")[2] != "svg":
            self.wrong = "There is no drawing in this file: it is XML of another kind."
        elif not self.wrong and self._repeats.drawn(MOST_DRAWN) > MOST_DRAWN:
            self.wrong = (
                "This drawing repeats its parts millions of times, which is not drawn here."
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if not self._name:
            self._name, self._root = name, attributes
            self._at = self._parser.CurrentByteIndex
        self._links = self._links or "xlink:href" in attributes
        link = attributes.get("href") or attributes.get("xlink:href") or ""
        self._scripts += local == "script" or any(key.startswith("on") for key in attributes)
        self._outside += local in _LOADS and bool(_OUTSIDE.match(link))
        self._inside = local
        self._repeats.begin(attributes, "" if local == "a" else link)

    def _end(self, _name: str) -> None:
        self._inside = ""
        self._repeats.end()

    def _text(self, text: str) -> None:
        if self._inside == "style":
            self._style += text
        elif self._inside == "title" and len(self._title) < 300:
            self._title += text[:300]

    def described(self) -> dict[str, object]:
        """Return the properties for the page."""
        given = _given(self._root)
        width, height = given or _UNKNOWN
        scale = min(1.0, _LONGEST_SIDE / max(width, height))
        return {
            "width": width * scale,
            "height": height * scale,
            "sized": given is not None,
            "elements": self._repeats.elements,
            "title": " ".join(self._title.split()),
            "scripts": self._scripts > 0,
            "outside": self._outside > 0 or "@import" in self._style or "://" in self._style,
            "wrong": self.wrong,
        }

    def completed(self, content: bytes) -> bytes:
        """Return the drawing with missing namespaces and ``viewBox`` added."""
        more = ""
        if ":" not in self._name and "xmlns" not in self._root:
            more += f' xmlns="{_NAMESPACE}"'
        if self._links and "xmlns:xlink" not in self._root:
            more += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
        if "viewBox" not in self._root:
            width, height = _given(self._root) or _UNKNOWN
            more += f' viewBox="0 0 {width:g} {height:g}"'
        after = self._at + 1 + len(self._name)
        if not more or content[self._at + 1 : after] != self._name.encode():
            return content
        return content[:after] + more.encode() + content[after:]


def _given(root: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the declared size of a drawing in pixels."""
    width, height = _length(root.get("width", "")), _length(root.get("height", ""))
    box = _box(root.get("viewBox", ""))
    if width and height:
        return width, height
    if box and (width or height):
        ratio = box[0] / box[1]
        return (width, width / ratio) if width else (height * ratio, height)
    return box


def _length(text: str) -> float:
    found = _LENGTH.match(text)
    value = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    return value if 0 < value < 1e9 else 0.0


def _box(text: str) -> tuple[float, float] | None:
    try:
        _, _, width, height = (float(part) for part in re.split(r"[\s,]+", text.strip()))
    except ValueError:
        return None
    return (width, height) if 0 < width < 1e9 and 0 < height < 1e9 else None
