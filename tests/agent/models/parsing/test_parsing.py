"""Parsing of reasoning and tool calls in a model's text, for any chunk boundaries."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Piece,
    ReasoningPiece,
    SystemMessage,
    TextPiece,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.parsing.text_calls.splitter import CallSplitter
from agent.models.parsing.text_tool_calls import describe_tools, to_text_messages
from agent.models.parsing.think import ThinkSplitter
from tests.contract.model_suite import BASH, calls_of, reasoning_of, text_of

FRAGMENTS = [
    "<think>",
    "</think>",
    "<th",
    "ink>",
    "</",
    "think>",
    "<",
    ">",
    "a",
    " ",
    "\n",
    "<think",
]
CALL_FRAGMENTS = [
    "```tool_call\n", "```", "\n```", "\n", "<tool_call>", "</tool_call>", "<tool", "_call>", "``",
    '{"name": "a", "arguments": {"x": "}"}}', '{"name": "a", ', '"arguments": {', "}", '"', "text",
]  # fmt: skip


def split_at(text: str, positions: Iterable[int]) -> list[str]:
    boundaries = sorted({position % (len(text) + 1) for position in positions})
    return [text[a:b] for a, b in zip([0, *boundaries], [*boundaries, len(text)], strict=True)]


def split_reasoning(parts: Iterable[str]) -> tuple[str, str]:
    splitter = ThinkSplitter()
    pieces: list[Piece] = [piece for part in parts for piece in splitter.feed(part)]
    pieces += splitter.flush()
    assert all(piece.text for piece in pieces if isinstance(piece, TextPiece | ReasoningPiece))
    return reasoning_of(pieces), text_of(pieces)


def split_calls(parts: Iterable[str]) -> tuple[str, list[tuple[str, str]]]:
    splitter = CallSplitter(described=True)
    split = [piece for part in parts for piece in splitter.feed(part)] + splitter.flush()
    pieces = [piece for piece in split if isinstance(piece, TextPiece | CallPiece)]
    return text_of(pieces), [(call.name, call.arguments) for call in calls_of(pieces)]


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Hello", "", "Hello"),
        ("<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("\n<think>\nHm.\n</think>\n\nYes.\n", "Hm.\n", "Yes.\n"),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>one</think>\n<think>two</think>Yes.", "onetwo", "Yes."),
        ("<think>cut off here", "cut off here", ""),
        ("Write <think>x</think> first.", "", "Write <think>x</think> first."),
        ("Yes </think> no", "", "Yes </think> no"),
        ("<think>a < b </thin k></think>c", "a < b </thin k>", "c"),
        ("<thinking>x", "", "<thinking>x"),
        ("  ", "", "  "),
        ("<thin", "", "<thin"),
        ("<think>x</thin", "x</thin", ""),
    ],
)
def test_reasoning_is_separated_from_text(text: str, reasoning: str, answer: str) -> None:
    assert split_reasoning([text]) == (reasoning, answer)
    assert split_reasoning(text) == (reasoning, answer)


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
    st.lists(st.integers(0), max_size=8),
)
def test_reasoning_does_not_depend_on_chunk_boundaries(text: str, positions: list[int]) -> None:
    assert split_reasoning(split_at(text, positions)) == split_reasoning([text])


FENCED = '```tool_call\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n```'
TAGGED = '<tool_call>\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n</tool_call>'
LS = ("execute_bash", '{"command": "ls"}')


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
        ('<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>', "", [("f", '{"x": 1}')]),
        ('<tool_call>{"arguments": {"x": 1}, "name": "f"}</tool_call>', "", [("f", '{"x": 1}')]),
        ('<tool_call>{"name": "f"}</tool_call>', "", [("f", "{}")]),
        (
            '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>',
            "",
            [("f", '{"x": 1}')],
        ),
        ('```tool_call {"name": "f", "arguments": {"x": 1}}```', "", [("f", '{"x": 1}')]),
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


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(CALL_FRAGMENTS), max_size=12).map("".join),
    st.lists(st.integers(0), max_size=8),
)
def test_calls_do_not_depend_on_chunk_boundaries(text: str, positions: list[int]) -> None:
    assert split_calls(split_at(text, positions)) == split_calls([text])


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
    answer, calls = split_calls(split_at(text, positions))
    assert answer == ""
    assert [(name, json.loads(parsed_arguments)) for name, parsed_arguments in calls] == [
        ("f", arguments)
    ]


def test_arguments_are_streamed_as_written() -> None:
    splitter = CallSplitter(described=True)
    pieces = [
        *splitter.feed('<tool_call>{"name": "create", "arguments": {"text": "abc'),
        *splitter.feed("def"),
    ]
    assert [piece for piece in pieces if isinstance(piece, CallPiece)][-1].arguments == "def"


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
