"""Fonts and font collections: metadata; the browser renders the glyphs from the file."""

import logging
import struct
from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from itertools import count, groupby
from typing import Any, BinaryIO, TypeVar

from fontTools.ttLib import TTFont, getTableModule, newTable, woff2

from agent.util.text import shortened
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest

MAX_MEMORY_BYTES = 512 * 1024**2
"""Limit for the worker process: compressed fonts may claim any size."""
_MAX_RANGES, _MAX_FONTS, _MAX_AXES, _MAX_NAMES = 4000, 64, 16, 4000
_MAX_CODE_POINTS = 0x110000
_FORMATS = {
    b"\0\1\0\0": "TrueType", b"true": "TrueType", b"OTTO": "OpenType", b"ttcf": "Collection",
    b"wOFF": "WOFF", b"wOF2": "WOFF2",
}  # fmt: skip
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
T = TypeVar("T")

# fontTools imports these when it meets them, which a process without privileges cannot do.
_MODULES = (
    woff2,
    *(getTableModule(tag) for tag in ("OS/2", "cmap", "fvar", "maxp", "name")),
)
# A hostile font could fill the server's log.
logging.getLogger("fontTools").setLevel(logging.CRITICAL)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return data on a ``font``, or its ``content`` alone, as browsers read no collections."""
    content = file.read(request.size)
    if content[:4] not in _FORMATS:
        raise PreviewError("This file contains no font that browsers support.")
    font = _open_font(content, request.int_option("font", maximum=_MAX_FONTS - 1))
    if "content" in request.options:
        return _extract(font)
    members = min(getattr(font.reader, "numFonts", 1), _MAX_FONTS)
    fonts = [_member_name(content, at) for at in range(members)] if members > 1 else []
    return {"format": _FORMATS[content[:4]], "fonts": fonts, **_metadata(font)}


def _open_font(content: bytes, number: int) -> TTFont:
    font = TTFont(BytesIO(content), fontNumber=number, lazy=True, recalcTimestamp=False)
    if not isinstance(font.reader, woff2.WOFF2Reader) and any(
        entry.offset + entry.length > len(content) for entry in font.reader.tables.values()
    ):
        raise ValueError("a table is outside the file")
    if not font.reader.tables:
        raise ValueError("no tables")
    font.setGlyphOrder([""] * 65536)  # not needed, and slow to read from some tables
    return font


def _member_name(content: bytes, number: int) -> str:
    names = _names(_open_font(content, number))
    return (
        names["full_name"] or f"{names['family']} {names['style']}".strip() or f"Font {number + 1}"
    )


def _extract(font: TTFont) -> BinaryPreview:
    """Return a font of a collection as a file of its own."""
    output = BytesIO()
    font.save(output, reorderTables=None)
    return BinaryPreview(
        output.getvalue(), "font/otf" if font.sfntVersion == "OTTO" else "font/ttf"
    )


def _metadata(font: TTFont) -> dict[str, Any]:
    ranges = _code_point_ranges(font)
    axes: list[Any] = _read(lambda: font["fvar"].axes[:_MAX_AXES], [])
    weight = _read(lambda: font["OS/2"].usWeightClass, 0)
    return {
        **_names(font),
        "glyphs": _read(lambda: font["maxp"].numGlyphs, 0),
        "weight": _WEIGHTS.get(weight, ""),
        "italic": bool(_read(lambda: font["OS/2"].fsSelection, 0) & _ITALIC),
        "monospaced": any(_read(lambda: font.reader["post"][12:16], b"")),  # decoding is slow
        "axes": [(axis.axisTag, axis.minValue, axis.defaultValue, axis.maxValue) for axis in axes],
        "characters": sum(last - first + 1 for first, last in ranges),
        "ranges": ranges[:_MAX_RANGES],
    }


def _read(get: Callable[[], T], default: T) -> T:
    """Return a part of a font, or the default if it is missing or damaged."""
    try:
        return get()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - fontTools raises any type for damaged tables
        return default


def _names(font: TTFont) -> dict[str, str]:
    """Return the strings of the name table, preferring English."""
    table, texts = _read(lambda: font["name"], newTable("name")), {}
    table.names = getattr(table, "names", [])[:_MAX_NAMES]
    for key, numbers in _NAMES.items():
        found = [_read(partial(table.getDebugName, n), None) for n in numbers]
        text = next((" ".join(each.replace("\0", "").split()) for each in found if each), "")
        texts[key] = shortened(text, _MAX_TEXT_LENGTH)
    return texts


def _code_point_ranges(font: TTFont) -> list[tuple[int, int]]:
    """Return the supported code points as (first, last) ranges."""
    code_points: set[int] = set()
    tables: list[Any] = _read(lambda: font["cmap"].tables, [])
    for table in tables:
        if table.platformID in (0, 3) and len(code_points) < _MAX_CODE_POINTS:
            code_points.update(_read(partial(_decode_cmap, table), ()))
    counter = count()
    runs = [list(run) for _, run in groupby(sorted(code_points), lambda each: each - next(counter))]
    return [(run[0], run[-1]) for run in runs]


def _decode_cmap(table: Any) -> Iterable[int]:
    """Return the code points of a character map."""
    if table.format == 4 and table.data:
        half = int.from_bytes(table.data[:2])
        ends, starts = table.data[8 : 8 + half], table.data[10 + half : 10 + 2 * half]
        pairs = zip(struct.iter_unpack(">H", ends), struct.iter_unpack(">H", starts), strict=True)
        if sum(max(0, end - start) for (end,), (start,) in pairs) > _MAX_CODE_POINTS:
            raise ValueError("overlapping segments, which would take long to decode")
    code_points: Iterable[int] = table.cmap
    return code_points
