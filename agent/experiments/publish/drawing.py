"""Rectangles and texts as SVG, PDF and PNG.

The embedded font of PDF and PNG has the characters of Western Europe; others are replaced.
"""

import io
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args
from xml.sax.saxutils import escape

from agent.util.text import shortened

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

FONT = 13  # the usual size of a text in pixels
INK, BACKGROUND = "#1d1b18", "#ffffff"
Format = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SCALE = 2
_POINTS = 0.75  # of a pixel
_REPLACED = str.maketrans({"−": "-", "–": "-", "×": "x", "≈": "~", "÷": "/", "Δ": "D"})
_WEIGHT = 0.4  # pixels of a bold text's outline


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle, or a text with its ``anchor`` at ``x`` and its baseline at ``y``; in pixels."""

    kind: Literal["rectangle", "text"]
    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    colour: str = INK
    text: str = ""
    bold: bool = False
    size: int = FONT
    anchor: Literal["start", "middle"] = "start"


def write(shapes: Sequence[Shape], width: int, title: str, kind: Format) -> bytes:
    """Return a drawing of this width, as high as its shapes, in a format."""
    height = int(max(each.y + each.height for each in shapes)) + 24
    if kind == "svg":
        return _as_svg(shapes, width, height, title)
    return (_as_pdf if kind == "pdf" else _as_png)(shapes, width, height)


def one_line(text: str, limit: int) -> str:
    """Return a text as one line of at most ``limit`` characters."""
    return shortened(" ".join(text.split()), limit)


def text_width(text: str, size: int = FONT) -> float:
    """Return the width of a text in pixels, as in PDF and PNG."""
    return float(_font(size).getlength(_drawable(text)))


def _as_svg(shapes: Iterable[Shape], width: int, height: int, title: str) -> bytes:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="{FONT}" '
        'role="img">',
        f"<title>{_xml(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>',
        *map(_svg_element, shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _svg_element(shape: Shape) -> str:
    if shape.kind == "text":
        more = ' font-weight="600"' if shape.bold else ""
        more += f' font-size="{shape.size}"' if shape.size != FONT else ""
        more += f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
        return (
            f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" fill="{shape.colour}"{more}>'
            f"{_xml(shape.text)}</text>"
        )
    return (
        f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" '
        f'height="{shape.height:.1f}" fill="{shape.colour}"/>'
    )


def _xml(text: str) -> str:
    return escape("".join(each for each in text if each.isprintable()))


def _as_png(shapes: Iterable[Shape], width: int, height: int) -> bytes:
    """Paint shapes in twice their size."""
    from PIL import Image, ImageDraw  # only for this export

    image = Image.new("RGB", (width * _SCALE, height * _SCALE), BACKGROUND)
    draw = ImageDraw.Draw(image)
    for each in shapes:
        x, y = each.x * _SCALE, each.y * _SCALE
        if each.kind == "text":
            anchor = "ms" if each.anchor == "middle" else "ls"
            stroke = _WEIGHT * _SCALE / 2 if each.bold else 0
            draw.text((x, y), _drawable(each.text), each.colour, _font(each.size * _SCALE),
                      anchor=anchor, stroke_width=stroke)  # fmt: skip
            continue
        right, bottom = x + each.width * _SCALE, y + each.height * _SCALE
        draw.rectangle((x, y, max(x, right - 1), max(y, bottom - 1)), each.colour)
    file = io.BytesIO()
    image.quantize(128).save(file, "PNG")  # few colours: a tenth of the size
    return file.getvalue()


def _as_pdf(shapes: Iterable[Shape], width: int, height: int) -> bytes:
    """Return a page of one PDF (ISO 32000-1) with its font."""
    font = _font_bytes()
    units = _font(1000)
    widths = [int(units.getlength(_character(code))) for code in range(32, 256)]
    box = f"{width * _POINTS:.2f} {height * _POINTS:.2f}"
    content = "\n".join([f"{_POINTS} 0 0 {_POINTS} 0 0 cm", *(
        _pdf_operators(shape, height) for shape in shapes
    )])  # fmt: skip
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {box}] /Contents 4 0 R "
        f"/Resources << /Font << /F 5 0 R >> >> >>".encode(),
        _stream(content.encode("cp1252", "replace")),
        f"<< /Type /Font /Subtype /TrueType /BaseFont /Aileron /FirstChar 32 /LastChar 255 "
        f"/Widths {widths} /Encoding /WinAnsiEncoding /FontDescriptor 6 0 R >>"
        .replace(",", "").encode(),
        b"<< /Type /FontDescriptor /FontName /Aileron /Flags 32 /FontBBox [-200 -250 1200 1000] "
        b"/ItalicAngle 0 /Ascent 950 /Descent -250 /CapHeight 700 /StemV 80 /FontFile2 7 0 R >>",
        _stream(font, f"/Length1 {len(font)}"),
    ]  # fmt: skip
    return _pdf_file(objects)


def _pdf_operators(shape: Shape, height: int) -> str:
    """Return the operators that draw a shape; PDF counts from the bottom."""
    red, green, blue = (int(shape.colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    colour = f"{red:.3f} {green:.3f} {blue:.3f}"
    if shape.kind == "rectangle":
        y = height - shape.y - shape.height
        return f"{colour} rg {shape.x:.2f} {y:.2f} {shape.width:.2f} {shape.height:.2f} re f"
    text = _drawable(shape.text)
    x = shape.x - text_width(text, shape.size) / 2 if shape.anchor == "middle" else shape.x
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    weight = f"{colour} RG {_WEIGHT} w 2 Tr" if shape.bold else "0 Tr"
    return (
        f"BT {colour} rg {weight} /F {shape.size} Tf {x:.2f} {height - shape.y:.2f} Td "
        f"({escaped}) Tj ET"
    )


def _stream(data: bytes, entries: str = "") -> bytes:
    packed = zlib.compress(data, 9)
    head = f"<< /Length {len(packed)} /Filter /FlateDecode {entries} >>"
    return head.encode() + b"\nstream\n" + packed + b"\nendstream"


def _pdf_file(objects: Sequence[bytes]) -> bytes:
    """Return a file of numbered objects with their table; the first is the catalogue."""
    file, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = [f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"]
    table += [f"{place:010} 00000 n \n" for place in places]
    trailer = (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
    )
    return file + ("".join(table) + trailer).encode()


@cache
def _font(size: int) -> "FreeTypeFont":
    from PIL import ImageFont  # only for PDF and PNG

    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType.")
    return font


def _font_bytes() -> bytes:
    return bytes(_font(FONT).font_bytes)


@cache
def _known_characters() -> frozenset[str]:
    from fontTools.ttLib import TTFont

    return frozenset(map(chr, TTFont(io.BytesIO(_font_bytes())).getBestCmap()))


def _character(code: int) -> str:
    """Return a character of Windows-1252; a space where it has none."""
    return _drawable(bytes([code]).decode("cp1252", "ignore")) or " "


def _drawable(text: str) -> str:
    """Return a text in characters that the font has."""
    known = _known_characters()
    plain = "".join(
        each if each in known else unicodedata.normalize("NFKD", each)
        for each in text.translate(_REPLACED)
    )
    return "".join(
        each if each in known else "" if unicodedata.combining(each) else "?"
        for each in plain if each.isprintable()
    )  # fmt: skip
