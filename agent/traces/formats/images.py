"""Pictures in traces: content parts of several APIs are read, within bounds, and written."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.models.base import Picture
from agent.runs.outputs.pictures import MAX_BYTES, PictureStore

MAX_IMAGES = 32
"""Maximum number of pictures of one message or result; of further ones a text says the type."""

_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_MAX_SIDE = 65_535
_MAX_TOKENS = 1_000_000
_MAX_SOURCE_CHARACTERS = 300
_SIZES_OF_JPEG = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers of frames, T.81 table B.1


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a trace; ``tokens`` is 0 if it is not known how many it took."""

    data: bytes = field(repr=False)
    media_type: str
    source: str = ""
    tokens: int = 0

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"

    @property
    def about(self) -> dict[str, Any]:
        """What a format's content part has no field for."""
        return {"source": self.source, "tokens": self.tokens}


def image_of(part: Mapping[str, Any]) -> Image | None:
    """Return the PNG or JPEG in a content part of any format; None without one, or if too large."""
    media_type, encoded = _encoded(part)
    signature = _SIGNATURES.get(media_type)
    if signature is None or len(encoded) > MAX_BYTES * 4 // 3 + 4:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    image = Image(data, media_type)
    return image if data.startswith(signature) and size_of(data) else None


def _encoded(part: Mapping[str, Any]) -> tuple[str, str]:
    """Return the media type and the Base64 of a part; empty if it has none."""
    nested = [part.get(name) for name in ("image_url", "source", "image")]
    for values in (part, *(each for each in nested if isinstance(each, dict))):
        data = values.get("data")
        kind = values.get("media_type", values.get("mimeType"))
        if isinstance(data, str) and isinstance(kind, str):
            return kind, data
        nested += [values.get("url"), values.get("path")]
    for url in nested:
        if isinstance(url, str) and url.startswith("data:image/"):
            kind, comma, data = url[5:].partition(";base64,")
            return (kind, data) if comma else ("", "")
    return "", ""


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height as the header of a PNG or JPEG states them; None if it does not."""
    if data.startswith(_SIGNATURES["image/png"]) and data[12:16] == b"IHDR":
        return _checked(int.from_bytes(data[16:20]), int.from_bytes(data[20:24]))
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker in _SIZES_OF_JPEG:
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return _checked(int.from_bytes(width), int.from_bytes(height))
        if length < 2:
            return None
        at += 2 + length
    return None


def _checked(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if 0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE else None


def described(images: Sequence[Image], about: Any) -> tuple[Image, ...]:
    """Return pictures with what ``Image.about`` wrote of them; what is not that is ignored."""
    known = about if isinstance(about, list) else []
    result = []
    for image, each in zip(images, [*known, *([None] * len(images))], strict=False):
        values = each if isinstance(each, dict) else {}
        source, tokens = values.get("source"), values.get("tokens")
        result.append(
            Image(
                image.data,
                image.media_type,
                source[:_MAX_SOURCE_CHARACTERS] if isinstance(source, str) else image.source,
                tokens if type(tokens) is int and 0 <= tokens <= _MAX_TOKENS else image.tokens,
            )
        )
    return tuple(result)


def keep_image(image: Image, store: PictureStore) -> Picture:
    """Store a picture of a trace among a run's outputs."""
    width, height = size_of(image.data) or (1, 1)
    return Picture(
        store.keep(image.data, image.media_type), image.media_type, width, height,
        len(image.data), image.source or "a picture of the trace", image.tokens,
    )  # fmt: skip
