"""A request of a growing conversation has the bytes of one that is written anew, at its cost."""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from agent.models.base import (
    ApiName,
    AssistantMessage,
    EncodedMessages,
    Message,
    ModelConfig,
    ModelRequest,
    OpaqueParts,
    SystemMessage,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserMessage,
)
from agent.models.chat import changes
from agent.models.endpoint.api import CACHE_MARKS, Api, Body
from agent.models.endpoint.apis import APIS
from agent.models.endpoint.families import Traits
from agent.models.endpoint.learned import Learned, Lessons
from agent.models.endpoint.request import PreparedRequest, prepare_request
from agent.models.endpoint.writing import Writing
from agent.models.messages.request import THINKING_FIRST
from agent.models.responses.request import DEVELOPER
from tests.contract.model_suite import BASH
from tests.properties import property_test

TRAITS = Traits("m", endpoint="e")
CHANGES: dict[ApiName, Sequence[str]] = {
    "chat": (*changes.DROPPED_FIELDS, *changes._CHANGES),
    "responses": (DEVELOPER,),
    "messages": (CACHE_MARKS, THINKING_FIRST),
}
OPAQUE: dict[ApiName, dict[str, Any]] = {
    "chat": {"reasoning_details": [1], "content": "<think></think>"},
    "responses": {"items": [{"type": "reasoning"}, {"type": "function_call", "id": "i"}]},
    "messages": {"blocks": [{"type": "thinking", "signature": "s"}, {"type": "tool_use"}]},
}
LATE = UserMessage("I forgot something.")


class Counting:
    """An API that counts the messages it writes."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    def conversation(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], writing: Writing
    ) -> Body:
        self.count += len(messages)
        return self._api.conversation(messages, tools, writing)


def prepare(
    api: Any, messages: Sequence[Message], encoded: EncodedMessages | None, learned: Learned,
    **settings: Any,
) -> PreparedRequest:  # fmt: skip
    config = ModelConfig("http://host/v1", "m", **settings)
    request = ModelRequest(tuple(messages), [BASH], encoded=encoded)
    return prepare_request(config, request, TRAITS, learned, api)


def turn(api: ApiName, number: int) -> list[Message]:
    opaque = OpaqueParts(f"{api}/m@e", OPAQUE[api])
    call = ToolCall(f"call-{number}", "execute_bash", '{"command": "ls"}')
    answer = AssistantMessage("", "I look.", (call,), opaque=opaque)
    return [answer, ToolResult(call.id, call.name, f"{number} files")]


@pytest.mark.parametrize("style", ["native", "text"])
@pytest.mark.parametrize("api", CHANGES)
def test_a_step_writes_no_more_messages_after_two_thousand_than_after_fifty(
    api: ApiName, style: str
) -> None:
    counting, encoded = Counting(APIS[api]), EncodedMessages()
    learned = Learned(lessons={api: Lessons(changes=tuple(CHANGES[api]))})
    messages: list[Message] = [SystemMessage("Be brief."), UserMessage("Count them.")]
    counts = {}
    for number in range(2001):
        messages += turn(api, number)
        if number in (49, 50, 1999, 2000):
            before = counting.count
            prepared = prepare(counting, messages, encoded, learned, tool_call_style=style)
            counts[number] = counting.count - before
    assert counts[2000] == counts[50] <= 20
    alone = prepare(counting, messages, None, learned, tool_call_style=style)
    assert prepared.content == alone.content


def change(chance: random.Random, api: ApiName, messages: list[Message], number: int) -> None:
    """Change a conversation as a run can: mostly by adding to it."""
    match chance.randrange(13):
        case 0 | 1 | 2 | 3 | 4:
            messages += turn(api, number)
        case 5:
            messages.append(UserMessage(chance.choice(["", "Go on.", "\udcff"])))
        case 6 | 7:
            messages.append(AssistantMessage(chance.choice(["", " ", "Done."])))
        case 8:
            calls = (ToolCall("a b", "x y", "no JSON"), ToolCall("c", "execute_bash", "{}"))
            foreign = OpaqueParts("other", {})
            messages.append(AssistantMessage("Both.", "", calls, "reasoning", foreign))
            messages += [ToolResult(call.id, call.name, "") for call in calls]
        case 9:  # an observation is edited or cleared
            at = chance.randrange(len(messages))
            if isinstance(result := messages[at], ToolResult):
                messages[at] = ToolResult(result.call_id, result.name, "[removed]")
        case 10:  # a summary replaces older steps
            messages[2 : chance.randrange(3, 9)] = []
        case 11:
            messages[1] = UserMessage(f"Another task: {number}.")
        case 12:
            messages.insert(chance.randrange(max(2, len(messages) - 6), len(messages) + 1), LATE)


@property_test(st.sampled_from(sorted(CHANGES)), st.randoms(use_true_random=False))
def test_every_request_has_the_bytes_of_one_that_is_written_anew(api: Any, chance: Any) -> None:
    settings: dict[str, Any] = {
        "tool_call_style": chance.choice(["native", "text"]),
        "send_reasoning": chance.random() < 0.8,
        "extra_body": chance.choice([{}, {"tools": []}, {"input": 1, "messages": {"x": []}}]),
    }
    written, encoded, learned = APIS[api], EncodedMessages(), Learned()
    messages: list[Message] = [SystemMessage("Be brief."), UserMessage("Count them.")]
    for number in range(25):
        change(chance, api, messages, number)
        if chance.random() < 0.1:  # a refusal teaches something
            some = chance.sample(list(CHANGES[api]), chance.randrange(len(CHANGES[api]) + 1))
            learned = Learned(lessons={api: Lessons(changes=tuple(some))})
        if chance.random() < 0.1:
            settings["max_tokens"] = number
        prepared = prepare(written, messages, encoded, learned, **settings)
        alone = prepare(written, messages, None, learned, **settings)
        assert prepared.content == alone.content
        assert prepared.sha256 == hashlib.sha256(prepared.content).hexdigest()
        assert (prepared.parameters, prepared.body) == (alone.parameters, alone.body)
