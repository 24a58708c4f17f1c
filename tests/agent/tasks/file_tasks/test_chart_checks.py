"""Checks of charts: every kind of PNG is read; damaged, hostile and huge ones show nothing."""

import io
import struct
import zlib

import pytest
from PIL import Image, ImageDraw

from agent.tasks.file_tasks import chart_checks

BLUE, ORANGE = (31, 119, 180), (255, 127, 14)


def as_png(image: Image.Image) -> bytes:
    output = io.BytesIO()
    image.save(output, "PNG")
    return output.getvalue()


def bars(*values: int, mode: str = "RGBA") -> bytes:
    """A PNG of blue bars, 50 pixels high per unit."""
    image = Image.new("RGB", (400, 300), "white")
    for at, value in enumerate(values):
        left = 20 + 100 * at
        ImageDraw.Draw(image).rectangle((left, 280 - 50 * value, left + 60, 279), fill=BLUE)
    return as_png(image.convert(mode))


def claiming_size(width: int, height: int, content: bytes = b"") -> bytes:
    """A PNG whose header claims a size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(content)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


@pytest.mark.parametrize("mode", ["RGBA", "RGB", "P"])
def test_bars_are_recognised_in_every_kind_of_png(mode: str) -> None:
    assert chart_checks.shows_bars([1, 3, 2])(bars(1, 3, 2, mode=mode))
    assert not chart_checks.shows_bars([3, 1, 2])(bars(1, 3, 2, mode=mode))


def test_slices_are_recognised_by_their_areas() -> None:
    image = Image.new("RGBA", (300, 300), "white")
    ImageDraw.Draw(image).rectangle((0, 0, 299, 199), fill=BLUE)
    ImageDraw.Draw(image).rectangle((0, 200, 299, 299), fill=ORANGE)
    assert chart_checks.shows_slices([2, 1])(as_png(image))
    assert not chart_checks.shows_slices([1, 1])(as_png(image))


OTHER_CONTENT = {
    "empty": b"",
    "text": b"not a picture",
    "cut": bars(1, 3, 2)[:-60],
    "header": bars(1, 3, 2)[:40],
    "no pixels": claiming_size(0, 0),
    "missing": claiming_size(400, 300),
    "widest": claiming_size(2**31 - 1, 2**31 - 1),
    "wide": claiming_size(100_000, 100_000),
    "bomb": claiming_size(10, 10, bytes(50_000_000)),
    "huge": as_png(Image.new("RGBA", (3000, 2000), BLUE)),
}


@pytest.mark.parametrize("content", OTHER_CONTENT.values(), ids=OTHER_CONTENT)
def test_other_content_shows_no_chart(content: bytes) -> None:
    assert not chart_checks.shows_bars([1, 3, 2])(content)
    assert not chart_checks.shows_slices([1, 3, 2])(content)
