"""What a strict server takes as a picture, and what it says of one that it does not."""

import base64
import binascii
import io
from typing import Any

from PIL import Image

from tests.support.models.turns import Body
from tests.support.servers.server import refuse_if

MAX_SIDE = 2000
_TYPES = ("image/png", "image/jpeg")


def check_data_url(url: Any, place: str) -> bytes:
    """Return the bytes of a picture in a data URL. Raises ``Refused``."""
    head, comma, data = str(url).partition(";base64,")
    refuse_if(not comma or not head.startswith("data:"), f"{place}: Invalid image URL.")
    return check_base64(data, head.removeprefix("data:"), place)


def check_base64(data: Any, media_type: Any, place: str) -> bytes:
    """Return the bytes of a picture, which are of that type. Raises ``Refused``."""
    refuse_if(media_type not in _TYPES, f"{place}: Unsupported media type '{media_type}'.")
    try:
        content = base64.b64decode(str(data), validate=True)
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            found, side = image.get_format_mimetype(), max(image.size)
    except (binascii.Error, OSError) as error:
        refuse_if(condition=True, message=f"{place}: Could not process image: {error}")
        raise
    refuse_if(found != media_type, f"{place}: The image is {found}, not {media_type}.")
    refuse_if(side > MAX_SIDE, f"{place}: image dimensions exceed {MAX_SIDE} pixels")
    return content


def check_chat_content(message: Body, index: int, refusal: str) -> None:
    """Check the content of a chat message: pictures are the user's only, and taken at all."""
    content = message.get("content")
    for at, part in enumerate(content if isinstance(content, list) else ()):
        place = f"messages[{index}].content[{at}]"
        if part.get("type") == "text":
            continue
        refuse_if(refusal, refusal.format(index=index), 500 if "mmproj" in refusal else 400)
        wrong = message["role"] != "user" or part.get("type") != "image_url"
        refuse_if(wrong, f"{place}: Invalid value: '{part.get('type')}'.")
        check_data_url(part["image_url"].get("url"), place)


def find_pictures(body: Any) -> list[bytes]:
    """Return the pictures of a request in any API, in order."""
    if isinstance(body, list):
        return [each for part in body for each in find_pictures(part)]
    if not isinstance(body, dict):
        return []
    match body.get("type"):
        case "image_url":
            return [check_data_url(body["image_url"]["url"], "")]
        case "input_image":
            return [check_data_url(body["image_url"], "")]
        case "image":
            return [base64.b64decode(body["source"]["data"])]
    return [each for value in body.values() for each in find_pictures(value)]
