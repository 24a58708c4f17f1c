"""Tables: CSV and similar formats, workbooks, Parquet."""

import re
from dataclasses import asdict
from importlib import import_module
from typing import BinaryIO

from agent.documents.signatures import OLE_SIGNATURE, WORKBOOK_EXTENSIONS
from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.kinds import HEAD_BYTES, KINDS, is_text
from sandbox_ui.preview.tables import csv, workbook
from sandbox_ui.preview.tables.grid import grid_response

_WORKBOOKS = tuple(each[1:] for each in WORKBOOK_EXTENSIONS)
_OTHER_EXTENSIONS = ("csv", "tsv", *_WORKBOOKS)
_PARQUET = f"{__package__}.parquet"
_MARKUP = re.compile(
    rb"\s*(?:\xef\xbb\xbf\s*)?<(?:!doctype\s+html|html|head|meta|table|style)\b", re.I
)
_MAX_COUNT_BYTES = 256 * 1024**2
_MAX_IMMEDIATE_COUNT_BYTES = 16 * 1024**2


def prepare(request: PreviewRequest) -> None:
    """Import the Parquet library before the limits apply; other formats do not need it."""
    if request.extension not in _OTHER_EXTENSIONS:
        import_module(_PARQUET)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return a page of a table as ``grid.grid_response``; ``count`` counts a long CSV file."""
    head = file.read(8)
    file.seek(0)
    if head[:4] in KINDS["table"].signatures:
        return grid_response(import_module(_PARQUET).load(file, request), request)
    if head[:2] == b"PK" or head[:4] == OLE_SIGNATURE:
        return grid_response(workbook.load(file, request), request)
    if request.extension in _WORKBOOKS:
        _check_text(file)
    if "count" in request.options:
        return asdict(csv.count_rows(file, request, _MAX_COUNT_BYTES))
    grid = csv.load(file, request)
    if grid.total_is_estimate and request.size <= _MAX_IMMEDIATE_COUNT_BYTES:
        grid.total, grid.total_is_estimate = csv.count_rows(file, request, request.size).rows, False
    return grid_response(grid, request)


def _check_text(file: BinaryIO) -> None:
    """Refuse a file with a workbook's name that is neither a workbook nor text with columns."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if _MARKUP.match(head):
        raise PreviewError(
            "This is a web page (HTML) with the name of a workbook. Rename it to .html to see it."
        )
    if not is_text(head):
        raise PreviewError("This is not a workbook, despite its name.")
