"""Draw or describe a file of each kind; only in the drawing process, for the files are hostile."""

import base64
import io
import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pypdfium2
import resvg_py
from PIL import Image

from agent.documents.drawing_error import DrawingError
from agent.documents.images import (
    TAIL_BYTES,
    color_mode,
    count_parts,
    format_name,
    lacks_end,
    open_image,
    part_noun,
    scale_down,
    select_frame,
    upright_size,
)
from agent.documents.pdf_pages import open_page, open_pdf, page_to_render, render_clip
from agent.documents.svg import Drawing as SvgDrawing
from agent.documents.svg import read_svg
from agent.util.text import plural
from agent.vision.raster import contact_sheet, describe_colours, encode
from agent.vision.request import (
    MAX_SHEET,
    MAX_TEXT,
    Drawing,
    DrawingRequest,
    Drawn,
    checked_range,
)

MAX_FRAMES = 10_000
_MAX_NOTEBOOK_PICTURES = 50
_SEPARATE_SECONDS = 8.0  # and one more page, which leaves time within the process's limit
_LOSSY = {"JPEG", "MPO"}
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT_OF_SVG = {"script", "foreignObject", "iframe", "audio", "video", "font-face-uri"}
_EMBEDDED = tuple(f"data:image/{each}" for each in ("png", "jpeg", "jpg", "gif", "webp"))
_FONTS = (
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Arial",
    "Helvetica",
    "Verdana",
    "FreeSans",
)
_PROBE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    '<text x="2" y="30" font-size="30" font-family="{font}">x</text></svg>'
)
_NO_TEXT = (
    "There is no text on {pages}: they may be scans. Where they are installed, `pdftoppm -r 200 "
    "-png` draws the pages and `tesseract` reads them."
)


def draw(data: bytes, request: DrawingRequest) -> Drawing:
    """Return what a model gets to see, or to read, of a file."""
    return _DRAW[request.kind](data, request)


def _image(data: bytes, request: DrawingRequest) -> Drawing:
    image = open_image(io.BytesIO(data))
    width, height = upright_size(image)
    about = f"{format_name(image)} picture, {width:,} × {height:,} pixels, {color_mode(image)}"
    if lacks_end(str(image.format), data[-TAIL_BYTES:]):
        about += ", truncated: what is missing is grey or black"
    count, noun = count_parts(image, MAX_FRAMES), part_noun(image)
    if count > 1:
        about += f", {plural(count, noun)}"
    wanted = _wanted(request, count, noun, usual=MAX_SHEET if noun == "frame" else 1)
    photo = image.format in _LOSSY
    tiles = []
    for at in wanted:
        select_frame(image, at - 1)
        frame = scale_down(image, request.limits.side)
        tiles.append((f"{noun} {at}", frame.copy()))
    if not request.draws:
        return Drawing(f"{about}. {describe_colours(tiles[0][1])}")
    drawn, shown = _picture(tiles, count, noun, request, photo=photo)
    return Drawing(f"{about}. {shown}".strip(), pictures=(drawn,))


def _wanted(request: DrawingRequest, count: int, noun: str, *, usual: int) -> list[int]:
    """Return which pages or frames to show: the range, or ``usual`` of them from all."""
    if request.view_range is None:
        if noun == "frame" and count > usual:
            return [1 + at * (count - 1) // (usual - 1) for at in range(usual)]
        return list(range(1, min(count, usual) + 1))
    first, last = checked_range(request.view_range, count, noun)
    return list(range(first, min(last, first + MAX_SHEET - 1) + 1))


def _picture(
    tiles: list[tuple[str, Image.Image]],
    count: int,
    noun: str,
    request: DrawingRequest,
    *,
    photo: bool = False,
) -> tuple[Drawn, str]:
    """Return one picture of some pages or frames, and a sentence on which they are."""
    if len(tiles) == 1:
        part = tiles[0][0] if count > 1 else ""
        more = f"You see {part}; view_range [FIRST, LAST] shows others." if part else ""
        return encode(tiles[0][1], request.limits, part=part, photo=photo), more
    first, last = (label.rpartition(" ")[2] for label, _ in (tiles[0], tiles[-1]))
    part = f"{noun}s {first}–{last}"
    sheet = contact_sheet(tiles, request.limits.side)
    which = f"{len(tiles)} {noun}s from {first} to {last}"
    return encode(sheet, request.limits, part=part, photo=photo), (
        f"You see {which} on one sheet, each below its number; view_range [N, N] shows one "
        "in full size."
    )


def _svg(data: bytes, request: DrawingRequest) -> Drawing:
    content = read_svg(io.BytesIO(data))
    drawing = SvgDrawing(content)
    if drawing.error:
        raise DrawingError(drawing.error)
    about = drawing.describe()
    width, height = float(str(about["width"])), float(str(about["height"]))
    remark = f"SVG drawing, {width:,.0f} × {height:,.0f} pixels"
    if about["external_resources"]:
        remark += "; what it links to is not loaded"
    if b"<text" in content and find_font() is None:
        remark += "; its text is not drawn, since the studio's machine has no fonts"
    picture = _rendered_svg(drawing, content, request.limits.side)
    if not request.draws:
        return Drawing(f"{remark}. {describe_colours(picture)}")
    return Drawing(f"{remark}.", pictures=(encode(picture, request.limits),))


def _rendered_svg(drawing: SvgDrawing, content: bytes, side: int) -> Image.Image:
    about = drawing.describe()
    width, height = float(str(about["width"])), float(str(about["height"]))
    content = drawing.complete(content)
    try:
        root = ET.fromstring(content)  # expat limits what entities expand to
    except ET.ParseError as error:
        raise DrawingError(f"This drawing cannot be read: {error}.") from None
    ET.register_namespace("", _SVG[1:-1])
    _strip(root)
    wide = width >= height
    longest = min(side, max(1, round(max(width, height) * max(1.0, 640 / max(width, height)))))
    text = ET.tostring(root, encoding="unicode")
    font = find_font() if b"<text" in content else None
    try:
        return _resvg(text, font, width=longest if wide else None, height=None if wide else longest)
    except ValueError as error:
        raise DrawingError(f"This drawing cannot be drawn: {str(error)[:200]}.") from None


def _resvg(svg: str, font: str | None, **size: int | None) -> Image.Image:
    """Draw an SVG; ``font`` stands for all families that are not installed."""
    png = resvg_py.svg_to_bytes(
        svg_string=svg,
        font_family=font,
        serif_family=font,
        sans_serif_family=font,
        monospace_family=font,
        cursive_family=font,
        fantasy_family=font,
        width=size.get("width"),
        height=size.get("height"),
    )
    return Image.open(io.BytesIO(bytes(png))).convert("RGBA")


@cache
def find_font() -> str | None:
    """Return a font that is installed; None if there is none of those looked for."""
    for font in _FONTS:
        drawn = _resvg(_PROBE.format(font=font), None)
        if drawn.getchannel("A").getbbox() is not None:
            return font
    return None


def _strip(root: ET.Element) -> None:
    """Remove scripts, pages and links to anything outside the drawing."""
    for parent in root.iter():
        for child in list(parent):
            tag = child.tag if isinstance(child.tag, str) else ""
            if tag.rpartition("}")[2] in _LEFT_OUT_OF_SVG or not tag:
                parent.remove(child)
        for name in ("href", _XLINK):
            link = parent.get(name, "").strip()
            if link and not link.startswith("#") and not link.lower().startswith(_EMBEDDED):
                del parent.attrib[name]


def _pdf(data: bytes, request: DrawingRequest) -> Drawing:
    with open_pdf(io.BytesIO(data)) as pdf:
        count = len(pdf)
        if not count:
            raise DrawingError("This PDF has no pages.")
        if request.separate:
            return _separate_pages(pdf, request)
        remark = f"PDF, {plural(count, 'page')}"
        pages = _wanted(request, count, "page", usual=MAX_SHEET if request.draws else count)
        if not request.draws:
            text, last = _pages_text(pdf, pages)
            none = "" if text else " " + _NO_TEXT.format(pages=_page_names(pages[0], last))
            return Drawing(f"{remark}; the text of {_page_names(pages[0], last)}.{none}", text)
        side = request.limits.side if len(pages) == 1 else request.limits.side // 2
        tiles = [(f"page {at}", _rendered_page(pdf, at - 1, side)) for at in pages]
        drawn, shown = _picture(tiles, count, "page", request)
        text = _pages_text(pdf, pages)[0] if len(pages) == 1 else ""
        return Drawing(f"{remark}. {shown}".strip(), text, (drawn,))


def _separate_pages(pdf: pypdfium2.PdfDocument, request: DrawingRequest) -> Drawing:
    """Return pages as pictures of their own, as many as can be drawn in time and are whole."""
    count = len(pdf)
    first, last = checked_range(request.view_range or (1, -1), count, "page")
    end, drawn = time.monotonic() + _SEPARATE_SECONDS, list[Drawn]()
    for at in range(first, last + 1):
        try:
            page = _rendered_page(pdf, at - 1, request.limits.side)
        except DrawingError:
            if not drawn:
                raise
            break
        drawn.append(encode(page, request.limits, part=f"page {at}" if count > 1 else ""))
        if time.monotonic() > end:
            break
    return Drawing(f"PDF, {plural(count, 'page')}.", pictures=tuple(drawn), count=count)


def _page_names(first: int, last: int) -> str:
    return f"page {first}" if first == last else f"pages {first} to {last}"


def _rendered_page(pdf: pypdfium2.PdfDocument, at: int, side: int) -> Image.Image:
    page = page_to_render(pdf, at)
    width, height = (max(1.0, each) for each in page.get_size())
    scale = side / max(width, height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    image = render_clip(pdf, page, size, (0, 0, *size))
    bands = image.split()
    return bands[0] if all(each.tobytes() == bands[0].tobytes() for each in bands[1:]) else image


def _pages_text(pdf: pypdfium2.PdfDocument, pages: list[int]) -> tuple[str, int]:
    """Return the text of pages, up to a limit, and the last of them; empty if there is none."""
    parts, size, last = [], 0, pages[0]
    for at in pages:
        try:
            text = open_page(pdf, at - 1).get_textpage().get_text_range().replace("\r\n", "\n")
        except (DrawingError, pypdfium2.PdfiumError):
            text = ""
        last = at
        if text.strip():
            parts.append(f"--- page {at} ---\n{text.strip()}")
            size += len(text)
        if size >= MAX_TEXT:
            break
    text = "\n".join(parts)
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[cut off here; view_range names pages]"
    return text, last


def _notebook(data: bytes, request: DrawingRequest) -> Drawing:
    try:
        cells = json.loads(data)["cells"]
        found = list(_notebook_pictures(cells))[:_MAX_NOTEBOOK_PICTURES]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DrawingError("This notebook cannot be read.") from None
    tiles = []
    for cell, media_type, content in found[:MAX_SHEET]:
        try:
            image = _output_image(media_type, content, request.limits.side)
        except (DrawingError, OSError, SyntaxError, ValueError, EOFError):
            continue
        tiles.append((f"cell {cell}", image))
    if not tiles or not request.draws:
        return Drawing(f"notebook with {plural(len(found), 'picture')} in its outputs.")
    if len(tiles) == 1:
        drawn = encode(tiles[0][1], request.limits, part=tiles[0][0])
        return Drawing(f"You see the picture of {tiles[0][0]}, from 1.", pictures=(drawn,))
    sheet = encode(contact_sheet(tiles, request.limits.side), request.limits, part="outputs")
    return Drawing(
        f"You see {len(tiles)} of {plural(len(found), 'picture')} in its outputs on one sheet, "
        "each below the number of its cell, from 1.",
        pictures=(sheet,),
    )


def _notebook_pictures(cells: Any) -> Iterator[tuple[int, str, str]]:
    for number, cell in enumerate(cells, 1):
        for output in cell.get("outputs") or ():
            data = output.get("data") or {}
            for media_type in ("image/png", "image/jpeg", "image/svg+xml"):
                content = data.get(media_type)
                text = "".join(content) if isinstance(content, list) else content
                if isinstance(text, str) and text:
                    yield number, media_type, text
                    break


def _output_image(media_type: str, content: str, side: int) -> Image.Image:
    if media_type == "image/svg+xml":
        drawing = SvgDrawing(raw := content.encode())
        if drawing.error:
            raise DrawingError(drawing.error)
        return _rendered_svg(drawing, raw, side)
    image = open_image(io.BytesIO(base64.b64decode(content)))
    return scale_down(image, side).copy()


_DRAW: dict[str, Callable[[bytes, DrawingRequest], Drawing]] = {
    "image": _image,
    "svg": _svg,
    "pdf": _pdf,
    "notebook": _notebook,
}
