"""Formulas of a sheet that were saved without a cached value.

Programs that write a workbook without computing it leave such cells empty. Only ``.xlsx`` is
supported (ECMA-376, part 1, §18.3.1.4 and §18.3.1.40).
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import BinaryIO
from xml.parsers import expat

LONGEST = 32 * 1024**2
"""Maximum bytes read of a sheet's XML."""

_CHUNK = 256 * 1024
_ID = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_BROKEN = (KeyError, zipfile.BadZipFile, expat.ExpatError, OSError, RuntimeError, ValueError)

Formulas = dict[tuple[int, int], str]


def formulas(file: BinaryIO, sheet: str, rows: int) -> Formulas:
    """Return formulas without a value in the first rows, by zero-based (row, column).

    A cell with a shared formula has ``=…``, because its own references differ. The result is
    empty if the file is corrupt or not ``.xlsx``.

    Args:
        file: The workbook.
        sheet: Name of the sheet.
        rows: Number of rows to read.
    """
    try:
        archive = zipfile.ZipFile(file)
        part = _part(archive, sheet)
        if part is None:
            return {}
        with archive.open(part) as content:
            return _Cells(rows).read(iter(lambda: content.read(_CHUNK), b""))
    except _BROKEN:
        return {}


def _part(archive: zipfile.ZipFile, sheet: str) -> str | None:
    """Return the name of the archive member that holds a sheet."""
    ids = {
        each.get("name"): each.get(_ID) for each in _elements(archive, "xl/workbook.xml", "sheet")
    }
    relations = _elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    targets = {each.get("Id"): each.get("Target", "") for each in relations}
    target = targets.get(ids.get(sheet)) if sheet in ids else None
    return posixpath.normpath(posixpath.join("/xl", target)).lstrip("/") if target else None


def _elements(archive: zipfile.ZipFile, member: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of all elements with a local name, in any namespace."""
    found: list[dict[str, str]] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(" ")[2] == name:
            found.append(attributes)

    parser.StartElementHandler = start
    parser.Parse(archive.read(member), True)
    yield from found


class _Enough(Exception):
    """All requested rows have been read."""


class _Cells:
    """Parser of the cells in a sheet's XML.

    Args:
        rows: Number of rows to read.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._found: Formulas = {}
        self._cell = ""
        self._inside = ""
        self._formula: list[str] | None = None
        self._valued = False

    def read(self, chunks: Iterator[bytes]) -> Formulas:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        left = LONGEST
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
                left -= len(chunk)
                if left < 0:
                    break
        except _Enough:
            pass
        return self._found

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._inside = tag.rpartition(" ")[2]
        if self._inside == "c":
            self._cell, self._formula, self._valued = attributes.get("r", ""), None, False
        elif self._inside == "f":
            self._formula = []

    def _text(self, text: str) -> None:
        if self._inside == "f" and self._formula is not None:
            self._formula.append(text)
        elif self._inside in ("v", "t"):
            self._valued = True

    def _end(self, tag: str) -> None:
        self._inside = ""
        place = _PLACE.fullmatch(self._cell) if tag.rpartition(" ")[2] == "c" else None
        if place is None:
            return
        row = int(place[2]) - 1
        if row >= self._rows:
            raise _Enough
        if self._formula is not None and not self._valued:
            self._found[row, _column(place[1])] = f"={''.join(self._formula) or '…'}"


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
