"""What all families of Chat Completions have in common; each one is a subclass."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tests.support.models.turns import Body, Call, Turn, call_chunks, chunk, cut, usage_fields
from tests.support.servers.history import find_history_error
from tests.support.servers.pictures import check_chat_content, find_pictures
from tests.support.servers.server import Api, Counts, Seen, command_of, refuse_if

ReasoningField = Literal["", "reasoning_content", "reasoning"]


class ChatApi(Api):
    """Chat Completions, without reasoning.

    Subclasses say what comes with a call or a message (``call_extras``, ``reasoning_deltas``) and
    check what comes back (``check_messages``). What was issued is kept by the id of the first
    call, or by the text of a message without calls.
    """

    path = "/chat/completions"
    reasoning_field: ReasoningField = ""
    """The field of reasoning, in the answer and in the history."""
    shows_reasoning = True
    """Whether the answer has it."""
    requires_reasoning = False
    """Whether each assistant message with calls must have it, also where it was empty."""
    pictures_refused = ""
    """What it says of a picture; empty if it takes them."""
    most_pictures = 1000
    """The number of pictures that it takes in a request."""

    def __init__(self) -> None:
        super().__init__()
        self.issued: dict[str, Turn] = {}

    # What subclasses change

    def new_call_id(self, seen: Seen, index: int, call: Call) -> str:
        return f"call_{type(self).__name__.lower()}_{next(self._ids)}"

    def call_extras(self, call_id: str, index: int, turn: Turn) -> Body:
        """Return more fields of a call, which have to come back."""
        return {}

    def reasoning_deltas(self, key: str, turn: Turn, seen: Seen) -> Iterator[Body]:
        for part in cut(turn.reasoning if self.shows_reasoning else ""):
            yield {self.reasoning_field or "reasoning_content": part}

    def content(self, turn: Turn) -> str:
        return turn.text

    def argument_fragments(self, text: str) -> Iterator[str]:
        return cut(text)

    def check_parameters(self, body: Body) -> None:
        """Check the fields beside the messages. Raises ``Refused``."""

    def check_messages(self, messages: list[Body], body: Body) -> None:
        """Check what has to come back. Raises ``Refused``."""
        for index, message in assistant_messages(messages):
            self.check_reasoning(index, message)

    def check_reasoning(self, index: int, message: Body) -> None:
        field, calls = self.reasoning_field, message.get("tool_calls")
        missing = self.requires_reasoning and calls and not isinstance(message.get(field), str)
        refuse_if(missing, self.missing_reasoning(index))
        turn = self.issued_turn(message)
        if field and turn is not None and turn.reasoning != (message.get(field) or ""):
            self.lose(f"the reasoning of messages[{index}] in `{field}`")

    def missing_reasoning(self, index: int) -> str:
        return ""

    # The API

    def check(self, body: Body, headers: Mapping[str, str]) -> None:
        error = find_history_error(body.get("messages"))
        refuse_if(error, error)
        for tool in body.get("tools") or []:
            wrong = tool.get("type") != "function" or not tool["function"].get("name")
            refuse_if(wrong, "tools[0]: expected a function", param="tools")
        self.check_parameters(body)
        for index, message in enumerate(body["messages"]):
            check_chat_content(message, index, self.pictures_refused)
        too_many = len(find_pictures(body["messages"])) > self.most_pictures
        limit = f"At most {self.most_pictures} image(s) may be provided in one prompt."  # vLLM
        refuse_if(too_many, limit)
        self.check_messages(body["messages"], body)

    def read(self, body: Body) -> Seen:
        messages = body["messages"]
        calls = [call["function"] for each in messages for call in each.get("tool_calls") or []]
        commands = (command_of(each["name"], parse_arguments(each["arguments"])) for each in calls)
        return Seen(tuple(texts(messages, "user")), tuple(commands), body)

    def prompt_parts(self, body: Body) -> list[Any]:
        return [*(body.get("tools") or []), *body["messages"]]

    def events(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[str]:
        for each in self.chunks(turn, seen, usage):
            yield f"data: {json.dumps(each)}\n\n"
        yield "data: [DONE]\n\n"

    def chunks(self, turn: Turn, seen: Seen, usage: Counts) -> Iterator[Body]:
        calls = turn.made_calls
        ids = [call.id or self.new_call_id(seen, at, call) for at, call in enumerate(calls)]
        key = ids[0] if ids else self.content(turn)
        for each in ids or [key]:
            self.issued[each] = turn
        yield chunk({"role": "assistant", "content": ""})
        for delta in self.reasoning_deltas(key, turn, seen):
            yield chunk(delta)
        for part in cut(self.content(turn)):
            yield chunk({"content": part})
        for index, (call_id, call) in enumerate(zip(ids, calls, strict=True)):
            first = {"id": call_id, "function": {"name": call.name, "arguments": ""}}
            first |= self.call_extras(call_id, index, turn)
            yield from call_chunks(index, first, self.argument_fragments(call.text))
        yield chunk({}, turn.finish or ("tool_calls" if calls else "stop"))
        if (seen.body.get("stream_options") or {}).get("include_usage"):
            yield {**chunk({}), "choices": [], "usage": self.usage(usage)}

    def usage(self, usage: Counts) -> Body:
        return usage_fields((usage.prompt, usage.generated, usage.cached))

    def issued_turn(self, message: Body) -> Turn | None:
        """Return the turn that this message repeats; None if this server did not make it."""
        calls = message.get("tool_calls")
        return self.issued.get(calls[0]["id"] if calls else message.get("content") or "")


def assistant_messages(messages: list[Body]) -> Iterator[tuple[int, Body]]:
    return ((at, each) for at, each in enumerate(messages) if each["role"] == "assistant")


def texts(messages: list[Body], *roles: str) -> list[str]:
    return [content_text(each.get("content")) for each in messages if each["role"] in roles]


def content_text(content: Any) -> str:
    """Return the text of a content, a string or parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def parse_arguments(text: str) -> Body:
    arguments = json.loads(text)
    return arguments if isinstance(arguments, dict) else {}
