"""Fonts for tests: an installed one, and small generated ones."""

import io
import struct
import zlib
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
from fontTools.ttLib import TTCollection, TTFont

FOLDER = Path("/usr/share/fonts/truetype/dejavu")


def installed_font(name: str = "DejaVuSerif") -> bytes:
    """An installed font; skips the test if it is missing."""
    path = FOLDER / f"{name}.ttf"
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    return path.read_bytes()


def font_tables(
    family: str, *, first: int = 65, last: int = 90, axes: tuple[str, ...] = ()
) -> dict[str, bytes]:
    """The tables of a font with metadata but without glyph outlines."""
    text = family.encode("utf-16-be")
    name = struct.pack(">3H", 0, 1, 18) + struct.pack(">6H", 3, 1, 0x409, 1, len(text), 0) + text
    groups = struct.pack(">HHIIIIII", 12, 0, 28, 0, 1, first, last, 1)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + groups
    tables = {"cmap": cmap, "maxp": struct.pack(">IH", 0x5000, 27), "name": name}
    if axes:
        rows = b"".join(
            struct.pack(">4s3iHH", tag.encode(), 100 << 16, 400 << 16, 900 << 16, 0, 0)
            for tag in axes
        )
        tables["fvar"] = struct.pack(">IHHHHHH", 0x10000, 16, 2, len(axes), 20, 0, 0) + rows
    return tables


def collection(*fonts: bytes) -> bytes:
    """A collection of fonts."""
    made = TTCollection()
    made.fonts = [TTFont(io.BytesIO(font), recalcTimestamp=False) for font in fonts]
    output = io.BytesIO()
    made.save(output)
    return output.getvalue()


def truetype(tables: dict[str, bytes]) -> bytes:
    """Tables as a TrueType file."""
    at = 12 + 16 * len(tables)
    rows, bodies = b"", b""
    for tag, body in tables.items():
        rows += struct.pack(">4sIII", tag.encode(), 0, at + len(bodies), len(body))
        bodies += body
    return struct.pack(">IHHHH", 0x10000, len(tables), 0, 0, 0) + rows + bodies


def woff(tables: dict[str, bytes]) -> bytes:
    """Tables as a WOFF file, which compresses each table separately."""
    at = 44 + 20 * len(tables)
    rows, bodies = b"", b""
    for tag, body in tables.items():
        packed = min(zlib.compress(body), body, key=len)
        rows += struct.pack(">4s4I", tag.encode(), at + len(bodies), len(packed), len(body), 0)
        bodies += packed
    head = b"wOFF" + struct.pack(">IIH", 0x10000, at + len(bodies), len(tables))
    return head + b"\0" * 30 + rows + bodies


def woff2(tables: dict[str, bytes]) -> bytes:
    """Tables as a WOFF2 file, which compresses all tables together."""
    rows = b"".join(b"\x3f" + tag.encode() + _base128(len(body)) for tag, body in tables.items())
    packed: bytes = brotli.compress(b"".join(tables.values()))
    size = 48 + len(rows) + len(packed)
    head = b"wOF2" + struct.pack(">IIHHII", 0x10000, size, len(tables), 0, 0, len(packed))
    return head + b"\0" * 24 + rows + packed


def _base128(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([0x80 | value >> 7, value & 0x7F])
