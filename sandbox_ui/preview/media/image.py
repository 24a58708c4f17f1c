"""Images: metadata, thumbnails and conversion for browsers."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import PIL.ImageFile
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from sandbox_ui.preview.base import BinaryPreview, Preview, PreviewError, PreviewRequest

THUMBNAIL_SIZES = (96, 160, 320, 640, 1280)
MAX_ORIGINAL_PIXELS = 60_000_000
"""Maximum pixels for which the browser receives the original file."""

MAX_PIXELS = 200_000_000
"""Maximum pixels decoded, at four bytes per pixel."""

FORMATS = (
    "PNG", "JPEG", "GIF", "WEBP", "BMP", "DIB", "TIFF",
    "ICO", "CUR", "AVIF", "PPM", "TGA", "JPEG2000",
)  # fmt: skip
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
_MAX_LOSSLESS_PIXELS = 4_000_000
_ORIENTATION = 0x0112

Image.init()
Image.MAX_IMAGE_PIXELS = None  # _check_pixels does it, after a JPEG is reduced


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return metadata, a thumbnail (``thumb``) or one frame in full size (``frame``).

    ``original`` returns the file's bytes with its actual media type, for a misleading name.
    """
    image = _open_image(file)
    try:
        if "thumb" in request.options:
            wanted = request.int_option("thumb", 320, maximum=THUMBNAIL_SIZES[-1])
            max_side = next(size for size in THUMBNAIL_SIZES if size >= wanted)
            return _encode_image(_scale_down(image, max_side))
        if "frame" in request.options:
            _select_frame(image, request.int_option("frame"))
            return _encode_image(_scale_down(image, MAX_CONVERTED_SIDE), lossless=True)
        if "original" in request.options and image.format in _BROWSER_FORMATS:
            file.seek(0)
            return BinaryPreview(file.read(_MAX_ORIGINAL_BYTES), Image.MIME[str(image.format)])
        return _metadata(image, file, request)
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise PreviewError(f"This image cannot be decoded: {str(error)[:200]}.") from error


def _metadata(image: ImageFile, file: BinaryIO, request: PreviewRequest) -> dict[str, object]:
    width, height = _upright_size(image)
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
            sizes.append(list(_upright_size(image)))
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


def _open_image(file: BinaryIO) -> ImageFile:
    """Open an image and read its header only."""
    try:
        image = Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        raise PreviewError("This file contains no readable image; it may be damaged.") from None
    _check_pixels(image)
    return image


def _upright_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height after applying the EXIF orientation."""
    turned = _orientation(image) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def _scale_down(image: ImageFile, max_side: int) -> Image.Image:
    """Return the image upright as RGB, RGBA or L; what a truncated file lacks stays grey."""
    orientation = _orientation(image)
    image.draft("RGB", (max_side * 2, max_side * 2))
    _check_pixels(image, decoded=True)
    with _allow_truncated():
        image.load()
    shrunk = _to_eight_bits(_subsample(image, max_side * 4))
    shrunk.thumbnail((max_side, max_side), Image.Resampling.BICUBIC, reducing_gap=2.0)
    return _apply_orientation(shrunk, orientation)


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
