"""Previews of tables and of the texts of PDF and office documents, as JSON values."""

import csv
import io
import time
from typing import Any, Literal

from agent.documents.signatures import WORKBOOK_EXTENSIONS
from agent.errors import WorkspaceError
from agent.report.redaction import Redactor
from agent.report.source import Content
from agent.util.text import format_size, plural

_MAX_PREVIEW = 200_000
_MAX_ROWS, _MAX_COLUMNS, _MAX_CELL = 1_000, 30, 200
_MAX_SHEETS = 10
_MAX_DOCUMENT = 32 * 1024**2
_MAX_SECONDS = 60.0
_LAYOUT = "Only its text: a report has no layout and no pictures of documents."

View = dict[str, Any]
"""What a preview shows, as static/report/kinds.js reads it."""


class Documents:
    """Reads the texts of documents, each in a process, for a minute at most."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = _MAX_SECONDS

    def preview(self, suffix: str, size: int, content: Content) -> View:
        """Return the text of a PDF or office document, or why there is none."""
        if size > _MAX_DOCUMENT:
            limit = format_size(_MAX_DOCUMENT)
            return {"error": f"No preview: documents of more than {limit} are not read."}
        if self._left <= 0:
            return {"error": "No preview: the report has too many documents."}
        from agent.documents.text import extract_text  # only few reports have documents

        began = time.monotonic()
        try:
            with content.open() as file:
                document = extract_text(file, f"document{suffix}")
        except (WorkspaceError, OSError):
            return {"error": "No preview: it has no text, needs a password or is damaged."}
        finally:
            self._left -= time.monotonic() - began
        text = self._redactor.redact(document.text)
        if suffix in WORKBOOK_EXTENSIONS:
            return _sheets(text)
        shown = text.replace("\f", "\n\n")
        cut = f" The first {_MAX_PREVIEW:,} characters are shown." * (len(shown) > _MAX_PREVIEW)
        return {"kind": "text", "text": shown[:_MAX_PREVIEW], "note": _LAYOUT + cut}


def _sheets(text: str) -> View:
    """Return the sheets of a workbook; a line has the name, the next ones the rows."""
    found = text.split("\f")
    sheets = []
    for sheet in found[:_MAX_SHEETS]:
        name, _, rows = sheet.partition("\n")
        sheets.append(read_table(name, rows, "\t", csv.QUOTE_NONE) or _empty(name))
    if len(found) > _MAX_SHEETS:
        sheets[0]["note"] += f" {plural(len(found) - _MAX_SHEETS, 'further sheet')} left out."
    return {"kind": "table", "sheets": sheets}


def _empty(name: str) -> View:
    return {"name": name, "rows": [[""]], "note": ""}


def read_table(
    name: str, text: str, delimiter: str, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
) -> View | None:
    """Return the first rows of a table; None if it cannot be read as one."""
    rows: list[list[str]] = []
    more = False
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting):
            more = len(rows) > _MAX_ROWS
            if more:
                break
            rows.append(row)
    except csv.Error:
        return None
    width = max(map(len, rows), default=0)
    if not width:
        return None
    cut = [
        f"the first {_MAX_ROWS:,} rows" if more else "",
        f"the first {_MAX_COLUMNS} columns" if width > _MAX_COLUMNS else "",
    ]
    note = " and ".join(filter(None, cut))
    shown = [[each[:_MAX_CELL] for each in row[:_MAX_COLUMNS]] for row in rows]
    return {"name": name, "rows": shown, "note": f"Only {note}." if note else ""}
