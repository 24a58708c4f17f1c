"""Chat messages as in OpenAI's API, which several formats contain, read as items of a trace."""

from collections.abc import Iterator

from agent.models.base import OpaqueParts, ToolCall, Usage
from agent.models.parsing.opaque import bounded
from agent.traces.fields import Fields, dump, shorten
from agent.traces.statuses import finish_of
from agent.traces.trace import Item, Result, Turn, UserText, usage_of_counts

# The field of our exports with what an API gave to be given back: its family and parts
OPAQUE = "opaque"
_MAX_FAMILY_CHARACTERS = 200
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoningContent")


def system_text(message: Fields) -> str | None:
    """Return the text of a system message; None for any other."""
    return message.text("content") if message.text("role") in ("system", "developer") else None


def items_of_message(message: Fields, at: float | None = None) -> Iterator[Item]:
    """Yield what a message of a user, an assistant or a tool says."""
    role = message.text("role")
    if role in ("user", "system", "developer"):
        yield UserText(text=message.text("content"), at=at, reminder=role != "user")
    elif role == "assistant":
        yield turn_of(message, at)
    elif role in ("tool", "function"):
        call_id = message.text("tool_call_id") or message.text("toolCallId")
        yield Result(call_id=call_id, text=message.text("content"), at=at)
    else:
        raise message.error("role", f"“{role[:40]}” is none of system, user, assistant and tool")


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
