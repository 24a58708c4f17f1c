"""PDF documents; pages are rendered on request from the file in place.

A request has one option: none (document metadata), ``sizes`` (of further pages), ``page`` (its
image), ``text`` (its text and positions), ``find``, ``outline`` or ``unlocked`` (a copy without
the password); ``password`` may come with it.
"""

import io
import math
from collections.abc import Iterator
from typing import BinaryIO

import pypdfium2
from PIL import Image, ImageChops
from pypdfium2 import raw

from agent.documents.pdf_pages import LockedPdfError, open_pdf, page_to_render, render_clip
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.documents.pdf_text import read_text, search_text

MAX_SIZES = 500  # per response
MAX_PAGES = 20_000
MAX_COPY_BYTES = 40 * 1024**2
"""Largest PDF of which a copy without its password is made, in bytes."""

MAX_PIXELS = 16_000_000  # of an image
_MAX_SIDE = 16_000
_MAX_LOSSLESS_PIXELS = 300_000
_MAX_OUTLINE_ENTRIES = 2000
_TAIL_BYTES = 2048


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return the requested part of a PDF, or ``locked``, with ``wrong`` after a wrong password."""
    password = request.options.get("password")
    options = {name: each for name, each in request.options.items() if name != "password"}
    try:
        opened = open_pdf(file, password)
    except LockedPdfError:
        if options:
            raise
        return {"locked": True, "wrong": bool(password)}
    with opened as pdf:
        return _respond(pdf, file, request)


def _respond(pdf: pypdfium2.PdfDocument, file: BinaryIO, request: PreviewRequest) -> Preview:
    options = request.options
    if "unlocked" in options:
        return _unlocked_copy(pdf, request.size)
    if "thumb" in options:
        return _thumbnail(pdf, request.int_option("thumb", 320, minimum=16, maximum=1280))
    if "page" in options:
        return _page_image(pdf, request.int_option("page"), request)
    if "text" in options:
        return read_text(pdf, request.int_option("text"))
    if "find" in options:
        case = options.get("match_case") == "1"
        return search_text(pdf, options["find"], request.int_option("start"), case)
    if "outline" in options:
        return {"outline": list(_outline(pdf))}
    if "sizes" in options:
        return {"sizes": _sizes(pdf, request.int_option("sizes"))}
    return _metadata(pdf, file, request.size)


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
    """Yield title, page and level of the entries that link to a page."""
    for at, entry in enumerate(pdf.get_toc(max_depth=8)):
        if at >= _MAX_OUTLINE_ENTRIES:
            return
        dest = entry.get_dest()
        page = dest.get_index() if dest else None
        if page is not None and page < len(pdf):
            yield entry.get_title()[:300], page, entry.level


def _page_image(pdf: pypdfium2.PdfDocument, at: int, request: PreviewRequest) -> BinaryPreview:
    """Render a page ``width`` pixels wide or less, cropped to ``clip=x,y,w,h``."""
    page = page_to_render(pdf, at)
    width, height = (max(1.0, side) for side in page.get_size())
    scale = request.int_option("width", 800, minimum=1, maximum=200_000) / width
    clip = _clip(request.options.get("clip", ""))
    if clip is None:
        scale = min(scale, math.sqrt(MAX_PIXELS / (width * height)))
        scale = min(scale, _MAX_SIDE / max(width, height))
        clip = (0, 0, math.ceil(width * scale), math.ceil(height * scale))
    page_size = (round(width * scale), round(height * scale))
    return _encode(render_clip(pdf, page, page_size, clip))


def _thumbnail(pdf: pypdfium2.PdfDocument, max_side: int) -> BinaryPreview:
    """Render a thumbnail of the first page."""
    page = page_to_render(pdf, 0)
    width, height = (max(1.0, side) for side in page.get_size())
    scale = max_side / max(width, height)
    page_size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return _encode(render_clip(pdf, page, page_size, (0, 0, *page_size)))


def _clip(text: str) -> tuple[int, int, int, int] | None:
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError:
        return None
    valid = 0 < width * height <= MAX_PIXELS and width > 0
    return (max(0, x), max(0, y), width, height) if valid else None


def _encode(image: Image.Image) -> BinaryPreview:
    """Encode losslessly if grey, as most text is: fast and small."""
    out = io.BytesIO()
    red, green, blue = image.split()
    if not (
        ImageChops.difference(red, green).getbbox() or ImageChops.difference(red, blue).getbbox()
    ):
        green.save(out, "PNG", compress_level=3)
        return BinaryPreview(out.getvalue(), "image/png")
    if image.width * image.height <= _MAX_LOSSLESS_PIXELS:
        image.save(out, "PNG", compress_level=1)
        return BinaryPreview(out.getvalue(), "image/png")
    image.save(out, "JPEG", quality=93, subsampling=0)
    return BinaryPreview(out.getvalue(), "image/jpeg")
