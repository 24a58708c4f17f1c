"""Opens and scales pictures, only in a separate process: hostile files may crash the libraries."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import PIL.ImageFile
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from agent.documents.drawing_error import DrawingError

MAX_PIXELS = 200_000_000
"""Maximum pixels decoded, at four bytes per pixel."""

FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF",
    "ICO", "CUR", "AVIF", "PPM", "TGA", "JPEG2000",
)  # fmt: skip
TAIL_BYTES = 64 * 1024
"""Bytes of a file's end in which the marker of its end is looked for."""

_END_MARKERS = {"PNG": b"IEND", "JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "GIF": b"\x3b"}
_MODES = {
    "1": "black and white", "L": "grey", "LA": "grey", "La": "grey", "P": "palette",
    "PA": "palette", "RGB": "RGB", "RGBA": "RGBA", "RGBX": "RGB", "RGBa": "RGBA",
    "I": "grey, 32 bit", "F": "grey, floating point",
}  # fmt: skip
_FORMAT_NAMES = {"MPO": "JPEG", "DIB": "BMP", "JPEG2000": "JPEG 2000"}
_ORIENTATION = 0x0112

Image.init()
Image.MAX_IMAGE_PIXELS = None  # _check_pixels does it, after a JPEG is reduced


def color_mode(image: ImageFile) -> str:
    """Return the kind of its colours in words."""
    is_16_bit = ";16" in image.mode or any(";16" in str(tile.args) for tile in image.tile[:1])
    mode = _MODES.get(image.mode, "grey" if image.mode.startswith("I;16") else image.mode)
    return f"{mode}, 16 bit" if is_16_bit else mode


def format_name(image: ImageFile) -> str:
    """Return the name of its format, as people write it."""
    return _FORMAT_NAMES.get(str(image.format), str(image.format))


def part_noun(image: ImageFile) -> str:
    """Return what a file of its format has several of: sizes, pages or frames."""
    if image.format in ("ICO", "CUR"):
        return "size"
    return "page" if image.format == "TIFF" else "frame"


def count_parts(image: ImageFile, maximum: int) -> int:
    """Return how many sizes, pages or frames it has; it may have to be read to the end."""
    if image.format in ("ICO", "CUR"):
        return max(1, len(image.info.get("sizes", ())))
    if image.format == "MPO" or not getattr(image, "is_animated", False):
        return 1
    return min(int(getattr(image, "n_frames", 1)), maximum)


def select_frame(image: ImageFile, at: int) -> None:
    """Go to a page or frame, or to a size of an icon, from 0."""
    if image.format in ("ICO", "CUR"):
        sizes = sorted(image.info.get("sizes", ()), reverse=True)
        if at < len(sizes):
            image.size = sizes[at]  # type: ignore[misc]
    elif at:
        try:
            image.seek(at)
        except EOFError:
            raise DrawingError("This image has no such page.") from None


def open_image(file: BinaryIO) -> ImageFile:
    """Open an image and read its header only."""
    try:
        image = Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        raise DrawingError("This file contains no readable image; it may be damaged.") from None
    _check_pixels(image)
    return image


def lacks_end(format: str, tail: bytes) -> bool:
    """Return whether a file's last bytes show that it was cut off."""
    end = _END_MARKERS.get(format)
    return end is not None and end not in tail


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height after applying the EXIF orientation."""
    turned = _orientation(image) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def scale_down(image: ImageFile, max_side: int) -> Image.Image:
    """Return the image upright as RGB, RGBA or L; what a truncated file lacks stays grey."""
    orientation = _orientation(image)
    image.draft("RGB", (max_side * 2, max_side * 2))
    _check_pixels(image, decoded=True)
    with _allow_truncated():
        image.load()
    shrunk = _to_eight_bits(_subsample(image, max_side * 4))
    shrunk.thumbnail((max_side, max_side), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return _apply_orientation(shrunk, orientation)


@contextmanager
def _allow_truncated() -> Iterator[None]:
    before, PIL.ImageFile.LOAD_TRUNCATED_IMAGES = PIL.ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        yield
    finally:
        PIL.ImageFile.LOAD_TRUNCATED_IMAGES = before


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation to apply: not of TIFF, nor of PNG if it needs decoding."""
    if image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info):
        return 1
    found = image.getexif().get(_ORIENTATION, 1)
    return found if isinstance(found, int) else 1


def _check_pixels(image: Image.Image, *, decoded: bool = False) -> None:
    width, height = image.size
    most = MAX_PIXELS if decoded or image.format not in ("JPEG", "MPO") else MAX_PIXELS * 64
    if width * height > most:
        raise DrawingError(
            f"This picture says that it has {width:,} × {height:,} pixels; "
            f"more than {MAX_PIXELS // 10**6} million are not opened here."
        )


def _subsample(image: Image.Image, max_side: int) -> Image.Image:
    """Subsample an image if converting its mode would exceed the memory limit."""
    if image.mode not in ("1", "P", "PA", "I;16", "I;16B", "I;16L") or max(image.size) <= max_side:
        return image
    scale = max_side / max(image.size)
    size = tuple(max(1, round(side * scale)) for side in image.size)
    return image.resize((size[0], size[1]), Image.Resampling.NEAREST)


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Convert to RGB, RGBA or L; scale values of more than eight bits to eight."""
    if image.has_transparency_data and image.mode not in ("I", "F"):
        return image.convert("RGBA")
    if image.mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode in ("I", "F"):
        low, high = (float(value) for value in image.getextrema())  # type: ignore[arg-type]
        span = (high - low) or 1.0
        return image.convert("F").point(lambda value: (value - low) * (255 / span)).convert("L")
    if image.mode in ("RGB", "L"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _apply_orientation(image: Image.Image, orientation: int) -> Image.Image:
    if orientation not in range(2, 9):
        return image
    image.getexif()[_ORIENTATION] = orientation
    return ImageOps.exif_transpose(image)
