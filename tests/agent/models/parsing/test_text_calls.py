"""Calls that arrive as text although the endpoint has the tools, in every known form."""

import json
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.base import (
    ModelNotice,
    Piece,
    ReasoningPiece,
    TextPiece,
    TextWasReasoning,
    ToolSchema,
)
from agent.models.parsing.content import ContentParser
from agent.models.parsing.repair import resolve_tool_name
from tests.contract.model_suite import BASH, calls_of, reasoning_of, text_of
from tests.properties import split_at

EDITOR = ToolSchema(
    "str_replace_editor",
    "Edit a file.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "create"]},
            "path": {"type": "string"},
            "file_text": {"type": "string"},
            "view_range": {"type": "array", "items": {"type": "integer"}},
        },
    },
)
SUBMIT = ToolSchema("submit", "Submit.", {"type": "object", "properties": {}})
TOOLS = [BASH, EDITOR, SUBMIT]

LS = ("execute_bash", {"command": "ls"})
VIEW = ("str_replace_editor", {"command": "view", "path": "/a", "view_range": [1, 20]})
LS_OBJECT = '{"name": "execute_bash", "arguments": {"command": "ls"}}'

FORMS: dict[str, tuple[str, list[Any]]] = {
    "Hermes": (f"<tool_call>\n{LS_OBJECT}\n</tool_call>", [LS]),
    "Hermes, two calls": (
        f"<tool_call>\n{LS_OBJECT}\n</tool_call>\n<tool_call>\n{LS_OBJECT}\n</tool_call>", [LS, LS],
    ),
    "Hermes, not closed": (f"<tool_call>\n{LS_OBJECT}", [LS]),
    "Hermes, a number and a namespace": (
        f"<tool_call>{LS_OBJECT}</tool_call>".replace("execute_bash", "functions.execute_bash:0"),
        [LS],
    ),
    "Hermes, arguments as a string": (
        '<tool_call>{"name": "execute_bash", "arguments": "{\\"command\\": \\"ls\\"}"}</tool_call>',
        [LS],
    ),
    "Qwen3-Coder": (
        "<tool_call>\n<function=str_replace_editor>\n<parameter=command>\nview\n</parameter>\n"
        "<parameter=path>\n/a\n</parameter>\n<parameter=view_range>\n[1, 20]\n</parameter>\n"
        "</function>\n</tool_call>",
        [VIEW],
    ),
    "Qwen3-Coder, without the outer opening": (
        "<function=execute_bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        [LS],
    ),
    "Qwen3-Coder, a parameter not closed": (
        "<tool_call><function=execute_bash><parameter=command>\nls\n</function></tool_call>", [LS],
    ),
    "Qwen3-Coder, without parameters": (
        "<tool_call>\n<function=submit>\n</function>\n</tool_call>", [("submit", {})],
    ),
    "Qwen2.5-Coder": (f"```json\n{LS_OBJECT}\n```", [LS]),
    "Qwen2.5-Coder, the name of a tool's command": (
        '```json\n{"name": "view", "arguments": {"path": "/a", "view_range": [1, 20]}}\n```',
        [VIEW],
    ),
    "arguments beside the name of a tool's command": (
        '<tool_call>{"name": "view", "path": "/a", "view_range": [1, 20]}</tool_call>', [VIEW],
    ),
    "Qwen2.5-Coder, doubled braces": (
        '```json\n{{"name": "execute_bash", "arguments": {{"command": "ls"}}}}\n```', [LS],
    ),
    "Qwen2.5-Coder, outer braces doubled": (
        '```json\n{{"name": "execute_bash", "arguments": {"command": "ls"}}}\n```', [LS],
    ),
    "Qwen2.5-Coder, doubled braces alone": (
        '{{"name": "execute_bash", "arguments": {{"command": "ls"}}}}', [LS],
    ),
    "Qwen2.5-Coder, two in a fence": (f"```json\n{LS_OBJECT}\n{LS_OBJECT}\n```", [LS, LS]),
    "Qwen2.5-Coder, an array": (f"```json\n[{LS_OBJECT}, {LS_OBJECT}]\n```", [LS, LS]),
    "Qwen2.5-Coder, one brace too many": (f"```json\n{LS_OBJECT}}}\n```", [LS]),
    "Llama": ('{"name": "execute_bash", "parameters": {"command": "ls"}}', [LS]),
    "an object with its type": (
        f'{{"type": "function", "function": {LS_OBJECT}}}',
        [LS],
    ),
    "gpt-oss": (
        "<|channel|>commentary to=functions.execute_bash <|constrain|>json<|message|>"
        '{"command": "ls"}<|call|>',
        [LS],
    ),
    "gpt-oss, the recipient in the role": (
        "<|start|>assistant to=functions.execute_bash<|channel|>commentary json<|message|>"
        '{"command": "ls"}<|call|>',
        [LS],
    ),
    "DeepSeek V4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="str_replace_editor">\n'
        '<｜DSML｜parameter name="command" string="true">view</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="path" string="true">/a</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="view_range" string="false">[1, 20]</｜DSML｜parameter>\n'
        '</｜DSML｜invoke>\n<｜DSML｜invoke name="execute_bash">\n{"command": "ls"}\n'
        "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        [VIEW, LS],
    ),
    "DeepSeek V3.2, ASCII bars": (
        '<|DSML|function_calls>\n<|DSML|invoke name="execute_bash">\n'
        '<|DSML|parameter name="command" string="true">ls</|DSML|parameter>\n'
        "</|DSML|invoke>\n</|DSML|function_calls>",
        [LS],
    ),
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="execute_bash">\n<parameter name="command">ls'
        "</parameter>\n</invoke>\n</minimax:tool_call>",
        [LS],
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.execute_bash:0"
        '<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_call_begin|>'
        "functions.submit:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_calls_section_end|>",
        [LS, ("submit", {})],
    ),
    "GLM 4.5": (
        "<tool_call>str_replace_editor\n<arg_key>command</arg_key>\n<arg_value>view</arg_value>\n"
        "<arg_key>path</arg_key>\n<arg_value>/a</arg_value>\n<arg_key>view_range</arg_key>\n"
        "<arg_value>[1, 20]</arg_value>\n</tool_call>",
        [VIEW],
    ),
    "GLM 4.7": (
        "<tool_call>execute_bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
        [LS],
    ),
    "GLM 4.7, without arguments": ("<tool_call>submit</tool_call>", [("submit", {})]),
}  # fmt: skip


def parse(
    parts: Iterable[str], tools: Iterable[ToolSchema] = TOOLS, *, described: bool = False
) -> list[Piece]:
    parser = ContentParser(list(tools), described=described)
    pieces: list[Piece] = [piece for part in parts for piece in parser.feed(part)]
    return [*pieces, *parser.flush()]


def parsed_calls(pieces: list[Piece]) -> list[Any]:
    return [(call.name, json.loads(call.arguments)) for call in calls_of(pieces)]


def notices_of(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if isinstance(piece, ModelNotice)]


@pytest.mark.parametrize("described", [False, True], ids=["native", "described"])
@pytest.mark.parametrize(("text", "calls"), FORMS.values(), ids=FORMS)
def test_calls_are_recognised_however_they_are_split(
    text: str, calls: list[Any], described: bool
) -> None:
    for parts in ([f"I look.\n{text}"], list(f"I look.\n{text}")):
        pieces = parse(parts, described=described)
        assert parsed_calls(pieces) == calls
        assert text_of(pieces).rstrip() == "I look."
        assert bool(notices_of(pieces)) is not described
    without_tools = parse([text], [])
    assert not calls_of(without_tools)
    assert not notices_of(without_tools)


@pytest.mark.parametrize(
    "text",
    [
        "Just text.",
        "if a < b: <tool_box> <function> {not json}",
        '```json\n{"name": "Alice", "age": 3}\n```\nis the record.',
        '```json\n{"title": "a", "name": "execute_bash"}\n```',
        '{"name": "unknown_tool", "arguments": {}}',
        '```python\nprint({"name": 1})\n```\n',
        '<tool_call>{"name": "unknown_tool", "arguments": {}}</tool_call> is no call.',
        "<tool_call>unknown<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>",
        "<function=unknown><parameter=a>b</parameter></function>",
        "The tag </tool_call> closes a call.",
        '<|DSML|tool_calls><|DSML|invoke name="unknown">{}</|DSML|invoke></|DSML|tool_calls>',
        "<|tool_calls_section_begin|>nothing<|tool_calls_section_end|>",
        "<|channel|>commentary to=functions.unknown<|message|>{}<|call|>",
        '{"name": ',
        "```json\n",
        "  \n\n",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    for parts in ([text], list(text)):
        pieces = parse(parts)
        assert text_of(pieces) == text
        assert calls_of(pieces) == []


@pytest.mark.parametrize(("text", "calls"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("cut", [0.5, 1.0])
def test_text_calls_do_not_count_beside_native_calls(
    text: str, calls: list[Any], cut: float
) -> None:
    parser = ContentParser(TOOLS)
    middle = int(len(text) * cut)
    pieces = [*parser.feed(text[:middle]), *parser.end_text_calls(), *parser.feed(text[middle:])]
    pieces += parser.flush()
    assert calls_of(pieces) == []
    assert text_of(pieces) == text


def test_a_call_that_is_broken_counts_so_that_the_model_learns_of_it() -> None:
    broken = '{"name": "execute_bash", "arguments": {"command": "echo "hi""}}'
    for text in (f"<tool_call>{broken}</tool_call>", f"```json\n{broken}\n```"):
        (call,) = calls_of(parse([text]))
        assert call.name == "execute_bash"
        assert '"echo "hi""' in call.arguments


def test_text_is_streamed_up_to_what_may_begin_a_call() -> None:
    parser = ContentParser(TOOLS)
    assert list(parser.feed("Hello <b>")) == [TextPiece("Hello <b>")]
    assert list(parser.feed("bold</b> <tool")) == [TextPiece("bold</b> ")]
    assert list(parser.feed("box>\n")) == [TextPiece("<toolbox>\n")]
    assert list(parser.feed('```json\n{"name": "Ali')) == []
    assert list(parser.feed('ce", ')) == [TextPiece('```json\n{"name": "Alice", ')]
    assert list(parser.feed('"age": 3}')) == [TextPiece('"age": 3}')]


def test_messages_of_gpt_oss_are_reasoning_and_text_and_streamed() -> None:
    text = (
        "<|channel|>analysis<|message|>I count.<|end|><|start|>assistant<|channel|>final<|message|>"
        "It is 42.<|return|>"
    )
    for parts in ([text], list(text)):
        pieces = parse(parts, [])
        assert (reasoning_of(pieces), text_of(pieces)) == ("I count.", "It is 42.")
    assert list(ContentParser([]).feed(text[:34])) == [ReasoningPiece("I co")]


FRAGMENTS = [
    "<tool_call>", "</tool_call>", "<tool", "_call>", "<function=submit>", "</function>",
    "```json\n", "```", "``", "\n", '{"name": "submit", ', '"arguments": {}}', '"arguments": {',
    "}", '{"name": "', "{{", "}}", "text", " ", '"', "\\", "<|channel|>", "<|message|>", "<|call|>",
    "<|end|>", "<think>", "</think>", "<th", "ink>", "</", "<", "<|start|>assistant", "to=submit",
    "<arg_key>", "</arg_key>", "[", "]", "```tool_call",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join),
    st.lists(st.integers(0), max_size=8),
    st.sampled_from([(TOOLS, True), (TOOLS, False), ([], True), ([], False)]),
)
def test_the_result_does_not_depend_on_chunk_boundaries(
    text: str, positions: list[int], mode: tuple[list[ToolSchema], bool]
) -> None:
    tools, described = mode
    whole = parse([text], tools, described=described)
    split = parse(split_at(text, positions), tools, described=described)
    assert all(each.text for each in split if isinstance(each, TextPiece | ReasoningPiece))
    assert final(whole) == final(split)


def final(pieces: list[Piece]) -> Any:
    """Return text, reasoning and calls as they are at the end of the turn."""
    calls = [(call.name, call.arguments) for call in calls_of(pieces)]
    begin = max(
        (at for at, each in enumerate(pieces) if isinstance(each, TextWasReasoning)), default=0
    )
    before, after = pieces[:begin], pieces[begin:]
    reasoning = reasoning_of(before) + text_of(before) + reasoning_of(after)
    return text_of(after), reasoning, calls


# Reasoning, also where only its closing tag comes


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
        ("First 41.\n</think>\n\n42", "First 41.\n", "42"),
        ("It is 42.</think>The answer is 42.", "It is 42.", "The answer is 42."),
        ("</think>\n\n42", "", "42"),
        ("cut off</think>", "cut off", ""),
        ("one\n</think>\n<think>two</think>42", "one\ntwo", "42"),
        ("Write `</think>` there.", "", "Write `</think>` there."),
        ("<think>x</think>y</think>z", "x", "y</think>z"),
    ],
)
def test_reasoning_is_separated_from_text(text: str, reasoning: str, answer: str) -> None:
    for parts in ([text], list(text)):
        assert final(parse(parts)) == (answer, reasoning, [])


def test_calls_in_reasoning_do_not_count() -> None:
    call = f"<tool_call>{LS_OBJECT}</tool_call>"
    pieces = parse([f"Maybe {call}?\n</think>\n\nNo."])
    assert final(pieces) == ("No.", f"Maybe {call}?\n", [])


# Names


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("submit", "submit"),
        ("submit<|channel|>commentary", "submit"),
        ("functions.submit", "submit"),
        ("default_api.submit", "submit"),
        ("functions.submit:12", "submit"),
        ("submit:0", "submit"),
        (" submit ", "submit"),
        ("a.b", "a.b"),
        ("submit_all", "submit_all"),
        ("submit.other", "submit.other"),
        ("", ""),
    ],
)
def test_leaked_prefixes_and_suffixes_of_names_are_removed(written: str, name: str) -> None:
    assert resolve_tool_name(written, {"submit", "a.b"}) == name


# Hostile texts take time in proportion to their length


def work(parts: list[str], described: bool) -> int:
    """Return the number of executed lines plus the characters copied by slices and joins."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if "agent/models/parsing" not in frame.f_code.co_filename:
            return None
        count += 1
        if event == "line":
            data = frame.f_locals.get("data")
            held = frame.f_locals.get("self")
            count += len(getattr(held, "_tail", "")) + len(getattr(held, "_buffer", ""))
            count += 0 if not isinstance(data, str) or len(parts) == 1 else len(data)
        return trace

    sys.settrace(trace)
    try:
        parse(parts, described=described)
    finally:
        sys.settrace(None)
    return count


HOSTILE = [
    "<tool_call>", "<tool_call></tool_call>", "<function=", '{"name": "submit", "arguments": {',
    '```json\n{"name": "', "```tool_call\n", "x ```tool_call\n", "</tool_call>", "<|channel|>",
    "<parameter=a>", "<tool_call><function=submit><parameter=a>", "<think>", "</think", "`", " ",
    "\n", "{", '{"', '\\"', "<arg_key>", "<｜DSML｜tool_calls><｜DSML｜invoke name=\"submit\">",
    "<|tool_calls_section_begin|><|tool_call_begin|>", "<|start|>assistant<|message|>", "}",
    "<think></think>",
]  # fmt: skip


@pytest.mark.parametrize("described", [False, True], ids=["native", "described"])
@pytest.mark.parametrize("fragment", HOSTILE)
def test_the_work_grows_with_the_length(fragment: str, described: bool) -> None:
    for cut in (lambda text: [text], list):
        small, large = (work(cut(fragment * count), described) for count in (15, 60))
        assert large < 6 * small
