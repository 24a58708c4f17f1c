"""Word documents as sanitised HTML."""

import base64
import io
import re
import xml.dom.expatbuilder  # noqa: F401 - what parses imports it only when it is too late
import zipfile
from typing import Any, BinaryIO
from xml.parsers.expat import ExpatError

import mammoth

from agent.documents.signatures import OLE_SIGNATURE, is_encrypted_office
from sandbox_ui.preview.base import JsonPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.sanitise import clean, has_content
from sandbox_ui.preview.zip_guard import is_open_document, open_checked_zip

MAX_FILE_BYTES = 200 * 1024**2
"""Largest document, in bytes."""

MAX_UNPACKED_BYTES = 400 * 1024**2
"""Maximum unpacked size of a document, in bytes."""

MAX_XML_BYTES = 24 * 1024**2
"""Maximum bytes of its text with markup; parsing more takes too long."""

MAX_IMAGE_BYTES = 4 * 1024**2
"""Maximum bytes of one image."""

MAX_TOTAL_IMAGE_BYTES = 16 * 1024**2
"""Maximum bytes of all images."""

MAX_HTML_LENGTH = 24_000_000
_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
_READ_ERRORS = (
    KeyError, IndexError, ValueError, AttributeError, OSError, zipfile.BadZipFile, ExpatError,
)  # fmt: skip
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
_MAIN_PART = "word/document.xml"


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return ``html``, the ``word_count`` and the number of ``omitted`` images."""
    head = file.read(4)
    if not head:
        raise PreviewError("This document is empty.")
    if head == OLE_SIGNATURE:
        raise PreviewError(_legacy_format_message(file))
    archive = open_checked_zip(file, MAX_UNPACKED_BYTES)
    if _MAIN_PART not in archive.namelist() and not _is_document(archive):
        if is_open_document(archive):
            raise PreviewError("This is an OpenDocument file, which cannot be shown; download it.")
        raise PreviewError("This is not a Word document, despite its name.")
    size = max(
        (each.file_size for each in archive.infolist() if _is_text(each.filename)), default=0
    )
    if size > MAX_XML_BYTES:
        raise PreviewError(f"The text of this document is larger than {MAX_XML_BYTES >> 20} MB.")
    if request.size > MAX_FILE_BYTES:
        raise PreviewError(f"Documents larger than {MAX_FILE_BYTES >> 20} MB are not shown.")
    file.seek(0)
    content = io.BytesIO(
        file.read(MAX_FILE_BYTES)
    )  # mammoth takes a file's integer name for a path
    images = _ImageEmbedder()
    try:
        converted = mammoth.convert_to_html(
            content, convert_image=mammoth.images.img_element(images), style_map=_STYLES
        )
    except _READ_ERRORS:
        raise PreviewError("This document is damaged or truncated.") from None
    html = clean(converted.value)
    if len(html) > MAX_HTML_LENGTH:
        raise PreviewError("This document is too large to be shown.")
    word_count = len(_WORDS.findall(_MARKUP.sub(" ", html)))
    return JsonPreview(
        {
            "html": html,
            "word_count": word_count,
            "omitted": images.omitted,
            "empty": not has_content(html),
        }
    )


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
    """Return whether the content types declare a main document part elsewhere."""
    try:
        return b"wordprocessingml.document.main" in archive.read("[Content_Types].xml")
    except (KeyError, zipfile.BadZipFile, RuntimeError, OSError):
        return False


def _is_text(name: str) -> bool:
    return name.startswith("word/") and name.endswith(".xml")


def _legacy_format_message(file: BinaryIO) -> str:
    if is_encrypted_office(file):
        return "This document is protected with a password and cannot be shown."
    return "This is a document in an old format (.doc), which cannot be shown; download it."
