"""Pictures opened without being believed, and made small enough to be looked at."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile as OpenedImage

from sandbox_ui.preview.base import Picture, Unreadable

MOST_PIXELS = 200_000_000
"""Pixels that are decoded at most; a picture takes four bytes for each."""

FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF",
    "ICO", "CUR", "AVIF", "PPM", "TGA", "JPEG2000",
)  # fmt: skip
_EXACT = 4_000_000
_ORIENTATION = 0x0112

Image.init()
Image.MAX_IMAGE_PIXELS = None  # the bound is below, where what a JPEG is reduced to is known


def opened(file: BinaryIO) -> OpenedImage:
    """A picture of which nothing but the header is read.

    Raises:
        Unreadable: it is none, or says that it is larger than anything should be.
    """
    if file.seek(0, 2) == 0:
        raise Unreadable("This file is empty.")
    file.seek(0)
    try:
        image = Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        raise Unreadable("No picture can be read in this file; it may be broken.") from None
    _bounded(image)
    return image


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Width and height as they are seen, after the turn that a camera noted down."""
    turned = _orientation(image) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def small(image: OpenedImage, most: int) -> Image.Image:
    """The picture, upright, at most so many pixels wide and high, in RGB, RGBA or L.

    A part that the file does not hold stays grey or black.

    Raises:
        Unreadable: its decoding would take too much.
    """
    orientation = _orientation(image)
    image.draft("RGB", (most * 2, most * 2))
    _bounded(image, decoded=True)
    with forgiving():
        image.load()
    shrunk = _eight_bits(_coarse(image, most * 4))
    shrunk.thumbnail((most, most), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return _turned(shrunk, orientation)


def encoded(image: Image.Image, *, exact: bool = False) -> Picture:
    """The picture as the browser takes it.

    Args:
        image: In a mode that ``small`` gives.
        exact: Every pixel as it is, where they are not too many for that.
    """
    out = io.BytesIO()
    profile = image.info.get("icc_profile") if image.mode == "RGB" else None
    if exact and image.width * image.height <= _EXACT:
        image.save(out, "PNG", compress_level=1, icc_profile=profile)
        return Picture(out.getvalue(), "image/png")
    if exact and image.mode != "RGBA":
        image.save(out, "JPEG", quality=90, icc_profile=profile)
        return Picture(out.getvalue(), "image/jpeg")
    image.save(out, "WEBP", quality=80, method=1, icc_profile=profile)
    return Picture(out.getvalue(), "image/webp")


@contextmanager
def forgiving() -> Iterator[None]:
    """Within it a picture that is cut off is decoded as far as it goes."""
    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def _orientation(image: Image.Image) -> int:
    """How a camera was held, where that is still to be allowed for.

    A tiff turns itself; a png is asked only where it is known without decoding it.
    """
    if image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info):
        return 1
    found = image.getexif().get(_ORIENTATION, 1)
    return found if isinstance(found, int) else 1


def _bounded(image: Image.Image, *, decoded: bool = False) -> None:
    width, height = image.size
    most = MOST_PIXELS if decoded or image.format not in ("JPEG", "MPO") else MOST_PIXELS * 64
    if width * height > most:
        raise Unreadable(
            f"This picture says that it has {width:,} × {height:,} pixels; "
            f"more than {MOST_PIXELS // 10**6} million are not opened here."
        )


def _coarse(image: Image.Image, most: int) -> Image.Image:
    """One of many pixels where a change of mode would take more memory than is there."""
    if image.mode not in ("1", "P", "PA", "I;16", "I;16B", "I;16L") or max(image.size) <= most:
        return image
    scale = most / max(image.size)
    size = tuple(max(1, round(side * scale)) for side in image.size)
    return image.resize((size[0], size[1]), Image.Resampling.NEAREST)


def _eight_bits(image: Image.Image) -> Image.Image:
    """In RGB, RGBA or L; what has more than eight bits is stretched between its extremes."""
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


def _turned(image: Image.Image, orientation: int) -> Image.Image:
    if orientation not in range(2, 9):
        return image
    image.getexif()[_ORIENTATION] = orientation
    return ImageOps.exif_transpose(image)
