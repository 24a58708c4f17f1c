"""PDF documents; pages are rendered on request from the file in place.

A request has one option: none (document metadata), ``sizes`` (of further pages), ``page`` (its
image), ``text`` (its text and positions), ``find``, ``outline`` or ``unlocked`` (a copy without
the password); ``password`` may come with it.
"""

import io
from collections.abc import Iterator
from typing import BinaryIO

import pypdfium2
from pypdfium2 import raw

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.documents.pdf_render import render_page, render_thumbnail
from sandbox_ui.preview.documents.pdf_text import read_text, search_text

MAX_SIZES = 500
"""Maximum page sizes per response."""

MAX_PAGES = 20_000
"""Maximum pages shown."""

MAX_COPY_BYTES = 40 * 1024**2
"""Largest PDF of which a copy without its password is made, in bytes."""

MAX_FILE_BYTES = 2 * 1024**3
"""Largest PDF, in bytes; the format hardly supports more."""

_MAX_OUTLINE_ENTRIES = 2000
_TAIL_BYTES = 2048
_LOCKED = "This PDF is protected with a password."
_ERROR_MESSAGES = {
    raw.FPDF_ERR_PASSWORD: _LOCKED,
    raw.FPDF_ERR_SECURITY: "This PDF is protected in an unsupported way.",
}
_UNREADABLE_MESSAGE = "This PDF cannot be read; it is damaged, truncated or has no pages."


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return the requested part of a PDF.

    Instead of its metadata, a PDF that needs another password has ``locked``, and ``wrong``:
    whether one was given.
    """
    if request.size == 0:
        raise PreviewError("This file is empty.")
    if request.size > MAX_FILE_BYTES:
        raise PreviewError(f"PDFs larger than {MAX_FILE_BYTES // 1024**3} GB are not shown.")
    password = request.options.get("password")
    options = {name: each for name, each in request.options.items() if name != "password"}
    try:
        opened = pypdfium2.PdfDocument(file, password=password)
    except pypdfium2.PdfiumError as error:
        code = error.err_code or 0
        if code == raw.FPDF_ERR_PASSWORD and not options:
            return JsonPreview({"locked": True, "wrong": bool(password)})
        raise PreviewError(_ERROR_MESSAGES.get(code, _UNREADABLE_MESSAGE)) from error
    with opened as pdf:
        return _respond(pdf, file, request, options)


def _respond(
    pdf: pypdfium2.PdfDocument,
    file: BinaryIO,
    request: PreviewRequest,
    options: dict[str, str],
) -> Preview:
    if "unlocked" in options:
        return _unlocked_copy(pdf, request.size)
    if "thumb" in options:
        return render_thumbnail(pdf, request.int_option("thumb", 320))
    if "page" in options:
        return render_page(pdf, request.int_option("page", 0), request)
    if "text" in options:
        return JsonPreview(read_text(pdf, request.int_option("text", 0)))
    if "find" in options:
        start, case = request.int_option("start", 0), options.get("match_case") == "1"
        return JsonPreview(search_text(pdf, options["find"], start, case))
    if "outline" in options:
        return JsonPreview({"outline": list(_outline(pdf))})
    if "sizes" in options:
        return JsonPreview({"sizes": _sizes(pdf, request.int_option("sizes", 0))})
    return JsonPreview(_metadata(pdf, file, request.size))


def _unlocked_copy(pdf: pypdfium2.PdfDocument, size: int) -> BinaryPreview:
    if size > MAX_COPY_BYTES:
        raise PreviewError(f"Copies of PDFs larger than {MAX_COPY_BYTES >> 20} MB are not made.")
    copy = io.BytesIO()
    pdf.save(copy, flags=raw.FPDF_REMOVE_SECURITY)
    return BinaryPreview(copy.getvalue(), "application/pdf")


def _metadata(pdf: pypdfium2.PdfDocument, file: BinaryIO, size: int) -> dict[str, object]:
    file.seek(max(0, size - _TAIL_BYTES))
    truncated = b"%%EOF" not in file.read(_TAIL_BYTES)
    return {
        "pages": min(len(pdf), MAX_PAGES),
        "omitted_pages": max(0, len(pdf) - MAX_PAGES),
        "sizes": _sizes(pdf, 0),
        "title": pdf.get_metadata_value("Title")[:300],
        "outline": bool(raw.FPDFBookmark_GetFirstChild(pdf, None)),
        "truncated": truncated,
    }


def _sizes(pdf: pypdfium2.PdfDocument, first: int) -> list[list[float]]:
    """Return page sizes in points; A4 for an unreadable page."""
    sizes = []
    for at in range(first, min(first + MAX_SIZES, len(pdf), MAX_PAGES)):
        try:
            width, height = pdf.get_page_size(at)
        except pypdfium2.PdfiumError:
            width, height = 595.0, 842.0
        sizes.append([round(max(1.0, width), 2), round(max(1.0, height), 2)])
    return sizes


def _outline(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[str, int, int]]:
    """Yield title, page and level of up to 2,000 entries that link to a page."""
    for at, entry in enumerate(pdf.get_toc(max_depth=8)):
        if at >= _MAX_OUTLINE_ENTRIES:
            return
        dest = entry.get_dest()
        page = dest.get_index() if dest else None
        if page is not None and page < len(pdf):
            yield entry.get_title()[:300], page, entry.level
