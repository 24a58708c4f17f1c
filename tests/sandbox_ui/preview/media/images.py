"""Generated images."""

import io

from PIL import Image


def encode_image(image: Image.Image, image_format: str, **options: object) -> bytes:
    """The image encoded in a format."""
    out = io.BytesIO()
    image.save(out, image_format, **options)
    return out.getvalue()


def stripes(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """An image that is red on the left and blue on the right."""
    image = Image.new("RGB", (width, height), "red")
    image.paste("blue", (width // 2, 0, width, height))
    return image.convert(mode)
