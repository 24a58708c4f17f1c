"""Previews of texts, tables, and the texts of PDF and office documents."""

import csv
import io
import posixpath
import time
from typing import Literal

from agent.documents.signatures import WORKBOOK_EXTENSIONS, is_office, is_pdf
from agent.errors import WorkspaceError
from agent.report.html import Html, el, join
from agent.report.redaction import Redactor
from agent.report.source import Content
from agent.util.text import format_size, plural
from agent.workspace.versions.manifest import Node

_MAX_PREVIEW = 24_000
_MAX_ROWS, _MAX_COLUMNS, _MAX_CELL = 100, 30, 200
_MAX_SHEETS = 10
_MAX_DOCUMENT = 32 * 1024**2
_MAX_SECONDS = 60.0
_NO_PREVIEW = "No preview of this kind of file."
_LAYOUT = "Only its text: a report has no layout and no pictures of documents."


class Documents:
    """Reads the texts of documents, each content once.

    Reading one takes a process of its own, so all of a report together may take a minute.

    Args:
        redactor: Redacts the texts.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = _MAX_SECONDS
        self._known: dict[str, Html] = {}

    def preview(self, name: str, start: bytes, node: Node, content: Content) -> Html:
        """Return the text of a PDF or office document, or a sentence that says why there is none.

        Args:
            name: The file's path.
            start: Its first bytes.
            node: Its version.
            content: Its content.
        """
        suffix = posixpath.splitext(name)[1].lower()
        if not is_office(name, start) and not is_pdf(name, start):
            return el("p", _NO_PREVIEW, class_="dim")
        if node.size > _MAX_DOCUMENT:
            text = f"No preview: documents of more than {format_size(_MAX_DOCUMENT)} are not read."
            return el("p", text, class_="left-out")
        if content.key not in self._known:
            if self._left <= 0:
                return el("p", "No preview: the report has too many documents.", class_="left-out")
            self._known[content.key] = self._read(suffix, content)
        return self._known[content.key]

    def _read(self, suffix: str, content: Content) -> Html:
        from agent.documents.text import extract_text  # only few reports have documents

        began = time.monotonic()
        try:
            with content.open() as file:
                document = extract_text(file, f"document{suffix}")
        except (WorkspaceError, OSError):
            text = "No preview: it has no text, needs a password or is damaged."
            return el("p", text, class_="left-out")
        finally:
            self._left -= time.monotonic() - began
        text = self._redactor.redact(document.text)
        if suffix in WORKBOOK_EXTENSIONS:
            return _sheets(text)
        unit = "slide" if suffix in (".pptx", ".pptm", ".odp") else "page"
        whole = plural(document.pages, unit) if document.pages else "the document"
        note = el("p", _LAYOUT, class_="dim")
        return join(lines(text.replace("\f", "\n\n"), whole), note)


def _sheets(text: str) -> Html:
    """Return the sheets of a workbook as tables; a line has the name, the next ones the rows."""
    sheets = text.split("\f")
    shown: list[Html] = []
    for sheet in sheets[:_MAX_SHEETS]:
        name, _, rows = sheet.partition("\n")
        table = read_table(rows, "\t", csv.QUOTE_NONE) or lines(rows, name)
        shown += [el("h4", name), table]
    if len(sheets) > _MAX_SHEETS:
        more = plural(len(sheets) - _MAX_SHEETS, "further sheet")
        shown.append(el("p", f"{more} left out", class_="left-out"))
    return join(*shown)


def lines(text: str, whole: str) -> Html:
    """Return the beginning of a text.

    Args:
        text: The text.
        whole: What it is the beginning of, such as its size.
    """
    if not text:
        return el("p", "Empty.", class_="dim")
    shown = el("pre", text[:_MAX_PREVIEW], class_="content", tabindex="0")
    if len(text) <= _MAX_PREVIEW:
        return shown
    note = f"The first {_MAX_PREVIEW:,} characters of {whole}."
    return join(shown, el("p", note, class_="left-out"))


def read_table(
    text: str, delimiter: str, quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
) -> Html | None:
    """Return the first rows of a table; None if it cannot be read as one.

    Args:
        text: The rows.
        delimiter: What separates the cells of a row.
        quoting: How the cells are quoted, as a constant of ``csv``.
    """
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
    if not rows or max(map(len, rows)) < 2:
        return None
    wide = max(map(len, rows)) > _MAX_COLUMNS
    head, *body = ([each[:_MAX_CELL] for each in row[:_MAX_COLUMNS]] for row in rows)
    table = el(
        "table",
        el("thead", el("tr", *(el("th", each, scope="col") for each in head))),
        el("tbody", *(el("tr", *(el("td", each) for each in row)) for row in body)),
    )
    cut = [
        f"the first {_MAX_ROWS:,} rows" if more else "",
        f"the first {_MAX_COLUMNS} columns" if wide else "",
    ]
    note = " and ".join(filter(None, cut))
    shown = el("div", table, class_="table", tabindex="0", role="group", aria_label="Table")
    return join(shown, el("p", f"Only {note}.", class_="left-out") if note else None)
