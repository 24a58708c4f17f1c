"""SVG drawings, which the browser shows as images: it runs no scripts and loads nothing."""

from typing import BinaryIO

from agent.documents.svg import Drawing, read_svg
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return a drawing's size, features and ``error``; with ``thumb``, the drawing itself."""
    content = read_svg(file)
    drawing = Drawing(content)
    if "thumb" not in request.options:
        return drawing.describe()
    if drawing.error:
        raise PreviewError(drawing.error)
    return BinaryPreview(drawing.complete(content), "image/svg+xml")
