"""PowerPoint slides as positioned boxes: text, tables, images and notes."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewRequest
from sandbox_ui.preview.zip_guard import open_office_zip

MAX_UNPACKED_BYTES = 600 * 1024**2
MAX_PAGE_SLIDES = 20  # per response
MAX_IMAGE_BYTES = 24 * 1024**2
_MAX_SHAPES = 200
_MAX_TEXT_LENGTH = 5000
_MAX_CELLS = 400
_MAX_GROUP_DEPTH = 6
_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
_READ_ERRORS = (SyntaxError, KeyError, IndexError, ValueError, TypeError, AttributeError, OSError)
_Box = dict[str, Any]


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return slides from ``start`` on, or an ``image``: ``slide,shape,nested shape…``."""
    open_office_zip(file, MAX_UNPACKED_BYTES, "presentation", ".ppt", _is_presentation)
    file.seek(0)
    deck = Presentation(file)
    slides = list(deck.slides)
    if "image" in request.options:
        return _slide_image(slides, request.options["image"])
    return _slides_response(deck, slides, request.int_option("start"))


def _is_presentation(archive: zipfile.ZipFile) -> bool:
    return any(posixpath.dirname(name) == "ppt" for name in archive.namelist())


def _slides_response(deck: Any, slides: list[Any], start: int) -> Preview:
    width, height = int(deck.slide_width or 12192000), int(deck.slide_height or 6858000)
    page = slides[start : start + MAX_PAGE_SLIDES]
    return {
        "start": start,
        "total": len(slides),
        "aspect_ratio": min(max(width / height, 0.3), 4.0),
        "slides": [_slide(slide, at, width, height) for at, slide in enumerate(page, start)],
    }


def _slide(slide: Any, at: int, width: int, height: int) -> dict[str, Any]:
    boxes: list[_Box] = []
    shown = {"title": "", "boxes": boxes, "notes": "", "hidden": False, "broken": False}
    try:
        if slide.shapes.title is not None:
            shown["title"] = slide.shapes.title.text_frame.text[:200]
        for path, shape in _shapes(slide.shapes, ()):
            if len(boxes) < _MAX_SHAPES and (box := _box(shape, [at, *path], width, height)):
                boxes.append(box)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        shown["notes"] = notes.text[:_MAX_TEXT_LENGTH].strip() if notes is not None else ""
    except _READ_ERRORS:
        return {**shown, "broken": True}
    return {**shown, "hidden": slide._element.get("show") in ("0", "false")}


def _shapes(shapes: Any, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield all shapes, including those in groups, with their index paths."""
    for at, shape in enumerate(shapes):
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            if len(path) < _MAX_GROUP_DEPTH:
                yield from _shapes(shape.shapes, (*path, at))
        else:
            yield (*path, at), shape


def _box(shape: Any, path: list[int], width: int, height: int) -> _Box | None:
    """Return a shape's content and position in percent; None if it is empty."""
    content = _content(shape, path)
    if content is None:
        return None
    sides = ((shape.left, width), (shape.top, height), (shape.width, width), (shape.height, height))
    if any(side is None for side, _ in sides):
        return {**content, "position": None}
    percents = (min(max(100 * side / whole, -100.0), 200.0) for side, whole in sides)
    return {**content, "position": [round(each, 2) for each in percents]}


def _content(shape: Any, path: list[int]) -> _Box | None:
    image = _image_of(shape)
    if image is not None:
        displayable = image.content_type in _IMAGE_TYPES and len(image.blob) <= MAX_IMAGE_BYTES
        name, place = str(shape.name or "")[:100], ",".join(map(str, path))
        return {"kind": "image", "path": place, "displayable": displayable, "name": name}
    if getattr(shape, "has_table", False):
        rows = [[cell.text[:500] for cell in row.cells] for row in shape.table.rows]
        return {"kind": "table", "rows": rows[: max(1, _MAX_CELLS // max(len(rows[0]), 1))]}
    if getattr(shape, "has_chart", False):
        return {"kind": "other", "name": "chart"}
    if getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
        return {"kind": "text", "title": _is_title(shape), "lines": list(_lines(shape))}
    return None


def _image_of(shape: Any) -> Any:
    try:
        return shape.image
    except (AttributeError, KeyError, ValueError):
        return None


def _is_title(shape: Any) -> bool:
    return bool(shape.is_placeholder) and shape.placeholder_format.type in (1, 3)


def _lines(shape: Any) -> Iterator[list[Any]]:
    """Yield paragraphs as ``[level, font size in points, weight, text]``."""
    left = _MAX_TEXT_LENGTH
    for paragraph in shape.text_frame.paragraphs:
        text = paragraph.text.replace("\v", "\n")[:left]
        left -= len(text)
        sizes = [run.font.size.pt for run in paragraph.runs if run.font.size]
        bold = any(run.font.bold for run in paragraph.runs)
        yield [paragraph.level, max(sizes, default=0), bold, text]
        if left <= 0:
            return


def _slide_image(slides: list[Any], path_text: str) -> BinaryPreview:
    at, *path = [int(part) for part in path_text.split(",")]
    shapes: Any = slides[at].shapes
    for step in path[:-1]:
        shapes = list(shapes)[step].shapes
    image = list(shapes)[path[-1]].image
    if image.content_type not in _IMAGE_TYPES or len(image.blob) > MAX_IMAGE_BYTES:
        raise ValueError("This image cannot be displayed.")
    return BinaryPreview(image.blob, image.content_type)
