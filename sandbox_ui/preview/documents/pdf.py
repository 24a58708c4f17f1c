"""PDF documents; pages are rendered on request from the file in place.

A request has one option: none (document metadata), ``sizes`` (of further pages), ``page`` (its
image), ``text`` (its words and their positions), ``find`` or ``outline``.
"""

from collections.abc import Iterator
from typing import BinaryIO

import pypdfium2
from pypdfium2 import raw

from sandbox_ui.preview.base import Answer, Ask, Unreadable, View
from sandbox_ui.preview.documents.pdf_render import drawn, thumb
from sandbox_ui.preview.documents.pdf_text import found, words

SIZES = 500
"""Maximum page sizes per response."""

MOST_PAGES = 20_000
"""Maximum pages shown."""

LARGEST = 2 * 1024**3
"""Largest PDF, in bytes; the format hardly supports more."""

_ENTRIES = 2000
_TAIL = 2048
_WHY = {
    raw.FPDF_ERR_PASSWORD: "This PDF is locked with a password; it can be opened elsewhere.",
    raw.FPDF_ERR_SECURITY: "This PDF is locked in a way that is not known here.",
}
_BROKEN = "This PDF cannot be read; it is broken, cut off or without pages."


def view(file: BinaryIO, ask: Ask) -> Answer:
    """Return the requested part of a PDF.

    Raises:
        Unreadable: The file is corrupt, encrypted or empty, or the page cannot be rendered.
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
    """Return page sizes in points; A4 for an unreadable page."""
    sizes = []
    for at in range(first, min(first + SIZES, len(pdf), MOST_PAGES)):
        try:
            width, height = pdf.get_page_size(at)
        except pypdfium2.PdfiumError:
            width, height = 595.0, 842.0
        sizes.append([round(max(1.0, width), 2), round(max(1.0, height), 2)])
    return sizes


def _outline(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[str, int, int]]:
    """Yield title, page and level of up to 2,000 entries that link to a page."""
    for at, entry in enumerate(pdf.get_toc(max_depth=8)):
        if at >= _ENTRIES:
            return
        dest = entry.get_dest()
        page = dest.get_index() if dest else None
        if page is not None and page < len(pdf):
            yield entry.get_title()[:300], page, entry.level
