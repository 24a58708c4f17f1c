"""Word documents as sanitised HTML."""

import base64
import io
import re
import xml.dom.expatbuilder  # noqa: F401 - what parses imports it only when it is too late
import zipfile
from typing import Any, BinaryIO

import mammoth

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.sanitise import clean, has_content
from sandbox_ui.preview.zip_guard import has_content_type, open_office_zip

MAX_UNPACKED_BYTES = 400 * 1024**2
MAX_XML_BYTES = 24 * 1024**2
"""Maximum bytes of its text with markup; parsing more takes too long."""

MAX_IMAGE_BYTES = 4 * 1024**2
MAX_TOTAL_IMAGE_BYTES = 16 * 1024**2
MAX_HTML_LENGTH = 24_000_000
_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
_WORDS = re.compile(r"\w+")
_MARKUP = re.compile(r"<[^<>]*>")
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p > em:fresh
p[style-name='Quote'] => blockquote > p:fresh
p[style-name='Intense Quote'] => blockquote > p:fresh
p[style-name='Caption'] => p > small:fresh
u => u
"""


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return ``html``, the ``word_count`` and the number of ``omitted`` images."""
    archive = open_office_zip(file, MAX_UNPACKED_BYTES, "Word document", ".doc", _is_document)
    parts = (each for each in archive.infolist() if _is_text(each.filename))
    if max((each.file_size for each in parts), default=0) > MAX_XML_BYTES:
        raise PreviewError(f"The text of this document is larger than {MAX_XML_BYTES >> 20} MB.")
    file.seek(0)
    content = io.BytesIO(file.read(request.size))  # mammoth takes a file's number for a path
    images = _ImageEmbedder()
    converted = mammoth.convert_to_html(
        content, convert_image=mammoth.images.img_element(images), style_map=_STYLES
    )
    html = clean(converted.value)
    if len(html) > MAX_HTML_LENGTH:
        raise PreviewError("This document is too large to be shown.")
    return {
        "html": html,
        "word_count": len(_WORDS.findall(_MARKUP.sub(" ", html))),
        "omitted": images.omitted,
        "empty": not has_content(html),
    }


class _ImageEmbedder:
    """Embeds images in the HTML up to a total size."""

    def __init__(self) -> None:
        self.omitted = 0
        self._left = MAX_TOTAL_IMAGE_BYTES

    def __call__(self, image: Any) -> dict[str, str]:
        """Return the attributes of an image element."""
        alt = str(image.alt_text or "picture")
        if image.content_type in _IMAGE_TYPES:
            with image.open() as opened:
                content = opened.read(MAX_IMAGE_BYTES + 1)
            if len(content) <= min(MAX_IMAGE_BYTES, self._left):
                self._left -= len(content)
                encoded = base64.b64encode(content).decode()
                return {"src": f"data:{image.content_type};base64,{encoded}", "alt": alt}
        self.omitted += 1
        return {"src": "", "alt": alt}


def _is_document(archive: zipfile.ZipFile) -> bool:
    main_type = b"wordprocessingml.document.main"
    return "word/document.xml" in archive.namelist() or has_content_type(archive, main_type)


def _is_text(name: str) -> bool:
    return name.startswith("word/") and name.endswith(".xml")
