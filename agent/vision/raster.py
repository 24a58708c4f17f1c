"""Pictures for a model: on an opaque ground, within limits, encoded without metadata."""

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from agent.vision.request import DrawingLimits, Drawn

_MIN_SIDE = 64  # some models refuse less
_SMALL_SIDE = 200
_ENLARGED_SIDE = 256
_QUALITIES = (88, 75, 60)
_SHRINK = 0.75
_WHITE, _GREY = (255, 255, 255), (128, 128, 128)
_LIGHT = 215
_LABEL_HEIGHT = 18
_GAP = 6
_COLOURS = 5


def encode(
    image: Image.Image, limits: DrawingLimits, *, part: str = "", photo: bool = False
) -> Drawn:
    """Return a picture as PNG, or as JPEG if it is a photograph or would be too large."""
    image = _padded(_scaled(_opaque(image), limits.side))
    while True:
        if not photo:
            data = _saved(image, "PNG", compress_level=6)
            if len(data) <= limits.bytes:
                return Drawn(data, "image/png", *image.size, part)
        for quality in _QUALITIES:
            data = _saved(image, "JPEG", quality=quality)
            if len(data) <= limits.bytes:
                return Drawn(data, "image/jpeg", *image.size, part)
        photo = True
        width, height = image.size
        smaller = (max(1, int(width * _SHRINK)), max(1, int(height * _SHRINK)))
        image = _padded(image.resize(smaller, Image.Resampling.BICUBIC))


def contact_sheet(tiles: Sequence[tuple[str, Image.Image]], side: int) -> Image.Image:
    """Return pictures in a grid, each below its label."""
    ratio = sum(tile.width / tile.height for _, tile in tiles) / len(tiles)
    columns = _columns(len(tiles), ratio)
    rows = math.ceil(len(tiles) / columns)
    width = (side - _GAP * (columns + 1)) // columns
    height = (side - (_GAP + _LABEL_HEIGHT) * rows - _GAP) // rows
    scales = [min(width / tile.width, height / tile.height) for _, tile in tiles]
    sizes = [
        (max(1, round(tile.width * scale)), max(1, round(tile.height * scale)))
        for (_, tile), scale in zip(tiles, scales, strict=True)
    ]
    width, height = max(each[0] for each in sizes), max(each[1] for each in sizes)
    row_height = height + _LABEL_HEIGHT + _GAP
    sheet = Image.new("RGB", ((width + _GAP) * columns + _GAP, row_height * rows + _GAP), _GREY)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(_LABEL_HEIGHT - 4)
    for at, ((label, tile), size) in enumerate(zip(tiles, sizes, strict=True)):
        x, y = _GAP + at % columns * (width + _GAP), _GAP + at // columns * row_height
        draw.text((x + 2, y + 1), label, fill=_WHITE, font=font)
        sheet.paste(_opaque(tile).resize(size, Image.Resampling.BICUBIC), (x, y + _LABEL_HEIGHT))
    return sheet


def describe_colours(image: Image.Image) -> str:
    """Return the mean and the most frequent colours, and how bright the pixels are."""
    small = _opaque(image)
    small.thumbnail((160, 160), Image.Resampling.NEAREST)
    pixels = small.width * small.height
    palette = small.quantize(_COLOURS, kmeans=1)
    colours = palette.getpalette() or []
    counted = sorted(palette.getcolors() or (), reverse=True)
    named = [
        f"#{bytes(colours[3 * at : 3 * at + 3]).hex()} {100 * count / pixels:.0f} %"  # type: ignore[operator]
        for count, at in counted
    ]
    histogram = small.convert("L").histogram()
    bins = [100 * sum(histogram[at : at + 32]) / pixels for at in range(0, 256, 32)]
    mean = small.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    return (
        f"Mean colour #{bytes(mean).hex()}; most frequent: {', '.join(named)}. "  # type: ignore[arg-type]
        f"Brightness from dark to light, in eight equal ranges: "
        f"{', '.join(f'{each:.0f} %' for each in bins)}."
    )


def _columns(count: int, ratio: float) -> int:
    """Return how many columns make the sheet nearly square."""
    return max(1, min(count, round(math.sqrt(count / max(ratio, 0.05)))))


def _opaque(image: Image.Image) -> Image.Image:
    """Return the picture as RGB or L; what is transparent becomes white, or grey behind white."""
    if image.mode in ("RGB", "L"):
        return image
    if image.mode != "RGBA":
        return image.convert("RGB")
    alpha = image.getchannel("A")
    visible = image.convert("L").histogram(alpha.point(lambda value: 255 if value > 127 else 0))
    total = sum(visible)
    light = total and sum(visible[_LIGHT:]) > 0.9 * total and alpha.getextrema()[0] == 0
    ground = Image.new("RGB", image.size, _GREY if light else _WHITE)
    ground.paste(image.convert("RGB"), mask=alpha)
    return ground


def _scaled(image: Image.Image, side: int) -> Image.Image:
    longest = max(image.size)
    if longest <= _SMALL_SIDE:
        factor = max(1, _ENLARGED_SIDE // longest)
        return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    if longest <= side:
        return image
    size = tuple(max(1, round(each * side / longest)) for each in image.size)
    return image.resize((size[0], size[1]), Image.Resampling.BICUBIC, reducing_gap=2.0)


def _padded(image: Image.Image) -> Image.Image:
    """Return the picture on a ground that is wide and high enough for any model."""
    size = tuple(max(each, _MIN_SIDE) for each in image.size)
    if size == image.size:
        return image
    ground = Image.new("RGB", (size[0], size[1]), _GREY)
    ground.paste(
        image.convert("RGB"), ((size[0] - image.width) // 2, (size[1] - image.height) // 2)
    )
    return ground


def _saved(image: Image.Image, format: str, **options: int) -> bytes:
    out = io.BytesIO()
    clean = Image.new(image.mode, image.size)  # without EXIF, profiles and texts
    clean.paste(image)
    clean.save(out, format, **options)
    return out.getvalue()
