"""The figure of an experiment: a bar for each member with its interval, as SVG or PNG.

A comparison's shows a few measures, an evaluation's the gains by domain as in the paper. It is laid
out once as rectangles and texts, which are written or painted.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from xml.sax.saxutils import escape

from agent.util.text import plural

MEASURES = ("score", "pass_hat_k", "tokens_once", "largest_prompt", "generated_tokens",
            "total_seconds", "cost")  # fmt: skip
"""Keys of the rows that are drawn, in this order, if they are known."""

_WIDTH, _SCALE, _FONT = 960, 2, 13
_MARGIN, _ROW, _BAR = 24, 26, 14
_LABEL, _BAR_END = 220, 760
_GAIN_LEFT, _GAIN_RIGHT = 260, 770
_MAX_LABEL, _MAX_TITLE = 32, 110
_INK, _MUTED, _BASE, _OTHER = "#1d1b18", "#756d61", "#b9b2a5", "#1f6f5c"
_GRID, _BACKGROUND = "#e7e2d8", "#ffffff"
_TICKS = 4
_LEAST_GAIN = 0.05
"""The figure shows gains of at least 5 points to both sides."""
_NOTE = (
    "Score minus the baseline’s, paired by task, with its 95 % interval; the score in brackets; "
    "n: pairs"
)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A rectangle, or a text with its baseline at ``y``; in pixels."""

    kind: Literal["rectangle", "text"]
    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    colour: str = _INK
    text: str = ""
    bold: bool = False


def draw(description: dict[str, Any], kind: Literal["svg", "png"]) -> bytes:
    """Return the figure of an experiment."""
    if "results" in description:
        title = f"Gain over the baseline, in points: {description['title']}"
        detail, content = _NOTE, list(_gains(description))
    else:
        title = str(description["verdict"]["text"] or description["title"])
        detail, content = str(description["verdict"]["detail"]), list(_measures(description))
    title, detail = _shortened(title, _MAX_TITLE), _shortened(detail, _MAX_TITLE + 30)
    shapes = [
        _Shape("text", _MARGIN, 38, text=title, bold=True),
        _Shape("text", _MARGIN, 60, colour=_MUTED, text=detail),
        *content,
    ]
    height = int(max(each.y + each.height for each in shapes)) + 24
    return _as_svg(shapes, height, title) if kind == "svg" else _as_png(shapes, height)


def _measures(description: dict[str, Any]) -> Iterator[_Shape]:
    known = {
        row["key"]: row | {"label": f"{group['title']} · {row['label']}"}
        for group in description["table"]
        for row in group["rows"]
    }
    y = 78.0
    for row in (known[key] for key in MEASURES if key in known):
        largest = max(map(_end_of, row["cells"]))
        if largest <= 0:
            continue
        yield _Shape("text", _MARGIN, y + 16, text=row["label"], bold=True)
        y += 34
        scale = (_BAR_END - _LABEL) / largest
        for member, cell in zip(description["members"], row["cells"], strict=True):
            yield _label(member, y)
            if cell["value"] is not None:
                colour = _BASE if member["index"] == description["baseline"] else _OTHER
                width = max(1.0, cell["value"] * scale)
                yield _Shape("rectangle", _LABEL, y, width, _BAR, colour)
            low, high = cell["low"], cell["high"]
            if low is not None and high is not None and high > low:
                yield from _whisker(_LABEL + max(0.0, low) * scale, _LABEL + high * scale, y)
            count = f" · n = {cell['n']}" if cell["n"] > 1 else ""
            text = _shortened(f"{cell['text']}{count}", 30)
            yield _Shape("text", _LABEL + _end_of(cell) * scale + 8, y + 12, text=text)
            y += _ROW
        y += 10


def _gains(description: dict[str, Any]) -> Iterator[_Shape]:
    every, *domains = description["results"]
    domains = [*domains, every] if len(domains) > 1 else domains
    names = ("gain", "gainLow", "gainHigh")
    cells = [cell for domain in domains for cell in domain["members"]]
    most = max([_LEAST_GAIN, *(abs(cell[name] or 0.0) for cell in cells for name in names)])
    scale, middle = (_GAIN_RIGHT - _GAIN_LEFT) / 2 / most, (_GAIN_LEFT + _GAIN_RIGHT) / 2
    rows, y = list[_Shape](), 84.0
    for domain in domains:
        name = "All domains" if domain["domain"] == "all" else domain["domain"].capitalize()
        text = f"{name} · {plural(domain['tasks'], 'task')}"
        rows.append(_Shape("text", _MARGIN, y + 14, text=text, bold=True))
        y += _ROW
        for cell in domain["members"]:
            if cell["member"] != cell["baseline"]:
                rows.append(_label(description["members"][cell["member"]], y))
                rows += _gain(cell, y, middle, scale)
                y += _ROW
        y += 14
    for tick in range(-_TICKS // 2, _TICKS // 2 + 1):
        value = most * tick / (_TICKS / 2)
        x, colour = middle + value * scale, _GRID if tick else _INK
        yield _Shape("rectangle", x - 0.5, 78, 1, y - 78, colour)
        yield _Shape("text", x - 14, y + 18, colour=_MUTED, text=f"{100 * value:+.1f}")
    yield from rows


def _gain(cell: dict[str, Any], y: float, middle: float, scale: float) -> Iterator[_Shape]:
    gain, low, high = cell["gain"], cell["gainLow"], cell["gainHigh"]
    end = _GAIN_RIGHT + 12
    if gain is None:
        yield _Shape("text", end, y + 12, colour=_MUTED, text="no pairs yet")
        return
    colour, left = _OTHER if gain >= 0 else _BASE, middle + min(0.0, gain) * scale
    yield _Shape("rectangle", left, y, max(1.0, abs(gain) * scale), _BAR, colour)
    if low is not None and high is not None:
        yield from _whisker(middle + low * scale, middle + high * scale, y)
    text = f"{100 * gain:+.1f} ({100 * cell['score']:.1f} %), n = {cell['pairs']}"
    yield _Shape("text", end, y + 12, text=_shortened(text, 30))


def _label(member: dict[str, Any], y: float) -> _Shape:
    text = _shortened(str(member["label"]), _MAX_LABEL)
    return _Shape("text", _MARGIN, y + 12, colour=_MUTED, text=text)


def _whisker(left: float, right: float, top: float) -> Iterator[_Shape]:
    middle = top + _BAR / 2
    yield _Shape("rectangle", left, middle - 0.75, right - left, 1.5)
    for x in (left, right):
        yield _Shape("rectangle", x - 0.75, middle - 4, 1.5, 8)


def _end_of(cell: dict[str, Any]) -> float:
    return max(cell["value"] or 0.0, cell["high"] or 0.0)


def _as_svg(shapes: Iterable[_Shape], height: int, title: str) -> bytes:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="{_FONT}" '
        'role="img">',
        f"<title>{_xml(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="{_BACKGROUND}"/>',
        *map(_svg_element, shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _svg_element(shape: _Shape) -> str:
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


def _as_png(shapes: Iterable[_Shape], height: int) -> bytes:
    """Paint shapes in twice their size."""
    from PIL import Image, ImageDraw, ImageFont  # only for this export

    image = Image.new("RGB", (_WIDTH * _SCALE, height * _SCALE), _BACKGROUND)
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


def _xml(text: str) -> str:
    return escape("".join(each for each in text if each.isprintable()))


def _shortened(text: str, limit: int) -> str:
    """Return a text as one line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
