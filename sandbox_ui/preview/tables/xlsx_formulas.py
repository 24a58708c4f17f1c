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

MAX_XML_BYTES = 32 * 1024**2
"""Maximum bytes read of a sheet's XML."""

_CHUNK = 256 * 1024
_ID = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
_CELL_REFERENCE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_READ_ERRORS = (KeyError, zipfile.BadZipFile, expat.ExpatError, OSError, RuntimeError, ValueError)

Formulas = dict[tuple[int, int], str]


def read_uncached_formulas(file: BinaryIO, sheet: str, rows: int) -> Formulas:
    """Return formulas without a value in a sheet's first rows, by zero-based (row, column).

    A cell with a shared formula has ``=…``, because its own references differ. The result is
    empty if the file is corrupt or not ``.xlsx``.
    """
    try:
        archive = zipfile.ZipFile(file)
        part = _sheet_member(archive, sheet)
        if part is None:
            return {}
        with archive.open(part) as content:
            return _FormulaParser(rows).read(iter(lambda: content.read(_CHUNK), b""))
    except _READ_ERRORS:
        return {}


def _sheet_member(archive: zipfile.ZipFile, sheet: str) -> str | None:
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


class _RowLimitReached(Exception):
    """All requested rows have been read."""


class _FormulaParser:
    """Parser of the cells in a sheet's XML."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._found: Formulas = {}
        self._cell = ""
        self._element = ""
        self._formula: list[str] | None = None
        self._has_value = False

    def read(self, chunks: Iterator[bytes]) -> Formulas:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        left = MAX_XML_BYTES
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
                left -= len(chunk)
                if left < 0:
                    break
        except _RowLimitReached:
            pass
        return self._found

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._element = tag.rpartition(" ")[2]
        if self._element == "c":
            self._cell, self._formula, self._has_value = attributes.get("r", ""), None, False
        elif self._element == "f":
            self._formula = []

    def _text(self, text: str) -> None:
        if self._element == "f" and self._formula is not None:
            self._formula.append(text)
        elif self._element in ("v", "t"):
            self._has_value = True

    def _end(self, tag: str) -> None:
        self._element = ""
        place = _CELL_REFERENCE.fullmatch(self._cell) if tag.rpartition(" ")[2] == "c" else None
        if place is None:
            return
        row = int(place[2]) - 1
        if row >= self._rows:
            raise _RowLimitReached
        if self._formula is not None and not self._has_value:
            self._found[row, _column_index(place[1])] = f"={''.join(self._formula) or '…'}"


def _column_index(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
