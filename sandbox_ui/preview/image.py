"""Pictures: what they are, small ones of them, and what a browser cannot show by itself."""

from typing import BinaryIO

from PIL import Image
from PIL.ImageFile import ImageFile

from sandbox_ui.preview.base import Answer, Ask, Picture, Unreadable, View
from sandbox_ui.preview.shrink import encoded, opened, small, upright_size

THUMBS = (96, 160, 320, 640, 1280)
"""The sizes that a small picture can have: as many pixels wide or high at most."""

EASY_PIXELS = 60_000_000
"""Pixels up to which the browser is given the file itself."""

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
    """What a picture is; or with ``thumb`` a small one, with ``frame`` one page as it is.

    ``original`` gives the file's own bytes, for a name that hides what it is.

    Raises:
        Unreadable: it is no picture, or one too large to be opened.
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
    """Where the page gets the picture: the file itself, its bytes as a picture, or one made."""
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
    """Width and height of each page of a tiff and each size of an icon, the first thousand."""
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
    """Pictures of an animation; 1 where it is none, 0 where they are not counted."""
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
    """Whether a file ends before its picture does.

    Only where the end does not look like one is it decoded to be sure.
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
