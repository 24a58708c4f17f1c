"""What an answer gives to be given back, from its deltas to the next request."""

from typing import Any

import pytest

from agent.models.base import AssistantMessage, Finish, Message, OpaqueParts, ToolCall
from agent.models.chat.api import CHAT as API
from agent.models.chat.changes import has_placeholder
from agent.models.endpoint.writing import Writing
from agent.models.parsing.opaque import MAX_OPAQUE_CHARACTERS

WRITING = Writing("chat/m@x")
CALL = {"index": 0, "id": "a", "function": {"name": "execute_bash", "arguments": "{}"}}
CALLS = (ToolCall("a", "execute_bash", "{}"),)
SIGNATURE = {"google": {"thought_signature": "c2ln"}}


def kept(*deltas: dict[str, Any]) -> OpaqueParts | None:
    """Return the opaque parts of an answer with these deltas."""
    parser = API.parser(WRITING, [])
    for delta in deltas:
        list(parser.feed({"choices": [{"index": 0, "delta": delta}]}))
    list(parser.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
    *_, finish = parser.finish()
    assert isinstance(finish, Finish)
    return finish.opaque


def sent_back(opaque: OpaqueParts | None, text: str = "", writing: Writing = WRITING) -> Any:
    """Return the answer as the next request has it."""
    message: Message = AssistantMessage(text, "Hm.", CALLS, opaque=opaque)
    (body,) = API.conversation([message], [], writing)["messages"]
    return body


@pytest.mark.parametrize(
    "deltas",
    [
        [CALL | {"extra_content": SIGNATURE}],
        [CALL, {"index": 0, "extra_content": SIGNATURE}],  # after its call
    ],
)
def test_a_signature_comes_back_with_its_call(deltas: list[dict[str, Any]]) -> None:
    opaque = kept(*({"tool_calls": [delta]} for delta in deltas))
    assert sent_back(opaque)["tool_calls"][0]["extra_content"] == SIGNATURE
    other = sent_back(opaque, writing=Writing("chat/other@x"))
    assert "extra_content" not in other["tool_calls"][0]
    assert other["reasoning_content"] == "Hm."


def test_details_are_joined_by_index_and_come_back_in_order() -> None:
    text = {"type": "reasoning.text", "index": 0, "format": "f"}
    opaque = kept(
        {"reasoning_details": [text | {"text": "Cou"}]},
        {"reasoning_details": [text | {"text": "nt.", "signature": None}]},
        {"reasoning_details": [text | {"signature": "s1"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "AA"}]},
        {"tool_calls": [CALL]},
    )
    assert sent_back(opaque)["reasoning_details"] == [
        text | {"text": "Count.", "signature": "s1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "AA"},
    ]


def test_the_thinking_in_the_content_comes_back_as_it_came() -> None:
    before = "<think>\nLook first.\n</think>\n\n"
    opaque = kept({"content": before[:9]}, {"content": before[9:] + "I look."})
    body = sent_back(opaque, "I look.")
    assert body["content"] == before + "I look."
    assert "reasoning_content" not in body


def test_reasoning_that_was_empty_comes_back_empty() -> None:
    opaque = kept({"reasoning_content": ""}, {"tool_calls": [CALL]})
    message = AssistantMessage("", "", CALLS, opaque=opaque)
    (body,) = API.conversation([message], [], WRITING)["messages"]
    assert body["reasoning_content"] == ""


def test_nothing_is_kept_of_an_ordinary_answer() -> None:
    assert kept({"content": "Hi", "reasoning": "Hm."}, {"tool_calls": [CALL]}) is None


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("extra", [deep(200), {"x": "y" * MAX_OPAQUE_CHARACTERS}])
def test_what_exceeds_the_bounds_is_not_kept(extra: Any) -> None:
    assert kept({"tool_calls": [CALL | {"extra_content": extra}]}) is None


@pytest.mark.parametrize("extra", ["a google", ["google"], {"google": "a signature"}])
def test_a_refusal_can_be_read_whatever_the_calls_have(extra: Any) -> None:
    assert not has_placeholder([{"tool_calls": [CALL | {"extra_content": extra}]}], "google")


class Uncopied(str):
    """A text that refuses to be copied when it is extended."""

    def __add__(self, other: str) -> str:
        raise AssertionError


def test_details_are_joined_once() -> None:
    delta = {"type": "reasoning.text", "index": 0, "text": Uncopied("Count. ")}
    opaque = kept(*[{"reasoning_details": [delta]}] * 200)
    assert opaque is not None
    assert opaque.parts["reasoning_details"] == [delta | {"text": "Count. " * 200}]
