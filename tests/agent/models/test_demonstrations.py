"""Demonstrations: the model that plays them, and the validity of every script."""

import json
from pathlib import Path

import pytest

from agent.errors import ModelRefused
from agent.models.base import (
    AssistantMessage,
    CallPiece,
    Finish,
    Message,
    ModelRequest,
    Piece,
    ReasoningPiece,
    SystemMessage,
    TextPiece,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.demonstration import (
    Demonstration,
    DemonstrationModel,
    find_by_task,
    load,
    load_all,
    read_demonstration,
)
from agent.tools.actions import InvalidCall
from agent.tools.call_parser import TimeLimits, parse
from agent.util.cancellation import Stop

NAMES = (
    "animation",
    "chart",
    "documents",
    "journey",
    "molecule",
    "music",
    "physics",
    "poster",
    "survey",
    "wording",
)


SCRIPT = """
title: Greet
task: |
  Say hello to the file system.
watch: It says hello.
seconds: 1
turns:
  - reasoning: A file is the shortest greeting.
    text: I'll write a file.
    calls:
      - tool: execute_bash
        arguments: {command: echo hello | tee hello.txt}
      - tool: execute_bash
        arguments: {command: ls}
  - expect: ['hello', '(?m)^hello.txt$']
    text: Done.
    calls:
      - tool: submit
"""


@pytest.fixture
def greeting(tmp_path: Path) -> Demonstration:
    path = tmp_path / "greeting.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    return read_demonstration(path)


TASK: list[Message] = [SystemMessage("Work."), UserMessage("<problem>Say hello.</problem>")]


def conversation_after_first_turn(result: str = "hello\nhello.txt") -> list[Message]:
    """Return the conversation after the first turn, with results for its two calls."""
    calls = (ToolCall("a", "execute_bash", "{}"), ToolCall("b", "execute_bash", "{}"))
    first, _, second = result.partition("\n")
    return [
        *TASK,
        AssistantMessage("I'll write a file.", calls=calls),
        ToolResult("a", "execute_bash", first),
        ToolResult("b", "execute_bash", second),
    ]


def stream_turn(demonstration: Demonstration | None, messages: list[Message]) -> list[Piece]:
    model = DemonstrationModel(demonstration, pace=0)
    return list(model.stream(ModelRequest(messages), Stop()))


# The model


def test_a_turn_streams_the_reasoning_text_and_calls_of_the_script(
    greeting: Demonstration,
) -> None:
    pieces = stream_turn(greeting, TASK)
    reasoning = [piece.text for piece in pieces if isinstance(piece, ReasoningPiece)]
    text = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert "".join(reasoning) == "A file is the shortest greeting."
    assert "".join(text) == "I'll write a file."
    assert len(text) == 4
    arguments = ["", ""]
    for piece in pieces:
        if isinstance(piece, CallPiece):
            arguments[piece.index] += piece.arguments
    assert [json.loads(each)["command"] for each in arguments] == [
        "echo hello | tee hello.txt",
        "ls",
    ]


def test_a_turn_ends_in_one_finish_without_usage(greeting: Demonstration) -> None:
    pieces = stream_turn(greeting, TASK)
    assert [piece for piece in pieces if isinstance(piece, Finish)] == [Finish("tool_calls")]
    assert pieces[-1] == Finish("tool_calls")
    assert not DemonstrationModel(greeting).metered


def test_the_position_is_derived_from_the_conversation(greeting: Demonstration) -> None:
    names = [
        piece.name
        for piece in stream_turn(greeting, conversation_after_first_turn())
        if isinstance(piece, CallPiece)
    ]
    assert names[0] == "submit"


def test_an_unexpected_result_ends_the_demonstration_with_a_reason(greeting: Demonstration) -> None:
    with pytest.raises(ModelRefused, match="stops here: the sandbox did not return"):
        stream_turn(
            greeting, conversation_after_first_turn("hello\ntee: hello.txt: Read-only file system")
        )


def test_expectations_apply_to_the_last_results_only(greeting: Demonstration) -> None:
    second_calls = (ToolCall("c", "execute_bash", "{}"),)
    messages = [
        *conversation_after_first_turn(),
        AssistantMessage("", calls=second_calls),
        ToolResult("c", "execute_bash", "no"),
    ]
    del messages[2:5]
    with pytest.raises(ModelRefused, match="did not return the expected result"):
        stream_turn(greeting, messages)


def test_the_end_is_reported_after_the_last_turn(greeting: Demonstration) -> None:
    messages = [
        *conversation_after_first_turn(),
        AssistantMessage("Done."),
        ToolResult("c", "submit", "<<< Finished >>>"),
    ]
    with pytest.raises(ModelRefused, match="ends here"):
        stream_turn(greeting, messages)


@pytest.mark.parametrize(
    "messages",
    [
        conversation_after_first_turn(),
        [*conversation_after_first_turn(), AssistantMessage("Done.")],
    ],
)
def test_a_follow_up_explains_how_to_connect_a_model(
    greeting: Demonstration, messages: list[Message]
) -> None:
    with pytest.raises(
        ModelRefused, match=r"cannot answer this. To continue, connect a model.*OPENAI_BASE_URL"
    ):
        stream_turn(greeting, [*messages, UserMessage("And in blue?")])


def test_unknown_tasks_explain_how_to_connect_a_model() -> None:
    with pytest.raises(ModelRefused, match="connect a model"):
        stream_turn(None, TASK)


def test_a_stop_ends_the_stream_immediately_without_a_finish(greeting: Demonstration) -> None:
    stop = Stop()
    pieces = DemonstrationModel(greeting, pace=0.01).stream(ModelRequest(TASK), stop)
    stop.set()
    assert list(pieces) == []


# The files


def test_each_demonstration_is_found_by_its_task() -> None:
    assert tuple(each.name for each in load_all()) == NAMES
    for each in load_all():
        assert load(each.name) is each
        assert find_by_task(f"  {each.task}\r\n") is each
    assert find_by_task("Something else") is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("- a list", "not a mapping"),
        (SCRIPT.replace("seconds: 1", "seconds: soon"), "seconds"),
        (SCRIPT.replace("watch:", "look:"), "watch"),
        (SCRIPT.replace("'hello'", "'(hello'"), "expect"),
        (SCRIPT.replace("tool: submit", "tool: ''"), r"turns.1.calls.0.tool"),
        (SCRIPT.replace("title: Greet", "title: [Greet"), "line"),
    ],
)
def test_an_invalid_file_is_reported_with_the_error(
    tmp_path: Path, broken: str, message: str
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"(?s)odd\.yaml is not a demonstration.*{message}"):
        read_demonstration(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_valid_without_notes(name: str) -> None:
    for each in load(name).turns:
        for call in each.calls:
            action = parse(ToolCall("a", call.tool, json.dumps(call.arguments)), TimeLimits())
            assert not isinstance(action, InvalidCall), action
            assert not action.notes


@pytest.mark.parametrize("name", NAMES)
def test_every_script_has_an_error_a_fix_and_a_final_submit(name: str) -> None:
    turns = load(name).turns
    assert [call.tool for call in turns[-1].calls] == ["submit"]
    edits = [call.arguments.get("command") for each in turns for call in each.calls]
    assert "str_replace" in edits
    assert all(each.expect for each in turns[1:])


def test_the_four_documents_are_long_and_one_is_in_an_old_encoding() -> None:
    inputs = load("documents").inputs
    assert len(inputs) == 4
    texts = [path.read_bytes() for path in inputs]
    assert sum(len(text.split()) for text in texts) > 60_000
    assert sum(map(len, texts)) < 400_000
    with pytest.raises(UnicodeDecodeError):
        texts[2].decode()
