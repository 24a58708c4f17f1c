"""Reader of font tables in OpenType, WOFF and WOFF2 files."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import brotli  # type: ignore[import-untyped]

from sandbox_ui.preview.base import PreviewError

MAX_FILE_BYTES = 64 * 1024**2
_MAX_RANGES = 4000
_WOFF2_TAGS = (
    "cmap head hhea hmtx maxp name OS/2 post cvt  fpgm glyf loca prep CFF  VORG EBDT "
    "EBLC gasp hdmx kern LTSH PCLT VDMX vhea vmtx BASE GDEF GPOS GSUB EBSC JSTF MATH "
    "CBDT CBLC COLR CPAL SVG  sbix acnt avar bdat bloc bsln cvar fdsc feat fmtx fvar "
    "gvar hsty just lcar mort morx opbd prop trak Zapf Silf Glat Gloc Feat Sill "
)
_TAGS = [_WOFF2_TAGS[at : at + 4] for at in range(0, len(_WOFF2_TAGS), 5)]
_BROKEN = "This font cannot be read; it is damaged or truncated."
_FORMATS = {
    b"\0\1\0\0": "TrueType", b"true": "TrueType", b"OTTO": "OpenType",
    b"wOFF": "WOFF", b"wOF2": "WOFF2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Font:
    """Tables of a font by tag.

    Attributes:
        format_name: Name of the file format.
        tables: The requested tables that exist.
    """

    format_name: str
    tables: Mapping[str, bytes]

    def names(self) -> dict[int, str]:
        """Return the strings of the name table, preferring English."""
        table = self.tables.get("name", b"")
        found: dict[int, tuple[int, str]] = {}
        if len(table) < 6:
            return {}
        count, storage = struct.unpack_from(">HH", table, 2)
        for at in range(min(count, (len(table) - 6) // 12)):
            platform, _, language, name, length, offset = struct.unpack_from(
                ">6H", table, 6 + 12 * at
            )
            content = table[storage + offset : storage + offset + length]
            wide = platform in (0, 3)
            text = content.decode("utf-16-be" if wide else "mac_roman", "replace")
            rank = 2 * (language in (0, 0x409)) + wide
            if text.strip("\0 ") and rank > found.get(name, (-1, ""))[0]:
                found[name] = rank, " ".join(text.replace("\0", "").split())
        return {name: text for name, (_, text) in found.items()}

    def read_number(self, tag: str, offset: int, struct_format: str = ">H") -> int:
        """Return a number from a table; 0 if missing."""
        table = self.tables.get(tag, b"")
        fits = len(table) >= offset + struct.calcsize(struct_format)
        return int(struct.unpack_from(struct_format, table, offset)[0]) if fits else 0

    def axes(self) -> list[tuple[str, float, float, float]]:
        """Return tag, minimum, default and maximum of each variation axis."""
        table = self.tables.get("fvar", b"")
        if len(table) < 16:
            return []
        first, _, count, size = struct.unpack_from(">4H", table, 4)
        axes = []
        for at in range(min(count, 16)):
            part = table[first + at * size :][:16]
            if len(part) == 16:
                tag, *values = struct.unpack(">4s3i", part)
                axes.append((tag.decode("latin-1"), *(value / 65536 for value in values)))
        return [(tag, low, usual, high) for tag, low, usual, high in axes]

    def code_point_ranges(self) -> list[tuple[int, int]]:
        """Return the supported code points as (first, last) ranges."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(self._subtable_ranges()):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(merged[-1][1], last)
            else:
                merged.append((first, last))
        return merged[:_MAX_RANGES]

    def _subtable_ranges(self) -> Iterator[tuple[int, int]]:
        table = self.tables.get("cmap", b"")
        starts = set()
        for at in range(min(self.read_number("cmap", 2), 64)):
            platform = self.read_number("cmap", 4 + 8 * at)
            if platform in (0, 3):
                starts.add(self.read_number("cmap", 8 + 8 * at, ">I"))
        for start in starts:
            subtable_format = self.read_number("cmap", start)
            if subtable_format == 4:
                yield from _segments(table[start:])
            elif subtable_format == 12:
                yield from _groups(table[start:])


def read_font(file: BinaryIO, tags: set[str]) -> Font:
    """Read the tables with the wanted tags.

    Raises:
        PreviewError: The file is not a font, or its table offsets are invalid.
    """
    content = file.read(MAX_FILE_BYTES + 1)
    if not content:
        raise PreviewError("This file is empty.")
    if len(content) > MAX_FILE_BYTES:
        raise PreviewError(f"Fonts larger than {MAX_FILE_BYTES // 1024**2} MB are not shown.")
    format_name = _FORMATS.get(content[:4])
    if format_name is None:
        raise PreviewError("This file contains no font that browsers support.")
    readers = {b"wOFF": _read_woff, b"wOF2": _read_woff2}
    try:
        tables = dict(readers.get(content[:4], _read_sfnt)(content, tags))
    except (struct.error, zlib.error, brotli.error, IndexError) as error:
        raise PreviewError(_BROKEN) from error
    if not tables:
        raise PreviewError(_BROKEN)
    return Font(format_name, tables)


def _read_sfnt(content: bytes, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    (count,) = struct.unpack_from(">H", content, 4)
    for at in range(count):
        tag, _, offset, length = struct.unpack_from(">4s3I", content, 12 + 16 * at)
        if offset + length > len(content):
            raise IndexError(tag)
        if (name := tag.decode("latin-1")) in wanted:
            yield name, content[offset : offset + length]


def _read_woff(content: bytes, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    (count,) = struct.unpack_from(">H", content, 12)
    for at in range(count):
        tag, offset, packed, length, _ = struct.unpack_from(">4s4I", content, 44 + 20 * at)
        part = content[offset : offset + packed]
        if len(part) < packed:
            raise IndexError(tag)
        if (name := tag.decode("latin-1")) in wanted:
            whole = (
                part if packed == length else zlib.decompressobj().decompress(part, MAX_FILE_BYTES)
            )
            yield name, whole


def _read_woff2(content: bytes, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    (count,) = struct.unpack_from(">H", content, 12)
    (packed,) = struct.unpack_from(">I", content, 20)
    at, places, total = 48, [], 0
    for _ in range(count):
        flags = content[at]
        at += 1
        index = flags & 0x3F
        if index == 63:
            name, at = content[at : at + 4].decode("latin-1"), at + 4
        else:
            name = _TAGS[index]
        length, at = _read_base128(content, at)
        version = flags >> 6
        if (version != 3) if name in ("glyf", "loca") else version != 0:
            length, at = _read_base128(content, at)
        places.append((name, total, length))
        total += length
    if total > MAX_FILE_BYTES:
        raise PreviewError(_BROKEN)
    whole = brotli.Decompressor().process(
        content[at : at + packed], output_buffer_limit=MAX_FILE_BYTES
    )
    if len(whole) < total:
        raise IndexError(total)
    for name, offset, length in places:
        if name in wanted:
            yield name, whole[offset : offset + length]


def _read_base128(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for more in range(5):
        byte = content[at + more]
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + more + 1
    raise IndexError(at)


def _segments(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield ranges of a cmap format 4 subtable (the first 65,536 characters)."""
    if len(table) < 16:
        return
    count = struct.unpack_from(">H", table, 6)[0] // 2
    count = min(count, (len(table) - 16) // 8)
    ends = struct.unpack_from(f">{count}H", table, 14)
    begins = struct.unpack_from(f">{count}H", table, 16 + 2 * count)
    for first, last in zip(begins, ends, strict=True):
        if first <= last and first != 0xFFFF:
            yield first, min(last, 0xFFFE)


def _groups(table: bytes) -> Iterator[tuple[int, int]]:
    """Yield ranges of a cmap format 12 subtable (all characters)."""
    if len(table) < 16:
        return
    count = min(struct.unpack_from(">I", table, 12)[0], (len(table) - 16) // 12)
    for at in range(count):
        first, last = struct.unpack_from(">II", table, 16 + 12 * at)
        if first <= last <= 0x10FFFF:
            yield first, last
