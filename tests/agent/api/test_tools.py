"""Custom tools in runs: sent to the model, called, recorded and kept for follow-ups."""

import pytest

from agent import Studio, UsageError, tool
from agent.events import RunStarted, ToolEnded, ToolOutput, ToolStarted
from tests.agent.api.conftest import call, script
from tests.support.component.events import of_type
from tests.support.models.scripted import ScriptedModel

pytestmark = pytest.mark.contract

looked_up_words: list[str] = []


def lookup(word: str) -> str:
    """Look a word up.

    Args:
        word: The word.
    """
    looked_up_words.append(word)
    return f"{word} is a word."


@tool(where="sandbox")
def lines(path: str) -> int:
    """Count the lines of a file."""
    print("reading", path)
    with open(path) as file:  # noqa: PTH123 - executed in the sandbox
        return len(file.readlines())


def test_a_model_calls_tools_on_the_host_and_in_the_sandbox(studio: Studio) -> None:
    model = script(
        call("lookup", word="bread"),
        call("lookup", wrod="bread"),
        call("execute_bash", command="seq 3 > numbers"),
        call("lines", path="numbers"),
    )
    with studio.run("Go.", model=model, tools=[lookup, lines]) as run:
        events = list(run)
        assert isinstance(events[0], RunStarted)
        assert run.result.ok
    assert "\n\nIn this run you also have: `lookup`, `lines`." in events[0].system
    sent_tools = [schema.name for schema in model.requests[0].tools]
    assert sent_tools == ["str_replace_editor", "execute_bash", "submit", "lookup", "lines"]
    assert looked_up_words == ["bread"]
    started = of_type(ToolStarted, events)[0]
    assert (started.name, started.summary) == ("lookup", "lookup word=bread")
    tool_ends = of_type(ToolEnded, events)
    assert [(each.name, each.ok) for each in tool_ends] == [
        ("lookup", True), ("lookup", False), ("execute_bash", True), ("lines", True),
        ("submit", True),
    ]  # fmt: skip
    assert tool_ends[0].observation == "Execution output of [lookup]:\nbread is a word."
    assert "word: Field required" in tool_ends[1].observation
    assert tool_ends[3].observation == "Execution output of [lines]:\n3"
    (output,) = of_type(ToolOutput, events)
    assert (output.stream, output.text) == ("stderr", "reading numbers\n")


def test_tools_are_kept_for_follow_ups(studio: Studio) -> None:
    model = ScriptedModel([call("submit"), call("lookup", word="salt"), call("submit")])
    with studio.run("Go.", model=model, tools=[lookup]) as run:
        run.wait()
        assert run.send("More.").wait().ok
    assert looked_up_words[-1] == "salt"


def test_a_plain_run_has_no_tools(studio: Studio) -> None:
    with pytest.raises(UsageError, match="plain mode has no tools"):
        studio.run("Go.", model=script(), mode="plain", tools=[lookup])
    with pytest.raises(UsageError, match="A tool is a function"):
        studio.run("Go.", model=script(), tools=["lookup"])  # type: ignore[list-item]
