"""Encodes requests, each turn of a growing conversation once.

An API writes a turn independently of the others, except for the first one, which has the system
prompt, and the last ones, which ``CACHE_MARKS`` marks: the bytes of those between are kept.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import is_

from agent.models.base import AssistantMessage, EncodedMessages, Message, ToolResult, UserMessage
from agent.models.endpoint.api import CACHE_MARKS, Api, Body
from agent.models.endpoint.writing import Writing

# The fields with a conversation's messages; each API has one of them
MESSAGES = frozenset({"messages", "input"})
_LAST_TURNS = 3  # all but the last one end with a message to the model, and two of them are marked


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """A request's bytes, new messages, and body, which may lack turns in between."""

    body: Body
    content: bytes
    sha256: str
    new: Sequence[Message]


def encode_body(body: Mapping[str, object] | Sequence[Body]) -> bytes:
    """Return the bytes of a request's body, or of messages in it."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def encode_request(
    api: Api,
    writing: Writing,
    messages: Sequence[Message],
    encoded: EncodedMessages | None,
    write: Callable[[Sequence[Message]], Body],
) -> EncodedRequest:
    """Encode a request; ``write`` returns the body for some of its messages."""
    start, end = _turns_between(messages) if encoded is not None else (0, 0)
    if encoded is None or start >= end:
        body = write(messages)
        content = encode_body(body)
        return EncodedRequest(body, content, hashlib.sha256(content).hexdigest(), messages)
    unmarked = replace(writing, changes=tuple(c for c in writing.changes if c != CACHE_MARKS))
    known = _count_known(encoded, (api.name, unmarked), messages, start, end)
    body = write([*messages[:start], *messages[end:]])
    new = [*messages[:start], *messages[start + known :]]
    first = api.conversation(messages[:start], (), unmarked)
    (field,) = MESSAGES & first.keys()
    head, tail = _split(body, field, len(first[field]))
    if encoded.digest is None or encoded.head != head:
        encoded.head, encoded.digest = head, hashlib.sha256(head + encoded.data)
    if added := messages[start + known : end]:
        data = b"," + _encode_list(api.conversation(added, (), unmarked)[field])
        encoded.messages += added
        encoded.data += data
        encoded.digest.update(data)
    digest = encoded.digest.copy()
    digest.update(tail)
    content = b"".join((head, encoded.data, tail))
    return EncodedRequest(body, content, digest.hexdigest(), new)


def _turns_between(messages: Sequence[Message]) -> tuple[int, int]:
    """Return where the turns between the first one and the last ones begin and end."""
    first = (at for at in range(1, len(messages)) if _begins_turn(messages, at))
    start = next(first, len(messages))
    last = (at for at in range(len(messages) - 1, start, -1) if _begins_turn(messages, at))
    return start, next(islice(last, _LAST_TURNS - 1, None), start)


def _begins_turn(messages: Sequence[Message], at: int) -> bool:
    """Return whether an answer begins here that no API merges with the message before."""
    answer, before = messages[at], messages[at - 1]
    if not isinstance(answer, AssistantMessage) or not isinstance(before, UserMessage | ToolResult):
        return False
    return bool(answer.calls or answer.text.strip())


def _count_known(
    encoded: EncodedMessages, how: object, messages: Sequence[Message], start: int, end: int
) -> int:
    """Return how many of the messages between are encoded; forget them if they have changed."""
    count = len(encoded.messages)
    ends = start + count
    if (
        encoded.how == how
        and (ends == end or (ends < end and _begins_turn(messages, ends)))
        # Equal messages may have different bytes, as 1 and True in their opaque parts.
        and all(map(is_, encoded.messages, islice(messages, start, ends)))
    ):
        return count
    encoded.how, encoded.digest = how, None
    encoded.messages.clear()
    encoded.data.clear()
    return 0


def _split(body: Body, field: str, count: int) -> tuple[bytes, bytes]:
    """Return a body's bytes up to its first messages, and those from the others on."""
    names = list(body)
    at = names.index(field)
    before = encode_body({**{name: body[name] for name in names[:at]}, field: []})
    after = encode_body({field: [], **{name: body[name] for name in names[at + 1 :]}})
    head = before[: -len("]}")] + _encode_list(body[field][:count])
    return head, b"," + _encode_list(body[field][count:]) + after[len(f'{{"{field}":[') :]


def _encode_list(items: Sequence[Body]) -> bytes:
    """Return the bytes of a list without its brackets."""
    return encode_body(items)[1:-1]
