"""Images: metadata, thumbnails and conversion for browsers."""

from typing import BinaryIO

from PIL import Image
from PIL.ImageFile import ImageFile

from sandbox_ui.preview.base import Answer, Ask, Picture, Unreadable, View
from sandbox_ui.preview.media.thumbnail import encoded, opened, small, upright_size

THUMBS = (96, 160, 320, 640, 1280)
"""Thumbnail sizes: maximum width or height in pixels."""

EASY_PIXELS = 60_000_000
"""Maximum pixels for which the browser receives the original file."""

LARGEST_MADE = 4096
MOST_FRAMES = 1000
_WHOLE = 40 * 1024**2
_COUNTED = 32 * 1024**2
_SUSPECTED = 64 * 1024
_BROWSERS = {"PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "AVIF"}
_SERVED = {"png", "jpg", "jpeg", "gif", "webp", "avif", "bmp"}
_PAGED = {"TIFF": "page", "ICO": "size", "CUR": "size"}
_ENDS = {"PNG": b"IEND", "JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "GIF": b"\x3b"}
_MODES = {
    "1": "black and white", "L": "grey", "LA": "grey", "La": "grey", "P": "palette",
    "PA": "palette", "RGB": "RGB", "RGBA": "RGBA", "RGBX": "RGB", "RGBa": "RGBA",
    "I": "grey, 32 bit", "F": "grey, floating point",
}  # fmt: skip


def view(file: BinaryIO, ask: Ask) -> Answer:
    """Return metadata, a thumbnail (``thumb``) or one frame in full size (``frame``).

    ``original`` returns the file's bytes with its actual media type, for a misleading name.

    Raises:
        Unreadable: The file is not an image, or too large to open.
    """
    image = opened(file)
    try:
        if "thumb" in ask.options:
            most = ask.number("thumb", 320)
            most = next((size for size in THUMBS if size >= most), THUMBS[-1])
            return encoded(small(image, most))
        if "frame" in ask.options:
            _go_to(image, ask.number("frame", 0))
            return encoded(small(image, LARGEST_MADE), exact=True)
        if "original" in ask.options and image.format in _BROWSERS:
            file.seek(0)
            return Picture(file.read(_WHOLE), Image.MIME[str(image.format)])
        return View(_described(image, file, ask))
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise Unreadable(f"This picture cannot be decoded: {str(error)[:200]}.") from error


def _described(image: ImageFile, file: BinaryIO, ask: Ask) -> dict[str, object]:
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
        "paged": _PAGED.get(name, "") if len(pages) > 1 else "",
        "frames": _frames(image, ask.size),
        "source": _source(image, ask),
        "raw": image.format in _BROWSERS and ask.ending in _SERVED,
        "made": LARGEST_MADE,
        "cut": _is_cut(image, file, ask.size),
    }


def _source(image: ImageFile, ask: Ask) -> str:
    """Return the image source: ``raw`` file, ``original`` bytes or ``made`` copy."""
    if image.format not in _BROWSERS or image.width * image.height > EASY_PIXELS:
        return "made"
    if ask.ending in _SERVED:
        return "raw"
    return "original" if ask.size <= _WHOLE else "made"


def _mode(image: ImageFile) -> str:
    deep = ";16" in image.mode or any(";16" in str(tile.args) for tile in image.tile[:1])
    words = _MODES.get(image.mode, "grey" if image.mode.startswith("I;16") else image.mode)
    return f"{words}, 16 bit" if deep else words


def _pages(image: ImageFile) -> list[list[int]]:
    """Return the sizes of TIFF pages or icon images, limited to ``MOST_FRAMES``."""
    if image.format in ("ICO", "CUR"):
        return [list(each) for each in sorted(image.info.get("sizes", ()), reverse=True)]
    if image.format != "TIFF":
        return []
    sizes = []
    try:
        for at in range(MOST_FRAMES):
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
    return int(getattr(image, "n_frames", 1)) if size <= _COUNTED else 0


def _go_to(image: ImageFile, at: int) -> None:
    if image.format in ("ICO", "CUR"):
        sizes = sorted(image.info.get("sizes", ()), reverse=True)
        if at < len(sizes):
            image.size = sizes[at]  # type: ignore[misc]
    elif at:
        try:
            image.seek(at)
        except EOFError:
            raise Unreadable("There is no such page in this picture.") from None


def _is_cut(image: ImageFile, file: BinaryIO, size: int) -> bool:
    """Return whether an image is truncated.

    Decodes the image only if its end marker is missing.
    """
    file.seek(max(0, size - _SUSPECTED))
    tail = file.read(_SUSPECTED)
    end = _ENDS.get(str(image.format))
    if end is None or end in tail:
        return False
    image.draft("RGB", (64, 64))
    try:
        image.load()
    except (OSError, SyntaxError, ValueError):
        return True
    return False
