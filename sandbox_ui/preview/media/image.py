"""Images: metadata, thumbnails and conversion for browsers."""

from typing import BinaryIO

from PIL import Image
from PIL.ImageFile import ImageFile

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.media.thumbnail import encode_image, open_image, scale_down, upright_size

THUMBNAIL_SIZES = (96, 160, 320, 640, 1280)
"""Thumbnail sizes: maximum width or height in pixels."""

MAX_ORIGINAL_PIXELS = 60_000_000
"""Maximum pixels for which the browser receives the original file."""

MAX_CONVERTED_SIDE = 4096
MAX_FRAMES = 1000
_MAX_ORIGINAL_BYTES = 40 * 1024**2
_MAX_COUNTED_BYTES = 32 * 1024**2
_TAIL_BYTES = 64 * 1024
_BROWSER_FORMATS = {"PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "AVIF"}
_BROWSER_EXTENSIONS = {"png", "jpg", "jpeg", "gif", "webp", "avif", "bmp"}
_PAGE_NOUNS = {"TIFF": "page", "ICO": "size", "CUR": "size"}
_END_MARKERS = {"PNG": b"IEND", "JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "GIF": b"\x3b"}
_MODES = {
    "1": "black and white", "L": "grey", "LA": "grey", "La": "grey", "P": "palette",
    "PA": "palette", "RGB": "RGB", "RGBA": "RGBA", "RGBX": "RGB", "RGBa": "RGBA",
    "I": "grey, 32 bit", "F": "grey, floating point",
}  # fmt: skip


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return metadata, a thumbnail (``thumb``) or one frame in full size (``frame``).

    ``original`` returns the file's bytes with its actual media type, for a misleading name.
    """
    image = open_image(file)
    try:
        if "thumb" in request.options:
            max_side = request.int_option("thumb", 320)
            max_side = next(
                (size for size in THUMBNAIL_SIZES if size >= max_side), THUMBNAIL_SIZES[-1]
            )
            return encode_image(scale_down(image, max_side))
        if "frame" in request.options:
            _select_frame(image, request.int_option("frame", 0))
            return encode_image(scale_down(image, MAX_CONVERTED_SIDE), lossless=True)
        if "original" in request.options and image.format in _BROWSER_FORMATS:
            file.seek(0)
            return BinaryPreview(file.read(_MAX_ORIGINAL_BYTES), Image.MIME[str(image.format)])
        return JsonPreview(_metadata(image, file, request))
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise PreviewError(f"This image cannot be decoded: {str(error)[:200]}.") from error


def _metadata(image: ImageFile, file: BinaryIO, request: PreviewRequest) -> dict[str, object]:
    width, height = upright_size(image)
    name = {"MPO": "JPEG", "DIB": "BMP"}.get(str(image.format), str(image.format))
    pages = _pages(image)
    return {
        "width": width,
        "height": height,
        "format": name,
        "mode": _mode(image),
        "alpha": image.has_transparency_data,
        "pages": pages,
        "page_noun": _PAGE_NOUNS.get(name, "") if len(pages) > 1 else "",
        "frames": _frames(image, request.size),
        "source": _source(image, request),
        "browser_displays": image.format in _BROWSER_FORMATS
        and request.extension in _BROWSER_EXTENSIONS,
        "max_converted_side": MAX_CONVERTED_SIDE,
        "truncated": _is_truncated(image, file, request.size),
    }


def _source(image: ImageFile, request: PreviewRequest) -> str:
    """Return the image source: ``raw`` file, ``original`` bytes or ``converted`` copy."""
    if image.format not in _BROWSER_FORMATS or image.width * image.height > MAX_ORIGINAL_PIXELS:
        return "converted"
    if request.extension in _BROWSER_EXTENSIONS:
        return "raw"
    return "original" if request.size <= _MAX_ORIGINAL_BYTES else "converted"


def _mode(image: ImageFile) -> str:
    is_16_bit = ";16" in image.mode or any(";16" in str(tile.args) for tile in image.tile[:1])
    mode = _MODES.get(image.mode, "grey" if image.mode.startswith("I;16") else image.mode)
    return f"{mode}, 16 bit" if is_16_bit else mode


def _pages(image: ImageFile) -> list[list[int]]:
    """Return the sizes of TIFF pages or icon images, limited to ``MAX_FRAMES``."""
    if image.format in ("ICO", "CUR"):
        return [list(each) for each in sorted(image.info.get("sizes", ()), reverse=True)]
    if image.format != "TIFF":
        return []
    sizes = []
    try:
        for at in range(MAX_FRAMES):
            image.seek(at)
            sizes.append(list(upright_size(image)))
    except (EOFError, OSError, ValueError, SyntaxError):
        pass
    image.seek(0)
    return sizes


def _frames(image: ImageFile, size: int) -> int:
    """Return the number of animation frames; 1 for a still image, 0 if not counted."""
    if image.format in ("TIFF", "ICO", "CUR", "MPO"):
        return 1
    if not getattr(image, "is_animated", False):
        return 1
    return int(getattr(image, "n_frames", 1)) if size <= _MAX_COUNTED_BYTES else 0


def _select_frame(image: ImageFile, at: int) -> None:
    if image.format in ("ICO", "CUR"):
        sizes = sorted(image.info.get("sizes", ()), reverse=True)
        if at < len(sizes):
            image.size = sizes[at]  # type: ignore[misc]
    elif at:
        try:
            image.seek(at)
        except EOFError:
            raise PreviewError("This image has no such page.") from None


def _is_truncated(image: ImageFile, file: BinaryIO, size: int) -> bool:
    """Return whether an image is truncated; it is decoded only if its end marker is missing."""
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    end = _END_MARKERS.get(str(image.format))
    if end is None or end in tail:
        return False
    image.draft("RGB", (64, 64))
    try:
        image.load()
    except (OSError, SyntaxError, ValueError):
        return True
    return False
