"""A request to an endpoint: prepared, described for the record, and built again from it."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelRequest,
    ReadPicture,
    SentRequest,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.endpoint.api import Api, Body
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.encoding import MESSAGES, encode_request
from agent.models.endpoint.families import Traits
from agent.models.endpoint.learned import Learned
from agent.models.endpoint.writing import NO_PICTURES, PictureData, Writing
from agent.models.transport.redaction import redact_json

_NO_SETTINGS = {"stream_options", "store", "include"}  # sent with every request, unasked


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as the endpoint takes it; ``parameters`` and ``left_out`` as in ``SentRequest``."""

    request: ModelRequest
    api: Api
    writing: Writing
    parameters: Body
    content: bytes
    sha256: str
    headers: Mapping[str, str]
    left_out: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def body(self) -> Body:
        """The body, written anew."""
        request = self.request
        written = self.api.conversation(request.messages, request.tools, self.writing)
        return _filled(self.parameters, written)


def prepare_request(
    config: ModelConfig, request: ModelRequest, traits: Traits, learned: Learned, api: Api
) -> PreparedRequest:
    """Return the request; ``extra_body`` may not replace messages, input and stream."""
    lessons = learned.of(api.name)
    limit = config.max_tokens if request.max_tokens is None else request.max_tokens
    parameters = api.parameters(config, limit, traits)
    blind = (NO_PICTURES,) if config.images == "off" and _have_pictures(request.messages) else ()
    writing = Writing(
        family=f"{api.name}/{traits.family}@{traits.endpoint}",
        tool_call_style=config.tool_call_style,
        send_reasoning=config.send_reasoning,
        changes=tuple(sorted({*api.known_changes(traits), *lessons.changes, *blind})),
        picture_data=in_base64(request.read_picture),
    )
    settings = lessons.adapt({**parameters.body, **config.extra_body})
    settings["stream"] = True
    replaced = config.extra_body.keys() - MESSAGES
    written: set[str] = set()

    def write(messages: Sequence[Message]) -> Body:
        conversation = api.conversation(messages, request.tools, writing)
        written.update(conversation.keys() - replaced)
        return settings | {name: conversation[name] for name in conversation if name in written}

    encoded = encode_request(api, writing, request.messages, request.encoded, write)
    asked = {*(parameters.body.keys() - _NO_SETTINGS), *config.extra_body}
    dropped = {each for each in asked if lessons.renamed.get(each, each) in lessons.dropped}
    return PreparedRequest(
        request=request,
        api=api,
        writing=writing,
        parameters={k: None if k in written else value for k, value in encoded.body.items()},
        content=encoded.content,
        sha256=encoded.sha256,
        headers={**api.headers, **parameters.headers},
        left_out=tuple(sorted({*parameters.left_out, *dropped})),
        notices=(*parameters.left_out.values(), *_foreign_parts(encoded.new, writing)),
    )


def describe_request(config: ModelConfig, prepared: PreparedRequest, url: str) -> SentRequest:
    """Return what is sent to ``url``, which has no query, for the recorder."""
    return SentRequest(
        url=url,
        has_query="?" in config.base_url,
        has_key=bool(config.api_key),
        public_only=config.public_only,
        parameters=redact_json(prepared.parameters, config.api_key),
        sha256=prepared.sha256,
        size=len(prepared.content),
        tool_call_style=prepared.writing.tool_call_style,
        send_reasoning=prepared.writing.send_reasoning,
        message_changes=prepared.writing.changes,
        api=prepared.api.name,
        family=prepared.writing.family,
        headers=prepared.headers,
        left_out=prepared.left_out,
    )


def rebuild_body(
    sent: SentRequest,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    picture_data: PictureData | None = None,
) -> Body:
    """Return the body of a request that was sent, from its description and conversation."""
    writing = Writing(
        sent.family, sent.tool_call_style, sent.send_reasoning, sent.message_changes, picture_data
    )
    written = APIS[sent.api].conversation(messages, tools, writing)
    return _filled(sent.parameters, written)


def _filled(parameters: Mapping[str, object], written: Body) -> Body:
    """Return the fields of a body with those that the conversation determines."""
    return {
        key: written[key] if value is None and key in written else value
        for key, value in parameters.items()
    }


def in_base64(read_picture: ReadPicture | None) -> PictureData | None:
    """Return a function that returns pictures in base64; None without one that reads them."""
    if read_picture is None:
        return None
    return lambda picture: base64.b64encode(read_picture(picture)).decode()


def _have_pictures(messages: Iterable[Message]) -> bool:
    return any(
        isinstance(message, UserMessage | ToolResult) and message.pictures for message in messages
    )


def _foreign_parts(messages: Iterable[Message], writing: Writing) -> Iterator[str]:
    """Yield a sentence if opaque parts are left out, since another family gave them."""
    families = {
        message.opaque.family
        for message in messages
        if isinstance(message, AssistantMessage) and message.opaque is not None
    }
    if families - {writing.family}:
        yield (
            "Signed or encrypted reasoning of the model that answered before is not sent: only "
            "that model, at its endpoint, can read it."
        )
