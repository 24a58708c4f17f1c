"""The chart of a comparison: a bar for each member in a few measures, with its interval.

It is laid out once as rectangles, lines and texts, which are written as SVG or painted as PNG.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from xml.sax.saxutils import escape

MEASURES = ("score", "pass_hat_k", "tokens_once", "largest_prompt", "generated_tokens",
            "total_seconds", "cost")  # fmt: skip
"""Keys of the rows that are drawn, in this order, if they are known."""

WIDTH = 960
_SCALE = 2
_MARGIN, _LABEL, _BAR_END = 24, 220, 760
_LINE, _BAR, _TITLE = 26, 14, 34
_MAX_LABEL, _MAX_TITLE = 32, 110
INK, MUTED, BASE, OTHER, _WHISKER = "#1d1b18", "#756d61", "#b9b2a5", "#1f6f5c", "#1d1b18"
_BACKGROUND = "#ffffff"
_FONT = 13


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle, or a text with its baseline at ``y``."""

    kind: Literal["rectangle", "text"]
    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    colour: str = INK
    text: str = ""
    bold: bool = False


def shapes_as_svg(shapes: Iterable[Shape], height: int, title: str) -> bytes:
    """Return shapes as SVG.

    Args:
        shapes: The shapes, in pixels; the width is ``WIDTH``.
        height: The height in pixels.
    """
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="{_FONT}" role="img">',
        f"<title>{_xml(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{_BACKGROUND}"/>',
        *map(_svg_element, shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def shapes_as_png(shapes: Iterable[Shape], height: int) -> bytes:
    """Return shapes as PNG, in twice their size; see ``shapes_as_svg``."""
    from PIL import Image, ImageDraw, ImageFont  # only for this export

    image = Image.new("RGB", (WIDTH * _SCALE, height * _SCALE), _BACKGROUND)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT * _SCALE)
    for each in shapes:
        x, y = each.x * _SCALE, each.y * _SCALE
        if each.kind == "text":
            width = 1 if each.bold else 0
            draw.text((x, y), each.text, each.colour, font, anchor="ls", stroke_width=width / 2)
            continue
        right, bottom = x + each.width * _SCALE, y + each.height * _SCALE
        draw.rectangle((x, y, max(x, right - 1), max(y, bottom - 1)), each.colour)
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG")  # few colours: a tenth of the size
    return file.getvalue()


def draw(description: dict[str, Any]) -> tuple[list[Shape], int, str]:
    """Return the shapes, the chart's height in pixels and its title."""
    shapes = [Shape("text", _MARGIN, 38, text=_title(description), bold=True)]
    detail = shortened(str(description["verdict"]["detail"]), _MAX_TITLE + 30)
    if detail:
        shapes.append(Shape("text", _MARGIN, 60, colour=MUTED, text=detail))
    y = 78.0
    for row in _rows(description):
        shapes.append(Shape("text", _MARGIN, y + 16, text=row["label"], bold=True))
        y += _TITLE
        largest = max(_end_of(cell) for cell in row["cells"])
        for member, cell in zip(description["members"], row["cells"], strict=True):
            shapes += _bar(member, cell, largest, y, base=description["baseline"])
            y += _LINE
        y += 10
    return shapes, int(y) + 14, _title(description)


def _rows(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    known = {
        row["key"]: row | {"label": f"{group['title']} · {row['label']}"}
        for group in description["table"]
        for row in group["rows"]
    }
    for key in MEASURES:
        row = known.get(key)
        if row is not None and any(_end_of(cell) > 0 for cell in row["cells"]):
            yield row


def _bar(
    member: dict[str, Any], cell: dict[str, Any], largest: float, y: float, *, base: int
) -> Iterator[Shape]:
    label = shortened(str(member["label"]), _MAX_LABEL)
    yield Shape("text", _MARGIN, y + 12, colour=MUTED, text=label)
    colour = BASE if member["index"] == base else OTHER
    scale = (_BAR_END - _LABEL) / largest
    end = _LABEL + _end_of(cell) * scale
    if cell["value"] is not None:
        yield Shape("rectangle", _LABEL, y, max(1.0, cell["value"] * scale), _BAR, colour)
    low, high = cell["low"], cell["high"]
    if low is not None and high is not None and high > low:
        yield from whisker(_LABEL + max(0.0, low) * scale, _LABEL + high * scale, y + _BAR / 2)
    count = f" · n = {cell['n']}" if cell["n"] > 1 else ""
    yield Shape("text", end + 8, y + 12, text=shortened(f"{cell['text']}{count}", 30))


def whisker(left: float, right: float, middle: float) -> Iterator[Shape]:
    """Yield the shapes of an interval from ``left`` to ``right`` at the height ``middle``."""
    yield Shape("rectangle", left, middle - 0.75, right - left, 1.5, _WHISKER)
    for x in (left, right):
        yield Shape("rectangle", x - 0.75, middle - 4, 1.5, 8, _WHISKER)


def _end_of(cell: dict[str, Any]) -> float:
    return max(cell["value"] or 0.0, cell["high"] or 0.0)


def _title(description: dict[str, Any]) -> str:
    text = str(description["verdict"]["text"] or description["title"])
    return shortened(text, _MAX_TITLE)


def _svg_element(shape: Shape) -> str:
    if shape.kind == "text":
        weight = ' font-weight="600"' if shape.bold else ""
        return (
            f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" fill="{shape.colour}"{weight}>'
            f"{_xml(shape.text)}</text>"
        )
    return (
        f'<rect x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" '
        f'height="{shape.height:.1f}" fill="{shape.colour}"/>'
    )


def _xml(text: str) -> str:
    return escape("".join(each for each in text if each.isprintable()))


def shortened(text: str, limit: int) -> str:
    """Return a text as one line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
