"""Images: metadata, thumbnails and conversion for browsers."""

import io
from typing import BinaryIO

from PIL import Image
from PIL.ImageFile import ImageFile

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
from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest

THUMBNAIL_SIZES = (96, 160, 320, 640, 1280)
MAX_ORIGINAL_PIXELS = 60_000_000
"""Maximum pixels for which the browser receives the original file."""

MAX_CONVERTED_SIDE = 4096
MAX_FRAMES = 1000
_MAX_ORIGINAL_BYTES = 40 * 1024**2
_MAX_COUNTED_BYTES = 32 * 1024**2
_MAX_COUNTED_FRAMES = 1_000_000
_BROWSER_FORMATS = {"PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "AVIF"}
_BROWSER_EXTENSIONS = {"png", "jpg", "jpeg", "gif", "webp", "avif", "bmp"}
_MAX_LOSSLESS_PIXELS = 4_000_000


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return metadata, a thumbnail (``thumb``), one ``frame`` in full size, or the ``original``."""
    image = open_image(file)
    try:
        if "thumb" in request.options:
            wanted = request.int_option("thumb", 320, maximum=THUMBNAIL_SIZES[-1])
            max_side = next(size for size in THUMBNAIL_SIZES if size >= wanted)
            return _encode_image(scale_down(image, max_side))
        if "frame" in request.options:
            select_frame(image, request.int_option("frame"))
            return _encode_image(scale_down(image, MAX_CONVERTED_SIDE), lossless=True)
        if "original" in request.options and image.format in _BROWSER_FORMATS:
            file.seek(0)
            return BinaryPreview(file.read(_MAX_ORIGINAL_BYTES), Image.MIME[str(image.format)])
        return _metadata(image, file, request)
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise PreviewError(f"This image cannot be decoded: {str(error)[:200]}.") from error


def _metadata(image: ImageFile, file: BinaryIO, request: PreviewRequest) -> dict[str, object]:
    width, height = upright_size(image)
    pages = _pages(image)
    return {
        "width": width,
        "height": height,
        "format": format_name(image),
        "mode": color_mode(image),
        "alpha": image.has_transparency_data,
        "pages": pages,
        "page_noun": part_noun(image) if len(pages) > 1 else "",
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
    if part_noun(image) != "frame" or not getattr(image, "is_animated", False):
        return 1
    return count_parts(image, _MAX_COUNTED_FRAMES) if size <= _MAX_COUNTED_BYTES else 0


def _is_truncated(image: ImageFile, file: BinaryIO, size: int) -> bool:
    """Return whether an image is truncated; it is decoded only if its end marker is missing."""
    file.seek(max(0, size - TAIL_BYTES))
    if not lacks_end(str(image.format), file.read(TAIL_BYTES)):
        return False
    image.draft("RGB", (64, 64))
    try:
        image.load()
    except (OSError, SyntaxError, ValueError):
        return True
    return False


def _encode_image(image: Image.Image, *, lossless: bool = False) -> BinaryPreview:
    """Encode an image for the browser; a very large one never without loss."""
    out = io.BytesIO()
    profile = image.info.get("icc_profile") if image.mode == "RGB" else None
    if lossless and image.width * image.height <= _MAX_LOSSLESS_PIXELS:
        image.save(out, "PNG", compress_level=1, icc_profile=profile)
        return BinaryPreview(out.getvalue(), "image/png")
    if lossless and image.mode != "RGBA":
        image.save(out, "JPEG", quality=90, icc_profile=profile)
        return BinaryPreview(out.getvalue(), "image/jpeg")
    image.save(out, "WEBP", quality=80, method=1, icc_profile=profile)
    return BinaryPreview(out.getvalue(), "image/webp")
