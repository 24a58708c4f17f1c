"""Tables: CSV and similar formats, workbooks, Parquet."""

from dataclasses import asdict
from typing import BinaryIO

from sandbox_ui.preview.base import Ask, Unreadable, View
from sandbox_ui.preview.tables import csv, parquet, workbook
from sandbox_ui.preview.tables.grid import answer

_COUNTED = 256 * 1024**2
_COUNTED_AT_ONCE = 16 * 1024**2


def prepare(ask: Ask) -> None:
    """Import the Parquet library if the file name has that extension."""
    if ask.ending == "parquet":
        parquet.prepare()


def view(file: BinaryIO, ask: Ask) -> View:
    """Return a page of a table; see ``grid.answer``.

    ``count`` requests the row count of a long CSV file and continues from the last response.

    Raises:
        Unreadable: The file is not a table, or empty.
    """
    if not ask.size:
        raise Unreadable("This file is empty.")
    head = file.read(8)
    file.seek(0)
    if head[:4] == b"PAR1":
        return View(answer(parquet.load(file, ask), ask))
    if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
        return View(answer(workbook.load(file, ask), ask))
    if "count" in ask.options:
        return View(asdict(csv.count(file, ask, _COUNTED)))
    grid = csv.load(file, ask)
    if grid.about and ask.size <= _COUNTED_AT_ONCE:
        grid.total, grid.about = csv.count(file, ask, ask.size).rows, False
    return View(answer(grid, ask))
