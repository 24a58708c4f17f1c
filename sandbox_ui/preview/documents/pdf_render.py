"""Rendering of PDF pages as images, with limits on size and time."""

import ctypes
import io
import math
import time

import pypdfium2
from PIL import Image, ImageChops
from pypdfium2 import raw

from sandbox_ui.preview.base import Ask, Picture, Unreadable

MOST_PIXELS = 16_000_000
"""Maximum pixels of an image."""

SECONDS = 8.0
"""Time limit for rendering a page, in seconds."""

_LONGEST_SIDE = 16_000
_FEW_PIXELS = 300_000
_WHITE = (255, 255, 255, 255)
_CLIP = 4


def drawn(pdf: pypdfium2.PdfDocument, at: int, ask: Ask) -> Picture:
    """Render a page ``width`` pixels wide or less, cropped to ``clip=x,y,w,h``.

    Raises:
        Unreadable: The page does not exist, is corrupt, or took too long.
    """
    page = _page(pdf, at)
    width, height = (max(1.0, side) for side in page.get_size())
    wanted = ask.number("width", 800, least=1, most=200_000) / width
    clip = _clip(ask.options.get("clip", ""))
    if clip is None:
        wanted = min(wanted, math.sqrt(MOST_PIXELS / (width * height)))
        wanted = min(wanted, _LONGEST_SIDE / max(width, height))
        clip = (0, 0, math.ceil(width * wanted), math.ceil(height * wanted))
    whole = (round(width * wanted), round(height * wanted))
    return _encoded(_rendered(pdf, page, whole, clip))


def thumb(pdf: pypdfium2.PdfDocument, most: int) -> Picture:
    """Render a thumbnail of the first page.

    Raises:
        Unreadable: The page cannot be rendered.
    """
    page = _page(pdf, 0)
    width, height = (max(1.0, side) for side in page.get_size())
    scale = min(max(most, 16), 1280) / max(width, height)
    whole = (max(1, round(width * scale)), max(1, round(height * scale)))
    return _encoded(_rendered(pdf, page, whole, (0, 0, *whole)))


def _page(pdf: pypdfium2.PdfDocument, at: int) -> pypdfium2.PdfPage:
    if at >= len(pdf):
        raise Unreadable("There is no such page in this PDF.")
    if pdf.get_formtype() != raw.FORMTYPE_NONE:
        pdf.init_forms()
    try:
        return pdf[at]
    except pypdfium2.PdfiumError:
        raise Unreadable("This page cannot be read; it is broken.") from None


def _clip(text: str) -> tuple[int, int, int, int] | None:
    try:
        x, y, width, height = (int(part) for part in text.split(","))
    except ValueError:
        return None
    inside = 0 < width * height <= MOST_PIXELS and width > 0
    return (max(0, x), max(0, y), width, height) if inside else None


def _rendered(
    pdf: pypdfium2.PdfDocument,
    page: pypdfium2.PdfPage,
    whole: tuple[int, int],
    clip: tuple[int, int, int, int],
) -> Image.Image:
    """Render ``clip`` of a page scaled to ``whole``; PDFium polls for the time limit."""
    x, y, width, height = clip
    bitmap = pypdfium2.PdfBitmap.new_native(
        max(1, width), max(1, height), raw.FPDFBitmap_BGRx, rev_byteorder=True
    )
    bitmap.fill_rect(_WHITE, 0, 0, max(1, width), max(1, height))
    place = (-x, -y, max(1, whole[0]), max(1, whole[1]), 0)
    flags = raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER
    end = time.monotonic() + SECONDS
    pause = raw.IFSDK_PAUSE(version=1)
    asked = type(pause.NeedToPauseNow)(lambda _pause: int(time.monotonic() > end))
    pause.NeedToPauseNow = asked
    status = raw.FPDF_RenderPageBitmap_Start(bitmap, page, *place, flags, ctypes.byref(pause))
    raw.FPDF_RenderPage_Close(page)
    if status == raw.FPDF_RENDER_TOBECONTINUED:
        raise Unreadable(f"Drawing this page takes longer than {SECONDS:.0f} seconds.")
    if status == raw.FPDF_RENDER_FAILED:
        raise Unreadable("This page cannot be drawn; it is broken.")
    if pdf.formenv:
        raw.FPDF_FFLDraw(pdf.formenv, bitmap, page, *place, flags)
    image: Image.Image = bitmap.to_pil()
    return image.convert("RGB")


def _encoded(image: Image.Image) -> Picture:
    """Encode losslessly if grey, as most text is: fast and small."""
    out = io.BytesIO()
    red, green, blue = image.split()
    if not (
        ImageChops.difference(red, green).getbbox() or ImageChops.difference(red, blue).getbbox()
    ):
        green.save(out, "PNG", compress_level=3)
        return Picture(out.getvalue(), "image/png")
    if image.width * image.height <= _FEW_PIXELS:
        image.save(out, "PNG", compress_level=1)
        return Picture(out.getvalue(), "image/png")
    image.save(out, "JPEG", quality=93, subsampling=0)
    return Picture(out.getvalue(), "image/jpeg")
