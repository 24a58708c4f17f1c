"""Messages of a request: the task, what came before it, and the attached files."""

import base64
import binascii
import mimetypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.events import EarlierMessage
from sandbox_ui.openai_api.errors import ApiError

_MAX_MESSAGES = 10_000
_SYSTEM_ROLES = ("system", "developer")
_IGNORED_ITEMS = ("reasoning", "mcp_call")
"""Items of an earlier response that a client sends back; its messages say what matters."""
_AUDIO_FORMATS = ("wav", "mp3")
Media = Literal["", "image", "audio"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message: its content, or the id of an uploaded one."""

    name: str
    content: bytes | None = field(default=None, repr=False)
    file_id: str = ""
    media: Media = ""


@dataclass(frozen=True, slots=True)
class ClientInput:
    """What a client sends: the task, the system prompt, and the messages between them."""

    text: str
    instructions: str = ""
    history: tuple[EarlierMessage, ...] = ()
    attachments: tuple[Attachment, ...] = ()


def parse_chat_messages(value: Any) -> ClientInput:
    """Return the input in ``messages`` of a chat completion."""
    if not isinstance(value, list) or not value:
        raise ApiError("messages must be a list with at least one message.", param="messages")
    return _Reader("messages").read(value)


def parse_response_input(value: Any, instructions: Any) -> ClientInput:
    """Return the input in ``input`` and ``instructions`` of a response."""
    if instructions is not None and not isinstance(instructions, str):
        raise ApiError("instructions must be a text.", param="instructions")
    items = [{"role": "user", "content": value}] if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        raise ApiError("input must be a text or a list of items.", param="input")
    kept = [
        item
        for item in items
        if not (isinstance(item, dict) and item.get("type") in _IGNORED_ITEMS)
    ]
    return _Reader("input", instructions or "").read(kept)


class _Reader:
    """Reads the messages of one request; ``param`` names them in errors."""

    def __init__(self, param: str, instructions: str = "") -> None:
        self._param = param
        self._instructions = [instructions] if instructions else []
        self._attachments: list[Attachment] = []

    def read(self, messages: Sequence[Any]) -> ClientInput:
        if len(messages) > _MAX_MESSAGES:
            raise ApiError(f"Send at most {_MAX_MESSAGES} messages.", param=self._param)
        history = [
            EarlierMessage(role, text)
            for index, message in enumerate(messages)
            for role, text in self._read_message(message, f"{self._param}[{index}]")
        ]
        if not history or history[-1].role != "user":
            raise ApiError("The last message must be the user's.", param=self._param)
        task = history.pop()
        if not task.text.strip():
            raise ApiError("The last message has no text: write the task.", param=self._param)
        instructions = "\n\n".join(self._instructions)
        return ClientInput(task.text, instructions, tuple(history), tuple(self._attachments))

    def _read_message(
        self, message: Any, place: str
    ) -> Iterator[tuple[Literal["user", "assistant"], str]]:
        if not isinstance(message, dict):
            raise ApiError(f"{place} must be an object.", param=place)
        role = message.get("role")
        if role is None and message.get("type", "message") != "message":
            raise ApiError(
                f"{place}: items of type {str(message['type'])[:50]} are not supported.",
                param=place,
            )
        if (
            message.get("tool_calls")
            or message.get("function_call")
            or role in ("tool", "function")
        ):
            raise ApiError(
                f"{place}: the caller's tools are not supported.",
                param=place,
                code="unsupported_parameter",
            )
        text = "".join(self._read_content(message.get("content"), place, role == "user"))
        if role in _SYSTEM_ROLES:
            self._instructions.append(text)
        elif role == "user":
            yield "user", text
        elif role == "assistant":
            yield "assistant", text
        else:
            raise ApiError(
                f"{place}.role must be system, developer, user or assistant.", param=place
            )

    def _read_content(self, content: Any, place: str, is_user: bool) -> Iterator[str]:
        if content is None or isinstance(content, str):
            yield content or ""
            return
        if not isinstance(content, list):
            raise ApiError(f"{place}.content must be a text or a list of parts.", param=place)
        for index, part in enumerate(content):
            where = f"{place}.content[{index}]"
            if not isinstance(part, dict):
                raise ApiError(f"{where} must be an object.", param=where)
            kind = part.get("type")
            if kind in ("text", "input_text", "output_text", "refusal"):
                yield _text(part.get("refusal" if kind == "refusal" else "text"), where)
            elif is_user:
                self._attachments.append(self._read_file(kind, part, where))
            else:
                raise ApiError(f"{where}: only the user's messages have files.", param=where)

    def _read_file(self, kind: Any, part: dict[str, Any], where: str) -> Attachment:
        number = len(self._attachments) + 1
        if kind == "image_url":
            image = part.get("image_url")
            url = image.get("url") if isinstance(image, dict) else image
            return _from_data(url, "", f"image-{number}", where)
        if kind == "input_image":
            if part.get("file_id"):
                return _uploaded(part, where, media="image")
            return _from_data(part.get("image_url"), "", f"image-{number}", where)
        if kind == "input_audio":
            audio = part.get("input_audio")
            audio = audio if isinstance(audio, dict) else {}
            if audio.get("format") not in _AUDIO_FORMATS:
                raise ApiError(f"{where}: the format must be wav or mp3.", param=where)
            name = f"audio-{number}.{audio['format']}"
            return Attachment(name, _decode(audio.get("data"), where), media="audio")
        if kind in ("file", "input_file"):
            file = part.get("file") if kind == "file" else part
            file = file if isinstance(file, dict) else {}
            if file.get("file_id"):
                return _uploaded(file, where)
            name = _text(file.get("filename") or "", where)
            return _from_data(file.get("file_data"), name, f"file-{number}", where)
        raise ApiError(f"{where}: parts of type {str(kind)[:50]} are not supported.", param=where)


def _uploaded(part: dict[str, Any], where: str, *, media: Media = "") -> Attachment:
    return Attachment("", file_id=_text(part["file_id"], where), media=media)


def _from_data(value: Any, name: str, stem: str, where: str) -> Attachment:
    """Return the file in a data URL, or in Base64 without one."""
    if not isinstance(value, str) or not value:
        raise ApiError(f"{where}: send the content as a data URL, or a file_id.", param=where)
    if value[:5].lower() != "data:":
        if "://" in value[:20]:
            raise ApiError(
                f"{where}: URLs are not fetched. Send the content as a data URL.", param=where
            )
        return Attachment(name or stem, _decode(value, where))
    kind, comma, data = value[5:].partition(",")
    media_type, *parameters = kind.split(";")
    if not comma or "base64" not in parameters:
        raise ApiError(f"{where}: the data URL must be Base64.", param=where)
    extension = mimetypes.guess_extension(media_type.strip().lower()) or ""
    family = media_type.lower().partition("/")[0]
    media: Media = "image" if family == "image" else "audio" if family == "audio" else ""
    return Attachment(name or f"{stem}{extension}", _decode(data, where), media=media)


def _decode(value: Any, where: str) -> bytes:
    if not isinstance(value, str) or not value:
        raise ApiError(f"{where} has no content.", param=where)
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ApiError(f"{where}: the content is not valid Base64.", param=where) from error


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ApiError(f"{where}: a text is missing.", param=where)
    return value
