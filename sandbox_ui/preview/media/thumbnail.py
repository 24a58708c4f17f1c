"""Opening and scaling of untrusted images."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile as OpenedImage

from sandbox_ui.preview.base import BinaryPreview, PreviewError

MAX_PIXELS = 200_000_000
"""Maximum pixels decoded, at four bytes per pixel."""

FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF",
    "ICO", "CUR", "AVIF", "PPM", "TGA", "JPEG2000",
)  # fmt: skip
_MAX_LOSSLESS_PIXELS = 4_000_000
_ORIENTATION = 0x0112

Image.init()
Image.MAX_IMAGE_PIXELS = None  # _bounded checks, after a JPEG is reduced


def open_image(file: BinaryIO) -> OpenedImage:
    """Open an image and read its header only."""
    if file.seek(0, 2) == 0:
        raise PreviewError("This file is empty.")
    file.seek(0)
    try:
        image = Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        raise PreviewError("This file contains no readable image; it may be damaged.") from None
    _check_pixels(image)
    return image


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height after applying the EXIF orientation."""
    turned = _orientation(image) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def scale_down(image: OpenedImage, max_side: int) -> Image.Image:
    """Return the image upright, as RGB, RGBA or L.

    It is at most ``max_side`` pixels wide and high. Parts missing from a truncated file stay
    grey or black.
    """
    orientation = _orientation(image)
    image.draft("RGB", (max_side * 2, max_side * 2))
    _check_pixels(image, decoded=True)
    with allow_truncated():
        image.load()
    shrunk = _to_eight_bits(_subsample(image, max_side * 4))
    shrunk.thumbnail((max_side, max_side), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return _apply_orientation(shrunk, orientation)


def encode_image(image: Image.Image, *, lossless: bool = False) -> BinaryPreview:
    """Encode an image of ``scale_down`` for the browser; a very large one never without loss."""
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


@contextmanager
def allow_truncated() -> Iterator[None]:
    """Decode truncated images as far as possible within the context."""
    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation still to be applied.

    Pillow applies that of a TIFF itself. That of a PNG is used only if known without decoding.
    """
    if image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info):
        return 1
    found = image.getexif().get(_ORIENTATION, 1)
    return found if isinstance(found, int) else 1


def _check_pixels(image: Image.Image, *, decoded: bool = False) -> None:
    width, height = image.size
    most = MAX_PIXELS if decoded or image.format not in ("JPEG", "MPO") else MAX_PIXELS * 64
    if width * height > most:
        raise PreviewError(
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
