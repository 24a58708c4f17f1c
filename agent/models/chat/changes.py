"""Changes of messages that an endpoint needs, by the names in ``Writing.changes``.

They are applied to the finished bodies, so that a request can be built again from the names alone.
A field's name means that the field is not sent.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from agent.models.endpoint.api import CACHE_MARKS, Body

DROPPED_FIELDS = (
    "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "extra_content",
)  # fmt: skip
SYSTEM_AS_USER = "system prompt"
REASONING_REQUIRED = "reasoning_content required"
CONTENT_AS_TEXT = "content never null"
CONTENT_NOT_EMPTY = "content never empty"
SHORT_CALL_IDS = "call ids of nine characters"
ASSISTANT_AFTER_TOOL = "assistant message between tool and user"
MERGED_ROLES = "messages of one role merged"
GOOGLE_SIGNATURES = "thought signatures for google"
VERTEX_SIGNATURES = "thought signatures for vertex"
# What Mistral's own service needs
OF_MISTRAL = (ASSISTANT_AFTER_TOOL, SHORT_CALL_IDS, "reasoning", "reasoning_content")
_NO_SIGNATURE = "skip_thought_signature_validator"  # documented by Google for such calls
_PLACEHOLDER_TEXT = "(no text)"
_BETWEEN = {"role": "assistant", "content": "Understood."}
_CACHED = {"type": "ephemeral"}
_CACHED_MESSAGES = 2
_SHORT_ID = re.compile("[A-Za-z0-9]{9}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def change_messages(messages: list[Body], changes: Collection[str]) -> list[Body]:
    """Return the messages with all of these changes."""
    if not changes:
        return messages
    dropped = {key for key in DROPPED_FIELDS if key in changes}
    for name, change in _CHANGES.items():
        if name in changes:
            messages = change(messages)
    return _without_fields(messages, dropped) if dropped else messages


def marked_tools(tools: list[Body], changes: Collection[str]) -> list[Body]:
    """Return the field ``tools`` with the cache mark, if the endpoint takes one."""
    if CACHE_MARKS not in changes or not tools:
        return tools
    return [*tools[:-1], {**tools[-1], "cache_control": _CACHED}]


def _without_fields(messages: list[Body], names: set[str]) -> list[Body]:
    def clean(body: Body) -> Body:
        body = {key: value for key, value in body.items() if key not in names}
        if calls := body.get("tool_calls"):
            body["tool_calls"] = [
                {key: value for key, value in call.items() if key not in names} for call in calls
            ]
        return body

    return [clean(message) for message in messages]


def _without_system(messages: list[Body]) -> list[Body]:
    """Merge the system prompt into the first user message."""
    system, *rest = messages
    if system["role"] != "system":
        return messages
    if rest and rest[0]["role"] == "user":
        system = {"content": _joined(system["content"], rest.pop(0)["content"])}
    return [{"role": "user", "content": system["content"]}, *rest]


def _with_reasoning(messages: list[Body]) -> list[Body]:
    """Give every assistant message with calls a ``reasoning_content``, empty if there is none."""
    return [
        {**message, "reasoning_content": message.get("reasoning", "")}
        if message.get("tool_calls") and "reasoning_content" not in message
        else message
        for message in messages
    ]


def _with_content(content: str) -> Callable[[list[Body]], list[Body]]:
    return lambda messages: [
        {**message, "content": content} if not message["content"] else message
        for message in messages
    ]


def _with_short_ids(messages: list[Body]) -> list[Body]:
    changed = []
    for message in messages:
        if calls := message.get("tool_calls"):
            message = {
                **message,
                "tool_calls": [{**call, "id": _short_id(call["id"])} for call in calls],
            }
        if "tool_call_id" in message:
            message = {**message, "tool_call_id": _short_id(message["tool_call_id"])}
        changed.append(message)
    return changed


def _short_id(call_id: str) -> str:
    """Return nine letters and digits that this id determines."""
    if _SHORT_ID.fullmatch(call_id):
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode()).digest())
    return "".join(_ALPHABET[number // 62**place % 62] for place in range(9))


def _with_assistant_between(messages: list[Body]) -> list[Body]:
    result: list[Body] = []
    for message in messages:
        if message["role"] == "user" and result and result[-1]["role"] == "tool":
            result.append(_BETWEEN)
        result.append(message)
    return result


def _merged(messages: list[Body]) -> list[Body]:
    """Merge consecutive messages of the user, and of the model where they are only text."""
    result: list[Body] = []
    for message in messages:
        last = result[-1] if result else None
        if last is not None and _is_plain(last) and _is_plain(message) \
                and last["role"] == message["role"]:  # fmt: skip
            result[-1] = {**last, "content": _joined(last["content"], message["content"])}
        else:
            result.append(message)
    return result


def _joined(one: Any, other: Any) -> Any:
    """Return two contents as one: a text, or a list of parts if either has pictures."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _is_plain(message: Body) -> bool:
    return message["role"] in ("user", "assistant") and set(message) == {"role", "content"}


def _with_signatures(key: str) -> Callable[[list[Body]], list[Body]]:
    """Return the change that signs the first call of each turn that Gemini did not make."""
    fields = {"extra_content": {key: {"thought_signature": _NO_SIGNATURE}}}

    def sign(message: Body) -> Body:
        calls = message.get("tool_calls")
        if not calls or any(_is_signed(call) for call in calls):
            return message
        return {**message, "tool_calls": [{**calls[0], **fields}, *calls[1:]]}

    return lambda messages: [sign(message) for message in messages]


def has_placeholder(messages: Sequence[Body], key: str) -> bool:
    """Return whether a call has the placeholder signature under a key."""
    return any(
        isinstance(extra := call.get("extra_content"), Mapping)
        and isinstance(signature := extra.get(key), Mapping)
        and signature.get("thought_signature") == _NO_SIGNATURE
        for message in messages
        for call in message.get("tool_calls") or ()
    )


def _is_signed(call: Body) -> bool:
    extra = call.get("extra_content")
    values = extra.values() if isinstance(extra, Mapping) else ()
    return any(isinstance(each, Mapping) and each.get("thought_signature") for each in values)


def _with_cache_marks(messages: list[Body]) -> list[Body]:
    """Mark the system prompt and the last two messages that the model has not written."""
    marked = list(messages)
    places = [at for at, message in enumerate(messages) if message["role"] in ("user", "tool")]
    system = [0] if messages and messages[0]["role"] == "system" else []
    for at in {*places[-_CACHED_MESSAGES:], *system}:
        parts = _parts(messages[at]["content"])
        last = max(place for place, part in enumerate(parts) if part["type"] == "text")
        parts[last] = {**parts[last], "cache_control": _CACHED}
        marked[at] = {**messages[at], "content": parts}
    return marked


_CHANGES: dict[str, Callable[[list[Body]], list[Body]]] = {
    SYSTEM_AS_USER: _without_system,
    REASONING_REQUIRED: _with_reasoning,
    VERTEX_SIGNATURES: _with_signatures("vertex"),
    GOOGLE_SIGNATURES: _with_signatures("google"),
    CONTENT_AS_TEXT: _with_content(""),
    CONTENT_NOT_EMPTY: _with_content(_PLACEHOLDER_TEXT),
    SHORT_CALL_IDS: _with_short_ids,
    ASSISTANT_AFTER_TOOL: _with_assistant_between,
    MERGED_ROLES: _merged,
    CACHE_MARKS: _with_cache_marks,
}
"""Each change by its name, in the order in which they are applied."""
