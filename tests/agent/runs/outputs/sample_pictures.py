"""Pictures that a run's model gets."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from agent.models.base import Picture
from agent.runs.outputs.pictures import PictureStore


def encode_picture(colour: str, format: str = "PNG", size: tuple[int, int] = (64, 40)) -> bytes:
    file = BytesIO()
    Image.new("RGB", size, colour).save(file, format)
    return file.getvalue()


def keep_picture(
    outputs: Path, source: str, colour: str = "#2474b5", size: tuple[int, int] = (640, 400)
) -> Picture:
    """Store a picture of one colour among a run's outputs."""
    data = encode_picture(colour, size=size)
    name = PictureStore(outputs).keep(data, "image/png")
    return Picture(name, "image/png", *size, len(data), source, 341)
