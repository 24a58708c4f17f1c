"""SVG drawings: size and external references; refuses those that repeat elements too often."""

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import BinaryIO
from xml.parsers import expat

from agent.documents.drawing_error import DrawingError

MAX_FILE_BYTES = 32 * 1024**2
MAX_DRAWN_ELEMENTS = 2_000_000
"""Maximum elements drawn, including repetitions."""

_MAX_SIDE = 16_384
_DEFAULT_SIZE = (800.0, 600.0)
_NAMESPACE = "http://www.w3.org/2000/svg"
_UNITS = {"": 1, "px": 1, "pt": 96 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96}
_LENGTH = re.compile(
    r"\s*\+?((?:\d++(?:\.\d++)?|\.\d++)(?:e[+-]?\d++)?)\s*+(px|pt|pc|mm|cm|in|)\s*$", re.IGNORECASE
)
_EXTERNAL_URL = re.compile(r"\s*(?!data:)[a-z][a-z0-9+.-]*:|\s*//", re.IGNORECASE)
_REFERENCE = re.compile(r"url\(\s*+['\"]?\s*+#([^'\")\s]+)")
_RULE = re.compile(r"(?:\A|(?<=[{}]))([^{}]*+)\{([^{}]*+)\}")
_CLASS = re.compile(r"\.([\w-]+)")
_LOADING_ELEMENTS = {"image", "use", "feImage", "script", "link", "font-face-uri"}


def read_svg(file: BinaryIO) -> bytes:
    """Return a drawing's XML, which may be compressed."""
    content = file.read(MAX_FILE_BYTES + 1)
    if content.startswith(b"\x1f\x8b"):
        try:
            content = zlib.decompressobj(31).decompress(content, MAX_FILE_BYTES + 1)
        except zlib.error:
            raise DrawingError("This compressed drawing cannot be decompressed.") from None
    if len(content) > MAX_FILE_BYTES:
        raise DrawingError(f"Drawings larger than {MAX_FILE_BYTES // 1024**2} MB are not shown.")
    if not content.strip():
        raise DrawingError("This file is empty.")
    return content


class Drawing:
    """Properties of a drawing, collected in one parse without a tree."""

    def __init__(self, content: bytes) -> None:
        self.error = ""
        self._title = self._style = self._name = self._element = ""
        self._scripts = self._external = 0
        self._links = False
        self._root: Mapping[str, str] = {}
        self._at = 0
        self._counter = _DrawnElementCounter()
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code) or "it is damaged"
            if reason in ("no element found", "unclosed token"):
                reason = "it is truncated"
            self.error = f"This drawing cannot be read from line {error.lineno:,} on: {reason}."
        self._check()

    def _check(self) -> None:
        self._counter.add_style_sheet(self._style)
        if self._name and self._name.rpartition(":")[2] != "svg":
            self.error = "This file contains no drawing, but another kind of XML."
        elif not self.error and self._counter.count_drawn(MAX_DRAWN_ELEMENTS) > MAX_DRAWN_ELEMENTS:
            self.error = "This drawing repeats its parts millions of times and is not shown."

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        if not self._name:
            self._name, self._root = name, attributes
            self._at = self._parser.CurrentByteIndex
        self._links = self._links or "xlink:href" in attributes
        link = attributes.get("href") or attributes.get("xlink:href") or ""
        self._scripts += local == "script" or any(key.startswith("on") for key in attributes)
        self._external += local in _LOADING_ELEMENTS and bool(_EXTERNAL_URL.match(link))
        self._element = local
        self._counter.start_element(attributes, "" if local == "a" else link)

    def _end(self, _name: str) -> None:
        self._element = ""
        self._counter.end_element()

    def _text(self, text: str) -> None:
        if self._element == "style":
            self._style += text
        elif self._element == "title" and len(self._title) < 300:
            self._title += text[:300]

    def describe(self) -> dict[str, object]:
        """Return the properties for the page."""
        declared = _declared_size(self._root)
        width, height = declared or _DEFAULT_SIZE
        scale = min(1.0, _MAX_SIDE / max(width, height))
        return {
            "width": width * scale,
            "height": height * scale,
            "has_size": declared is not None,
            "elements": self._counter.elements,
            "title": " ".join(self._title.split()),
            "scripts": self._scripts > 0,
            "external_resources": self._external > 0
            or "@import" in self._style
            or "://" in self._style,
            "error": self.error,
        }

    def complete(self, content: bytes) -> bytes:
        """Return the drawing with missing namespaces and ``viewBox`` added."""
        attributes = ""
        if ":" not in self._name and "xmlns" not in self._root:
            attributes += f' xmlns="{_NAMESPACE}"'
        if self._links and "xmlns:xlink" not in self._root:
            attributes += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
        if "viewBox" not in self._root:
            width, height = _declared_size(self._root) or _DEFAULT_SIZE
            attributes += f' viewBox="0 0 {width:g} {height:g}"'
        after = self._at + 1 + len(self._name)
        if not attributes or content[self._at + 1 : after] != self._name.encode():
            return content
        return content[:after] + attributes.encode() + content[after:]


def _declared_size(root: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the declared size of a drawing in pixels."""
    width, height = _length(root.get("width", "")), _length(root.get("height", ""))
    box = _view_box_size(root.get("viewBox", ""))
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


def _view_box_size(text: str) -> tuple[float, float] | None:
    try:
        _, _, width, height = (float(part) for part in re.split(r"[\s,]+", text.strip()))
    except ValueError:
        return None
    return (width, height) if 0 < width < 1e9 and 0 < height < 1e9 else None


class _DrawnElementCounter:
    """Counts drawn elements in document order; each reference draws its target again."""

    def __init__(self) -> None:
        self._id_ranges: dict[str, tuple[int, int]] = {}
        self._open: list[tuple[int, str]] = []
        self._references: dict[int, list[str]] = {}
        self._classes: dict[str, list[int]] = {}
        self._weights: dict[str, int] = {}
        self._referencing: list[int] = []
        self.elements = 0

    def start_element(self, attributes: Mapping[str, str], target: str = "") -> None:
        """Handle the start of an element; ``target`` is the drawn element it references."""
        at = self.elements
        self.elements += 1
        self._open.append((at, attributes.get("id", "")))
        uses = [name for text in attributes.values() for name in _references_in(text)]
        if target.startswith("#"):
            uses.append(target[1:])
        if uses:
            self._references[at] = uses
        for name in attributes.get("class", "").split():
            self._classes.setdefault(name, []).append(at)

    def end_element(self) -> None:
        """Handle the end of the innermost open element."""
        at, name = self._open.pop()
        if name:
            self._id_ranges.setdefault(name, (at, self.elements))

    def add_style_sheet(self, text: str) -> None:
        """Handle a style sheet; call after all elements."""
        for selector, rules in _RULE.findall(text):
            if names := _references_in(rules):
                for each in _CLASS.findall(selector):
                    for at in self._classes.get(each, ()):
                        self._references.setdefault(at, []).extend(names)

    def count_drawn(self, limit: int) -> int:
        """Return the number of drawn elements; counting stops soon after ``limit``."""
        self._referencing = sorted(self._references)
        self._weights = {}
        try:
            return self._weight(0, self.elements, limit)
        except RecursionError:
            return limit + 1

    def _weight(self, start: int, end: int, limit: int) -> int:
        weight = end - start
        for index in range(
            bisect_left(self._referencing, start), bisect_right(self._referencing, end - 1)
        ):
            for name in self._references[self._referencing[index]]:
                weight += self._weight_of(name, limit)
                if weight > limit:
                    return weight
        return weight

    def _weight_of(self, name: str, limit: int) -> int:
        if name not in self._weights:
            self._weights[name] = 0  # browsers do not draw circular references
            if name in self._id_ranges:
                self._weights[name] = self._weight(*self._id_ranges[name], limit)
        return self._weights[name]


def _references_in(text: str) -> list[str]:
    return _REFERENCE.findall(text) if "url(" in text else []
