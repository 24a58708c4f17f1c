"""Chat messages as in OpenAI's API, which several formats contain, read as items of a trace."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from agent.models.base import OpaqueParts, ToolCall, Usage
from agent.models.parsing.opaque import bounded
from agent.traces.fields import Fields, dump, shorten
from agent.traces.formats.images import Image, size_of
from agent.traces.statuses import finish_of
from agent.traces.trace import Item, Result, Start, Turn, UserText, usage_of_counts

# The field of our exports with what an API gave to be given back: its family and parts
OPAQUE = "opaque"
_LABEL = re.compile(r"(.{1,500}) \(\d{1,6} × \d{1,6} pixels\):")
_MAX_FAMILY_CHARACTERS = 200
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoningContent")


def system_text(message: Fields) -> str | None:
    """Return the text of a system message; None for any other."""
    return message.text("content") if message.text("role") in ("system", "developer") else None


def items_of_message(message: Fields, at: float | None = None) -> Iterator[Item]:
    """Yield what a message of a user, an assistant or a tool says."""
    role = message.text("role")
    if role in ("user", "system", "developer"):
        yield user_text(message, at, reminder=role != "user")
    elif role == "assistant":
        yield turn_of(message, at)
    elif role in ("tool", "function"):
        call_id = message.text("tool_call_id") or message.text("toolCallId")
        shown = user_text(message, at, reminder=False)
        yield Result(call_id=call_id, text=shown.text, at=at, images=shown.images)
    else:
        raise message.error("role", f"“{role[:40]}” is none of system, user, assistant and tool")


def items_of_conversation(
    start: Start,
    messages: Iterable[Fields],
    items_of: Callable[[Fields, float | None], Iterable[Item]] = items_of_message,
    time_of: Callable[[Fields], float | None] = lambda _: None,
) -> Iterator[Item]:
    """Yield a start and the items of its messages; a first one of the system is part of it."""
    begun = False
    for message in messages:
        at, system = time_of(message), system_text(message)
        if not begun:
            begun = True
            yield replace(
                start, system=system or start.system, at=start.at if at is None else at,
                model=start.model or message.text("model"),
            )  # fmt: skip
            if system is not None:
                continue
        yield from items_of(message, at)
    if not begun:
        yield start


def with_shown_pictures(items: Iterable[Item]) -> Iterator[Item]:
    """Move pictures in a message right after results to the last: not all APIs take them there."""
    held: Result | None = None
    for item in items:
        if held is not None and isinstance(item, UserText) and item.images:
            leading, rest = _of_results(item)
            held = replace(held, images=(*held.images, *leading))
            if rest.text or rest.images:
                yield held
                held = None
                yield rest
            continue
        if held is not None:
            yield held
        held = item if isinstance(item, Result) else None
        if held is None:
            yield item
    if held is not None:
        yield held


def _of_results(message: UserText) -> tuple[tuple[Image, ...], UserText]:
    """Return the pictures with which a message begins, and the message that follows them."""
    leading = 0
    if not message.text.strip():
        leading = len(message.images)
    elif all(image.source for image in message.images):
        leading = message.labels_before_text
    rest = replace(message, images=message.images[leading:], while_working=True)
    return message.images[:leading], rest


def label(image: Image) -> str:
    """Return what stands before a picture, as ``agent.models`` sends it."""
    width, height = size_of(image.data) or (0, 0)
    return f"{' '.join(image.source.split())} ({width} × {height} pixels):"


def user_text(message: Fields, at: float | None, *, reminder: bool) -> UserText:
    """Return a user's message, whose pictures may have labels."""
    text, images = message.content("content")
    lines = text.splitlines()
    found = [_LABEL.fullmatch(line) for line in lines]
    if images and sum(each is not None for each in found) == len(images):
        before = next((at for at, each in enumerate(found) if each is None), len(found))
        sources = [each[1] for each in found if each is not None]
        pairs = zip(images, sources, strict=True)
        images = tuple(replace(image, source=source) for image, source in pairs)
        text = "\n".join(line for line, each in zip(lines, found, strict=True) if each is None)
    else:
        before = 0
    return UserText(text=text, at=at, reminder=reminder, images=images, labels_before_text=before)


def turn_of(message: Fields, at: float | None = None) -> Turn:
    """Return the turn that an assistant's message is."""
    calls = [*message.items("tool_calls"), *message.items("toolCalls")]
    if "function_call" in message:  # as before tools had ids
        calls.append(Fields({"function": message.values["function_call"]}, message.place))
    return Turn(
        text=message.text("content"),
        reasoning=next((message.text(name) for name in _REASONING if name in message), ""),
        calls=tuple(_call(call) for call in calls),
        model=message.text("model"),
        finish=finish_of(message.text("finish_reason")),
        at=at,
        opaque=read_opaque(message),
    )


def read_opaque(fields: Fields) -> OpaqueParts | None:
    """Return what an API gave to be given back, as our exports have it; None for none."""
    value = fields.values.get(OPAQUE)
    family, parts = (
        (value.get("family"), value.get("parts")) if isinstance(value, dict) else ("", 0)
    )
    if not isinstance(family, str) or not isinstance(parts, dict):
        return None
    return bounded(family[:_MAX_FAMILY_CHARACTERS], parts)


def usage_of(usage: Fields) -> Usage | None:
    """Return the usage of an answer of OpenAI's API; None if it does not say any."""
    return usage_of_counts(
        usage.count("prompt_tokens"), usage.count("completion_tokens"),
        cached=usage.fields("prompt_tokens_details").count("cached_tokens"),
        reasoning=usage.fields("completion_tokens_details").count("reasoning_tokens"),
    )  # fmt: skip


def _call(call: Fields) -> ToolCall:
    nested = isinstance(call.values.get("function"), dict)
    function = call.fields("function") if nested else call
    arguments = function.values.get("arguments")
    text = arguments if isinstance(arguments, str) else dump({} if arguments is None else arguments)
    name = function.text("name") if nested else call.text("function") or call.text("name")
    return ToolCall(call.text("id"), name or "unknown", shorten(text))
