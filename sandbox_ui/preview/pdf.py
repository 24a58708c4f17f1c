"""PDF: page by page, each drawn when it is asked for, from the file where it lies.

A look asks for one of: nothing (what the document is), ``sizes`` (of more pages), ``page``
(a picture of one), ``text`` (its words and where they stand), ``find``, ``outline``.
"""

from collections.abc import Iterator
from typing import BinaryIO

import pypdfium2
from pypdfium2 import raw

from sandbox_ui.preview.base import Answer, Ask, Unreadable, View
from sandbox_ui.preview.paperdraw import drawn, thumb
from sandbox_ui.preview.papertext import found, words

SIZES = 500
"""Pages of which the size is told at once."""

MOST_PAGES = 20_000
"""Pages that are shown."""

LARGEST = 2 * 1024**3
"""Bytes of a PDF that is looked at; its format hardly goes beyond."""

_ENTRIES = 2000
_TAIL = 2048
_WHY = {
    raw.FPDF_ERR_PASSWORD: "This PDF is locked with a password; it can be opened elsewhere.",
    raw.FPDF_ERR_SECURITY: "This PDF is locked in a way that is not known here.",
}
_BROKEN = "This PDF cannot be read; it is broken, cut off or without pages."


def view(file: BinaryIO, ask: Ask) -> Answer:
    """What a PDF holds, by what is asked for.

    Raises:
        Unreadable: it is broken, locked or empty, or the page asked for cannot be drawn.
    """
    if ask.size == 0:
        raise Unreadable("This file is empty.")
    if ask.size > LARGEST:
        raise Unreadable(f"A PDF of more than {LARGEST // 1024**3} GB is not shown.")
    with _opened(file) as pdf:
        options = ask.options
        if "thumb" in options:
            return thumb(pdf, ask.number("thumb", 320))
        if "page" in options:
            return drawn(pdf, ask.number("page", 0), ask)
        if "text" in options:
            return View(words(pdf, ask.number("text", 0)))
        if "find" in options:
            return View(found(pdf, options["find"], ask.number("from", 0), _cased(options)))
        if "outline" in options:
            return View({"outline": list(_outline(pdf))})
        if "sizes" in options:
            return View({"sizes": _sizes(pdf, ask.number("sizes", 0))})
        return View(_described(pdf, file, ask.size))


def _opened(file: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        code = error.err_code
        raise Unreadable(_WHY.get(code, _BROKEN) if code is not None else _BROKEN) from error


def _cased(options: object) -> bool:
    return isinstance(options, dict) and options.get("case") == "1"


def _described(pdf: pypdfium2.PdfDocument, file: BinaryIO, size: int) -> dict[str, object]:
    file.seek(max(0, size - _TAIL))
    whole = b"%%EOF" in file.read(_TAIL)
    return {
        "pages": min(len(pdf), MOST_PAGES),
        "more": max(0, len(pdf) - MOST_PAGES),
        "sizes": _sizes(pdf, 0),
        "title": pdf.get_metadata_value("Title")[:300],
        "outline": bool(raw.FPDFBookmark_GetFirstChild(pdf, None)),
        "cut": not whole,
    }


def _sizes(pdf: pypdfium2.PdfDocument, first: int) -> list[list[float]]:
    """Width and height in points of some pages; a page that cannot be read is an A4."""
    sizes = []
    for at in range(first, min(first + SIZES, len(pdf), MOST_PAGES)):
        try:
            width, height = pdf.get_page_size(at)
        except pypdfium2.PdfiumError:
            width, height = 595.0, 842.0
        sizes.append([round(max(1.0, width), 2), round(max(1.0, height), 2)])
    return sizes


def _outline(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[str, int, int]]:
    """Title, page and level of the entries that lead to a page; 2,000 at most."""
    for at, entry in enumerate(pdf.get_toc(max_depth=8)):
        if at >= _ENTRIES:
            return
        dest = entry.get_dest()
        page = dest.get_index() if dest else None
        if page is not None and page < len(pdf):
            yield entry.get_title()[:300], page, entry.level
