"""Demonstrations: the model that plays them, and the validity of every script."""

import json
from pathlib import Path

import pytest

from agent.errors import ModelRefused
from agent.models.base import (
    AssistantMessage,
    Finish,
    Message,
    ModelRequest,
    Piece,
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
from agent.util.stop import Stop
from tests.contract.model_suite import calls_of, reasoning_of, text_of

NAMES = (
    "animation", "chart", "documents", "journey", "molecule", "music", "physics", "poster",
    "rivers", "survey", "wording",
)  # fmt: skip
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


def answered(*results: str) -> list[Message]:
    """Return a turn of the model whose calls had these results."""
    calls = tuple(ToolCall(text, "execute_bash", "{}") for text in results)
    results_sent = [ToolResult(call.id, call.name, call.id) for call in calls]
    return [AssistantMessage("I'll write a file.", calls=calls), *results_sent]


FIRST_TURN = answered("hello", "hello.txt")


def stream_turn(demonstration: Demonstration | None, *messages: Message) -> list[Piece]:
    model = DemonstrationModel(demonstration, pace=0)
    return list(model.stream(ModelRequest([*TASK, *messages]), Stop()))


# The model


def test_a_turn_streams_the_reasoning_text_and_calls_of_the_script(
    greeting: Demonstration,
) -> None:
    pieces = stream_turn(greeting)
    assert reasoning_of(pieces) == "A file is the shortest greeting."
    assert text_of(pieces) == "I'll write a file."
    assert sum(isinstance(piece, TextPiece) for piece in pieces) == 4
    commands = [json.loads(call.arguments)["command"] for call in calls_of(pieces)]
    assert commands == ["echo hello | tee hello.txt", "ls"]
    assert [piece for piece in pieces if isinstance(piece, Finish)] == [Finish("tool_calls")]
    assert pieces[-1] == Finish("tool_calls")
    assert not DemonstrationModel(greeting).metered


def test_the_position_is_derived_from_the_conversation(greeting: Demonstration) -> None:
    assert [call.name for call in calls_of(stream_turn(greeting, *FIRST_TURN))] == ["submit"]


UNEXPECTED = "stops here: the sandbox did not return the expected result"
CONNECT = r"cannot answer this. To continue, connect a model.*OPENAI_BASE_URL"
IN_BLUE = UserMessage("And in blue?")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        (answered("hello", "tee: hello.txt: Read-only file system"), UNEXPECTED),
        (answered("no"), UNEXPECTED),
        ([*FIRST_TURN, *answered("<<< Finished >>>")], "ends here"),
        ([*FIRST_TURN, IN_BLUE], CONNECT),
        ([*FIRST_TURN, AssistantMessage("Done."), IN_BLUE], CONNECT),
    ],
    ids=["an error", "another result", "the end", "a message", "a follow-up"],
)
def test_the_end_of_a_demonstration_has_a_reason(
    greeting: Demonstration, messages: list[Message], reason: str
) -> None:
    with pytest.raises(ModelRefused, match=reason):
        stream_turn(greeting, *messages)


def test_unknown_tasks_explain_how_to_connect_a_model() -> None:
    with pytest.raises(ModelRefused, match="connect a model"):
        stream_turn(None)


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
def test_every_script_has_valid_calls_an_error_a_fix_and_a_final_submit(name: str) -> None:
    turns = load(name).turns
    calls = [call for turn in turns for call in turn.calls]
    for call in calls:
        action = parse(ToolCall("a", call.tool, json.dumps(call.arguments)), TimeLimits())
        assert not isinstance(action, InvalidCall), action
        assert not action.notes
    assert [call.tool for call in turns[-1].calls] == ["submit"]
    assert "str_replace" in [call.arguments.get("command") for call in calls]
    assert all(each.expect for each in turns[1:])


def test_the_four_documents_are_long_and_one_is_in_an_old_encoding() -> None:
    inputs = load("documents").inputs
    assert len(inputs) == 4
    texts = [path.read_bytes() for path in inputs]
    assert sum(len(text.split()) for text in texts) > 60_000
    assert sum(map(len, texts)) < 400_000
    with pytest.raises(UnicodeDecodeError):
        texts[2].decode()
