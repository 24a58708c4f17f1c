"""Rendering of PDF pages as images, with limits on size and time."""

import ctypes
import io
import math
import time

import pypdfium2
from PIL import Image, ImageChops
from pypdfium2 import raw

from sandbox_ui.preview.base import BinaryPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.documents.pdf_text import open_page

MAX_PIXELS = 16_000_000
"""Maximum pixels of an image."""

TIMEOUT_SECONDS = 8.0
"""Time limit for rendering a page, in seconds."""

_MAX_SIDE = 16_000
_MAX_LOSSLESS_PIXELS = 300_000
_WHITE = (255, 255, 255, 255)
_CLIP = 4


def render_page(pdf: pypdfium2.PdfDocument, at: int, request: PreviewRequest) -> BinaryPreview:
    """Render a page ``width`` pixels wide or less, cropped to ``clip=x,y,w,h``."""
    page = _page(pdf, at)
    width, height = (max(1.0, side) for side in page.get_size())
    scale = request.int_option("width", 800, minimum=1, maximum=200_000) / width
    clip = _clip(request.options.get("clip", ""))
    if clip is None:
        scale = min(scale, math.sqrt(MAX_PIXELS / (width * height)))
        scale = min(scale, _MAX_SIDE / max(width, height))
        clip = (0, 0, math.ceil(width * scale), math.ceil(height * scale))
    page_size = (round(width * scale), round(height * scale))
    return _encode(_render_clip(pdf, page, page_size, clip))


def render_thumbnail(pdf: pypdfium2.PdfDocument, max_side: int) -> BinaryPreview:
    """Render a thumbnail of the first page."""
    page = _page(pdf, 0)
    width, height = (max(1.0, side) for side in page.get_size())
    scale = min(max(max_side, 16), 1280) / max(width, height)
    page_size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return _encode(_render_clip(pdf, page, page_size, (0, 0, *page_size)))


def _page(pdf: pypdfium2.PdfDocument, at: int) -> pypdfium2.PdfPage:
    if pdf.get_formtype() != raw.FORMTYPE_NONE:
        pdf.init_forms()
    return open_page(pdf, at)


def _clip(text: str) -> tuple[int, int, int, int] | None:
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError:
        return None
    valid = 0 < width * height <= MAX_PIXELS and width > 0
    return (max(0, x), max(0, y), width, height) if valid else None


def _render_clip(
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
    end = time.monotonic() + TIMEOUT_SECONDS
    pause = raw.IFSDK_PAUSE(version=1)
    callback = type(pause.NeedToPauseNow)(lambda _pause: int(time.monotonic() > end))
    pause.NeedToPauseNow = callback
    status = raw.FPDF_RenderPageBitmap_Start(bitmap, page, *position, flags, ctypes.byref(pause))
    raw.FPDF_RenderPage_Close(page)
    if status == raw.FPDF_RENDER_TOBECONTINUED:
        raise PreviewError(f"Rendering this page takes longer than {TIMEOUT_SECONDS:.0f} seconds.")
    if status == raw.FPDF_RENDER_FAILED:
        raise PreviewError("This page cannot be rendered; it is damaged.")
    if pdf.formenv:
        raw.FPDF_FFLDraw(pdf.formenv, bitmap, page, *position, flags)
    image: Image.Image = bitmap.to_pil()
    return image.convert("RGB")


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
