"""Pictures made for tests."""

import io

from PIL import Image


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    """A picture as a file of a format holds it."""
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def stripes(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", (width, height), "red")
    image.paste("blue", (width // 2, 0, width, height))
    return image.convert(mode)
