"""A request to an endpoint: prepared, described for the record, and built again from it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.models.base import (
    AssistantMessage,
    Message,
    ModelConfig,
    ModelRequest,
    SentRequest,
    ToolSchema,
)
from agent.models.endpoint.api import Api, Body, Writing
from agent.models.endpoint.apis import api_named
from agent.models.endpoint.families import Traits
from agent.models.endpoint.learned import Learned
from agent.models.transport.redaction import redact_json

_NEVER_REPLACED = {"messages", "input"}
_NO_SETTINGS = {"stream_options", "store", "include"}  # sent with every request, unasked


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as the endpoint takes it.

    Attributes:
        api: The API.
        writing: How its conversation is written.
        body: The body.
        written: The fields of the body that the conversation determines.
        headers: The headers that the API needs.
        left_out: The names of the settings that are not sent.
        notices: Sentences for the user on what is left out.
    """

    api: Api
    writing: Writing
    body: Body
    written: frozenset[str]
    headers: Mapping[str, str]
    left_out: tuple[str, ...]
    notices: tuple[str, ...]


def prepare_request(
    config: ModelConfig, request: ModelRequest, traits: Traits, learned: Learned, api: Api
) -> PreparedRequest:
    """Return the request for an endpoint.

    ``config.extra_body`` may replace any field except ``messages``, ``input`` and ``stream``.
    ``request.max_tokens`` takes precedence over ``config.max_tokens``.
    """
    lessons = learned.of(api.name)
    limit = config.max_tokens if request.max_tokens is None else request.max_tokens
    parameters = api.parameters(config, limit, traits)
    writing = Writing(
        family=f"{api.name}/{traits.family}@{traits.endpoint}",
        tool_call_style=config.tool_call_style,
        send_reasoning=config.send_reasoning,
        changes=lessons.all_changes(api.known_changes(traits)),
    )
    conversation = api.conversation(request.messages, request.tools, writing)
    written = conversation.keys() - (config.extra_body.keys() - _NEVER_REPLACED)
    body = lessons.adapt({**parameters.body, **config.extra_body})
    body |= {"stream": True, **{key: conversation[key] for key in conversation if key in written}}
    asked = {*(parameters.body.keys() - _NO_SETTINGS), *config.extra_body}
    dropped = {each for each in asked if lessons.renamed.get(each, each) in lessons.dropped}
    return PreparedRequest(
        api=api,
        writing=writing,
        body=body,
        written=frozenset(written),
        headers={**api.headers, **parameters.headers},
        left_out=tuple(sorted({*parameters.left_out, *dropped})),
        notices=(*parameters.left_out.values(), *_foreign_parts(request.messages, writing)),
    )


def encode_body(body: Mapping[str, object]) -> bytes:
    """Return the bytes of a request's body."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def describe_request(
    config: ModelConfig, prepared: PreparedRequest, content: bytes, url: str
) -> SentRequest:
    """Return what is sent, for the recorder.

    Args:
        config: The endpoint and its options.
        prepared: The request.
        content: The body's bytes.
        url: The address without its query.
    """
    parameters = {
        key: None if key in prepared.written else value for key, value in prepared.body.items()
    }
    return SentRequest(
        url=url,
        has_query="?" in config.base_url,
        has_key=bool(config.api_key),
        public_only=config.public_only,
        parameters=redact_json(parameters, config.api_key),
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        tool_call_style=prepared.writing.tool_call_style,
        send_reasoning=prepared.writing.send_reasoning,
        message_changes=prepared.writing.changes,
        api=prepared.api.name,
        family=prepared.writing.family,
        headers=prepared.headers,
        left_out=prepared.left_out,
    )


def rebuild_body(
    sent: SentRequest, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> Body:
    """Return the body of a request that was sent, from its description and conversation."""
    writing = Writing(sent.family, sent.tool_call_style, sent.send_reasoning, sent.message_changes)
    written = api_named(sent.api).conversation(messages, tools, writing)
    return {
        key: written[key] if value is None and key in written else value
        for key, value in sent.parameters.items()
    }


def _foreign_parts(messages: Sequence[Message], writing: Writing) -> Iterator[str]:
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
