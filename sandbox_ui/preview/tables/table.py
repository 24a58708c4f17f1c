"""Tables: CSV and similar formats, workbooks, Parquet."""

from dataclasses import asdict
from typing import BinaryIO

from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.tables import csv, parquet, workbook
from sandbox_ui.preview.tables.grid import grid_response

_MAX_COUNT_BYTES = 256 * 1024**2
_MAX_IMMEDIATE_COUNT_BYTES = 16 * 1024**2


def prepare(request: PreviewRequest) -> None:
    """Import the Parquet library if the file name has that extension."""
    if request.extension == "parquet":
        parquet.prepare()


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return a page of a table; see ``grid.grid_response``.

    ``count`` requests the row count of a long CSV file and continues from the last response.

    Raises:
        PreviewError: The file is not a table, or empty.
    """
    if not request.size:
        raise PreviewError("This file is empty.")
    head = file.read(8)
    file.seek(0)
    if head[:4] == b"PAR1":
        return JsonPreview(grid_response(parquet.load(file, request), request))
    if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0":
        return JsonPreview(grid_response(workbook.load(file, request), request))
    if "count" in request.options:
        return JsonPreview(asdict(csv.count_rows(file, request, _MAX_COUNT_BYTES)))
    grid = csv.load(file, request)
    if grid.total_is_estimate and request.size <= _MAX_IMMEDIATE_COUNT_BYTES:
        grid.total, grid.total_is_estimate = csv.count_rows(file, request, request.size).rows, False
    return JsonPreview(grid_response(grid, request))
