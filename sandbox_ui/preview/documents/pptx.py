"""PowerPoint slides as positioned boxes: text, tables, images and notes."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.exc import PackageNotFoundError

from agent.documents.signatures import OLE_SIGNATURE, is_encrypted_office
from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.zip_guard import is_open_document, open_checked_zip

MAX_FILE_BYTES = 300 * 1024**2
"""Largest presentation, in bytes."""

MAX_UNPACKED_BYTES = 600 * 1024**2
"""Maximum unpacked size, in bytes."""

MAX_PAGE_SLIDES = 20
"""Maximum slides per response."""

MAX_IMAGE_BYTES = 24 * 1024**2
"""Maximum bytes of one image."""

_MAX_SHAPES = 200
_MAX_TEXT_LENGTH = 5000
_MAX_CELLS = 400
_MAX_GROUP_DEPTH = 6
_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
_READ_ERRORS = (
    PackageNotFoundError,
    SyntaxError,
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    OSError,
    zipfile.BadZipFile,
)
_Box = dict[str, Any]


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return slides from ``start`` on, or an image.

    ``image`` is ``slide,shape,nested shape…``.
    """
    head = file.read(4)
    if not head:
        raise PreviewError("This presentation is empty.")
    if head == OLE_SIGNATURE:
        raise PreviewError(_legacy_format_message(file))
    if request.size > MAX_FILE_BYTES:
        raise PreviewError(f"Presentations larger than {MAX_FILE_BYTES >> 20} MB are not shown.")
    archive = open_checked_zip(file, MAX_UNPACKED_BYTES)
    if not any(posixpath.dirname(name) == "ppt" for name in archive.namelist()):
        if is_open_document(archive):
            raise PreviewError("This is an OpenDocument file, which cannot be shown; download it.")
        raise PreviewError("This is not a presentation, despite its name.")
    file.seek(0)
    try:
        deck = Presentation(file)
        slides = list(deck.slides)
        if "image" in request.options:
            return _slide_image(slides, request.options["image"])
        return _slides_response(deck, slides, request.int_option("start", 0))
    except _READ_ERRORS:
        raise PreviewError("This presentation is damaged or truncated.") from None


def _slides_response(deck: Any, slides: list[Any], start: int) -> JsonPreview:
    width, height = int(deck.slide_width or 12192000), int(deck.slide_height or 6858000)
    shown = [
        _slide(slide, at, width, height)
        for at, slide in enumerate(slides[start : start + MAX_PAGE_SLIDES], start)
    ]
    return JsonPreview(
        {
            "start": start,
            "total": len(slides),
            "aspect_ratio": _clamp_ratio(width / height),
            "slides": shown,
        }
    )


def _clamp_ratio(ratio: float) -> float:
    return min(max(ratio, 0.3), 4.0)


def _slide(slide: Any, at: int, width: int, height: int) -> dict[str, Any]:
    boxes: list[_Box] = []
    title = ""
    try:
        title = slide.shapes.title.text_frame.text if slide.shapes.title is not None else ""
        for path, shape in _shapes(slide.shapes, ()):
            if len(boxes) < _MAX_SHAPES and (box := _box(shape, [at, *path], width, height)):
                boxes.append(box)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        notes_text = notes.text[:_MAX_TEXT_LENGTH] if notes is not None else ""
    except _READ_ERRORS:
        return {"title": title[:200], "boxes": boxes, "notes": "", "hidden": False, "broken": True}
    hidden = slide._element.get("show") in ("0", "false")
    return {
        "title": title[:200],
        "boxes": boxes,
        "notes": notes_text.strip(),
        "hidden": hidden,
        "broken": False,
    }


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
    left, top, box_width, box_height = (shape.left, shape.top, shape.width, shape.height)
    if None in (left, top, box_width, box_height):
        return {**content, "position": None}
    position = [
        100 * left / width,
        100 * top / height,
        100 * box_width / width,
        100 * box_height / height,
    ]
    return {**content, "position": [round(min(max(part, -100.0), 200.0), 2) for part in position]}


def _content(shape: Any, path: list[int]) -> _Box | None:
    image = _image_of(shape)
    if image is not None:
        displayable = image.content_type in _IMAGE_TYPES and len(image.blob) <= MAX_IMAGE_BYTES
        name = str(shape.name or "")[:100]
        return {
            "kind": "image",
            "path": ",".join(map(str, path)),
            "displayable": displayable,
            "name": name,
        }
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
        raise ValueError
    return BinaryPreview(image.blob, image.content_type)


def _legacy_format_message(file: BinaryIO) -> str:
    if is_encrypted_office(file):
        return "This presentation is protected with a password and cannot be shown."
    return "This is a presentation in an old format (.ppt), which cannot be shown; download it."
