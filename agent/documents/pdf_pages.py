"""Draws pages of PDFs, only in a separate process: a hostile file may crash the library."""

import ctypes
import time
from typing import BinaryIO

import pypdfium2
from PIL import Image
from pypdfium2 import raw

from agent.documents.drawing_error import DrawingError

RENDERING_TIMEOUT_SECONDS = 8.0
_WHITE = (255, 255, 255, 255)
_LOCKED = "This PDF is protected with a password."
_PROTECTED = "This PDF is protected in an unsupported way."
_UNREADABLE = "This PDF cannot be read; it is damaged, truncated or has no pages."


class LockedPdfError(DrawingError):
    """The PDF needs another password."""


def open_pdf(file: BinaryIO, password: str | None = None) -> pypdfium2.PdfDocument:
    """Open a PDF."""
    try:
        return pypdfium2.PdfDocument(file, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise LockedPdfError(_LOCKED) from error
        protected = error.err_code == raw.FPDF_ERR_SECURITY
        raise DrawingError(_PROTECTED if protected else _UNREADABLE) from error


def open_page(pdf: pypdfium2.PdfDocument, at: int) -> pypdfium2.PdfPage:
    """Return a page."""
    if at >= len(pdf):
        raise DrawingError("This PDF has no such page.")
    try:
        return pdf[at]
    except pypdfium2.PdfiumError:
        raise DrawingError("This page cannot be read; it is damaged.") from None


def page_to_render(pdf: pypdfium2.PdfDocument, at: int) -> pypdfium2.PdfPage:
    """Return a page with its form fields, to be rendered."""
    if pdf.get_formtype() != raw.FORMTYPE_NONE:
        pdf.init_forms()
    return open_page(pdf, at)


def render_clip(
    pdf: pypdfium2.PdfDocument,
    page: pypdfium2.PdfPage,
    page_size: tuple[int, int],
    clip: tuple[int, int, int, int],
) -> Image.Image:
    """Render ``clip`` of a page scaled to ``page_size``; PDFium polls for the time limit."""
    x, y, width, height = clip
    bitmap = pypdfium2.PdfBitmap.new_native(
        max(1, width), max(1, height), raw.FPDFBitmap_BGRx, rev_byteorder=True
    )
    bitmap.fill_rect(_WHITE, 0, 0, max(1, width), max(1, height))
    position = (-x, -y, max(1, page_size[0]), max(1, page_size[1]), 0)
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    end = time.monotonic() + RENDERING_TIMEOUT_SECONDS
    pause = raw.IFSDK_PAUSE(version=1)
    callback = type(pause.NeedToPauseNow)(lambda _pause: int(time.monotonic() > end))
    pause.NeedToPauseNow = callback
    status = raw.FPDF_RenderPageBitmap_Start(bitmap, page, *position, flags, ctypes.byref(pause))
    raw.FPDF_RenderPage_Close(page)
    if status == raw.FPDF_RENDER_TOBECONTINUED:
        raise DrawingError(
            f"Rendering this page takes longer than {RENDERING_TIMEOUT_SECONDS:.0f} seconds."
        )
    if status == raw.FPDF_RENDER_FAILED:
        raise DrawingError("This page cannot be rendered; it is damaged.")
    if pdf.formenv:
        raw.FPDF_FFLDraw(pdf.formenv, bitmap, page, *position, flags)
    image: Image.Image = bitmap.to_pil()
    return image.convert("RGB")
