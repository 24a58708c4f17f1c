"""Calls in the form in which the prompt describes them, and conversations in that form."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Piece,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.parsing.content import ContentParser
from agent.models.parsing.text_tool_calls import describe_tools, to_text_messages
from tests.contract.model_suite import BASH, calls_of, text_of
from tests.properties import split_at


def parse(parts: Iterable[str]) -> list[Piece]:
    parser = ContentParser(described=True)
    pieces: list[Piece] = [piece for part in parts for piece in parser.feed(part)]
    return [*pieces, *parser.flush()]


def split_calls(parts: Iterable[str]) -> tuple[str, list[tuple[str, str]]]:
    pieces = parse(parts)
    return text_of(pieces), [(call.name, call.arguments) for call in calls_of(pieces)]


FENCED = '```tool_call\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n```'
TAGGED = '<tool_call>\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n</tool_call>'
LS = ("execute_bash", '{"command": "ls"}')
X = ("f", '{"x": 1}')


@pytest.mark.parametrize(
    ("text", "answer", "calls"),
    [
        ("Just text.", "Just text.", []),
        (FENCED, "", [LS]),
        (TAGGED, "", [LS]),
        (f"Look:\n{FENCED}\nand\n{FENCED}", "Look:\nand\n", [LS, LS]),
        (f"Look: {TAGGED} done", "Look:  done", [LS]),
        (FENCED.removesuffix("\n```"), "", [LS]),
        (TAGGED.removesuffix("</tool_call>"), "", [LS]),
        ('<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>', "", [X]),
        ('<tool_call>{"arguments": {"x": 1}, "name": "f"}</tool_call>', "", [X]),
        ('<tool_call>{"name": "f"}</tool_call>', "", [("f", "{}")]),
        ('<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>', "", [X]),
        ('```tool_call {"name": "f", "arguments": {"x": 1}}```', "", [X]),
        ("<tool_call>ls -la</tool_call>", "", [("", "ls -la")]),
        ('<tool_call>{"name": "f", oops</tool_call>', "", [("f", '{"name": "f", oops')]),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```", []),
        ("Use ```tool_call\nblocks.", "Use ```tool_call\nblocks.", []),
        ("```tool_calls\n{}\n```", "```tool_calls\n{}\n```", []),
        ("a <tool", "a <tool", []),
        ("a\n```to", "a\n```to", []),
    ],
)
def test_calls_are_separated_from_text(
    text: str, answer: str, calls: list[tuple[str, str]]
) -> None:
    assert split_calls([text]) == (answer, calls)
    assert split_calls(text) == (answer, calls)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.lists(st.integers(0), max_size=8),
    st.booleans(),
)
def test_a_formatted_call_is_parsed_back(
    arguments: dict[str, object], positions: list[int], fenced: bool
) -> None:
    body = json.dumps({"name": "f", "arguments": arguments})
    if "</tool_call>" in body:
        return
    text = f"```tool_call\n{body}\n```" if fenced else f"<tool_call>{body}</tool_call>"
    answer, [(name, parsed)] = split_calls(split_at(text, positions))
    assert (answer, name, json.loads(parsed)) == ("", "f", arguments)


def test_arguments_are_streamed_as_written() -> None:
    parser = ContentParser(described=True)
    list(parser.feed('<tool_call>{"name": "create", "arguments": {"text": "abc'))
    (piece,) = parser.feed("def")
    assert isinstance(piece, CallPiece)
    assert piece.arguments == "def"


def test_the_conversation_is_formatted_without_tool_messages() -> None:
    call = ToolCall("a", "execute_bash", '{"command": "ls"}')
    messages = to_text_messages(
        [
            SystemMessage("Be careful."),
            UserMessage("Go."),
            AssistantMessage("Looking.", "Hm.", (call, ToolCall("b", "submit", "{broken"))),
            ToolResult("a", "execute_bash", "x.txt"),
            ToolResult("b", "submit", ""),
            UserMessage("Steps remaining: 3"),
        ],
        [BASH],
    )
    system, first, assistant_message, results = messages
    assert isinstance(system, SystemMessage)
    assert system.text.startswith("Be careful.\n\n# Tools")
    assert first == UserMessage("Go.")
    assert split_calls([getattr(assistant_message, "text", "")])[1] == [LS, ("", "{broken")]
    assert results == UserMessage(
        "Result of execute_bash:\nx.txt\n\nResult of submit:\n(empty)\n\nSteps remaining: 3"
    )


def test_the_description_contains_names_descriptions_and_schemas() -> None:
    text = describe_tools([BASH])
    assert "execute_bash" in text
    assert "Run a command." in text
    assert '"required": ["command"]' in text
    assert describe_tools([]) == ""
