"""Check whether a PNG shows the expected curves, bars or slices; their scales do not matter."""

import math
from collections.abc import Callable, Sequence
from io import BytesIO

from PIL import Image

from agent.tasks.file_tasks.task import ContentCheck

Colour = tuple[int, int, int]
Curve = Callable[[float], float]
Spans = dict[int, tuple[int, int]]

_COLOURS: tuple[Colour, ...] = (
    (31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189),
    (140, 86, 75), (227, 119, 194), (127, 127, 127), (188, 189, 34), (23, 190, 207),
)  # fmt: skip
_MAX_PIXELS = 4_000_000
_SAMPLES = 500
_COLOUR_TOLERANCE, _MIN_WIDTH = 90, 100
_PIXEL_TOLERANCE = 4  # pixels


def shows_curves(curves: Sequence[Curve], low: float, high: float) -> ContentCheck:
    """Test for curves from ``low`` to ``high`` in one image, each in the next colour."""
    steps = [low + (high - low) * at / (_SAMPLES - 1) for at in range(_SAMPLES)]
    values = [[curve(step) for step in steps] for curve in curves]

    def test(data: bytes) -> bool:
        seen = _column_spans(data, len(curves))
        if any(len(spans) < _MIN_WIDTH for spans in seen):
            return False
        left, right = min(map(min, seen)), max(map(max, seen))
        top = min(span[0] for spans in seen for span in spans.values()) + 1
        bottom = max(span[1] for spans in seen for span in spans.values()) - 1
        frame = (left, right, top, bottom)
        lows, highs = min(map(min, values)), max(map(max, values))
        rows = [[_expected_row(value, lows, highs, frame) for value in each] for each in values]
        return all(_follows(spans, each, frame) for spans, each in zip(seen, rows, strict=True))

    return test


def _expected_row(value: float, low: float, high: float, frame: tuple[int, int, int, int]) -> float:
    _, _, top, bottom = frame
    return bottom - (value - low) / ((high - low) or 1.0) * (bottom - top)


def _follows(spans: Spans, rows: Sequence[float], frame: tuple[int, int, int, int]) -> bool:
    """Return whether nearly all pixels of a colour are on the curve."""
    left, right, _, _ = frame
    good = 0
    for x, (top, bottom) in spans.items():
        at = (x - left) / (right - left) * (len(rows) - 1)
        near = rows[max(0, math.floor(at) - 2) : math.ceil(at) + 3]
        good += min(near) - _PIXEL_TOLERANCE <= bottom and top <= max(near) + _PIXEL_TOLERANCE
    return good >= 0.93 * len(spans)


def shows_line(values: Sequence[float]) -> ContentCheck:
    """Test for equally spaced values joined by straight lines."""

    def curve(at: float) -> float:
        before = min(int(at), len(values) - 2)
        return values[before] + (values[before + 1] - values[before]) * (at - before)

    return shows_curves([curve], 0, len(values) - 1)


def shows_bars(values: Sequence[float]) -> ContentCheck:
    """Test for one bar per value, with proportional heights; values are positive."""

    def test(data: bytes) -> bool:
        (spans,) = _column_spans(data, 1)
        heights: list[int] = []
        for x in sorted(spans):
            height = spans[x][1] - spans[x][0] + 1
            if x - 1 in spans:
                heights[-1] = max(heights[-1], height)
            else:
                heights.append(height)
        if len(heights) != len(values):
            return False
        unit = max(heights) / max(values)
        pairs = zip(heights, values, strict=True)
        return all(abs(height - value * unit) <= _PIXEL_TOLERANCE for height, value in pairs)

    return test


def shows_slices(values: Sequence[float]) -> ContentCheck:
    """Test for one slice per value, with proportional areas, in colour order."""

    def test(data: bytes) -> bool:
        areas = [0] * len(_COLOURS)
        for row in _decode_rows(data):
            for at, colour in enumerate(_COLOURS):
                areas[at] += row.count(bytes(colour) + b"\xff")
        whole, total = sum(areas), sum(values)
        shares = [*values, *[0.0] * (len(areas) - len(values))]
        pairs = zip(areas, shares, strict=False)
        return whole > _MIN_WIDTH**2 and all(
            abs(area / whole - value / total) < 0.015 for area, value in pairs
        )

    return test


def _column_spans(data: bytes, count: int) -> list[Spans]:
    """Return, for each of the first colours, column → first and last row."""
    seen: list[Spans] = [{} for _ in range(count)]
    for y, row in enumerate(_decode_rows(data)):
        if not row.strip(b"\xff"):
            continue
        for x in range(len(row) // 4):
            red, green, blue = row[4 * x], row[4 * x + 1], row[4 * x + 2]
            if red == green == blue:
                continue
            for spans, (r, g, b) in zip(seen, _COLOURS, strict=False):
                if abs(red - r) + abs(green - g) + abs(blue - b) < _COLOUR_TOLERANCE:
                    spans[x] = (spans[x][0], y) if x in spans else (y, y)
    return seen


def _decode_rows(data: bytes) -> list[bytes]:
    """Decode the rows of a PNG as RGBA; return an empty list for anything else."""
    try:
        with Image.open(BytesIO(data), formats=["PNG"]) as image:
            if image.width * image.height > _MAX_PIXELS:
                return []
            pixels, stride = image.convert("RGBA").tobytes(), 4 * image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return []
    return [pixels[at : at + stride] for at in range(0, len(pixels), stride)]
