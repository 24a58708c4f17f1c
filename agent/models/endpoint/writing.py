"""How a conversation is written for an endpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.errors import RunError
from agent.models.base import (
    AssistantMessage,
    OpaqueParts,
    Picture,
    ToolCallStyle,
    ToolResult,
    UserMessage,
)
from agent.util.text import replace_surrogates

NO_PICTURES = "images not sent"
"""The change that sends the descriptions of pictures instead of them."""

PictureData = Callable[[Picture], str]
"""Returns a picture's bytes in base64; raises ``RunError`` if they are lost."""

_NOT_SENT = "this model takes no pictures"
_LOST = "it is missing from the run's record"


@dataclass(frozen=True, slots=True)
class Writing:
    """How a conversation is written for an endpoint.

    The API's package documents the names of ``changes``. ``picture_data`` returns a picture's bytes
    in base64; None to send descriptions.
    """

    family: str = ""
    tool_call_style: ToolCallStyle = "native"
    send_reasoning: bool = True
    changes: tuple[str, ...] = ()
    picture_data: PictureData | None = field(default=None, compare=False, repr=False)

    def own_parts(self, message: AssistantMessage) -> Mapping[str, Any]:
        """Return a message's opaque parts; empty if another family gave them."""
        opaque: OpaqueParts | None = message.opaque
        return opaque.parts if opaque is not None and opaque.family == self.family else {}

    def content_of(
        self, message: UserMessage | ToolResult
    ) -> tuple[str, list[tuple[Picture, str]]]:
        """Return the text, describing unsent pictures, and the pictures in base64."""
        text, sent = message.text, []
        for picture in message.pictures:
            if NO_PICTURES in self.changes or self.picture_data is None:
                text += f"\n[{picture.description}: {_NOT_SENT}]"
                continue
            try:
                data = self.picture_data(picture)
            except RunError:
                text += f"\n[{picture.description}: {_LOST}]"
            else:
                sent.append((picture, data))
        return replace_surrogates(text), sent


def data_url(picture: Picture, data: str) -> str:
    """Return a picture, whose bytes are given in base64, as a URL."""
    return f"data:{picture.media_type};base64,{data}"
