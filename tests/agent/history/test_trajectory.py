"""The trajectory: compatible with the reference's format, and more complete."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from agent.events import Event, Reminder
from agent.history.trajectory import build_trajectory
from agent.models.base import OpaqueParts, ToolCall, Usage
from tests.support.component.events import SUBMIT, CallResult, bash, ended, started, step

LIST = bash("ls", "files", seconds=0.5)


def answered(*calls: CallResult, **changes: Any) -> list[Event]:
    """A run with one step."""
    return [
        started("Count."),
        *step(1, *calls, text="I look.", reasoning="Hm.", usage=Usage(10, 5), **changes),
    ]


def test_a_step_has_the_fields_of_the_reference_and_what_it_omits() -> None:
    end = ended("step_limit", reason="why")
    trajectory = build_trajectory([*answered(LIST, seconds=1.25), end])
    assert trajectory["problem_statement"] == "Count."
    (first,) = trajectory["steps"]
    assert first["thought"] == "I look."
    assert first["reasoning_content"] == "Hm."
    assert first["action"] == {"function": "execute_bash", "parameters": {"command": "ls"}}
    assert first["observation"] == "files"
    assert (first["metadata"]["step"], first["metadata"]["exec_time"]) == (1, 1.25)
    assert (first["metadata"]["usage"]["prompt"], first["metadata"]["tool_time"]) == (10, 0.5)
    metadata = trajectory["metadata"]
    assert (metadata["total_steps"], metadata["model"]) == (1, "test-model")
    assert (metadata["status"], metadata["reason"]) == ("step_limit", "why")


def test_every_call_is_an_entry_and_what_is_given_back_is_there_once_for_a_turn() -> None:
    opaque = OpaqueParts("chat/m@x", {"reasoning_details": [{"data": "AA"}]})
    first, second = build_trajectory(answered(LIST, SUBMIT, opaque=opaque))["steps"]
    assert (first["observation"], second["observation"]) == ("files", "")
    assert first["metadata"]["step"] == second["metadata"]["step"] == 1
    assert first["metadata"]["opaque"] == asdict(opaque)
    assert "opaque" not in second["metadata"]


def test_a_plain_answer_and_its_reminder_are_a_step() -> None:
    trajectory = build_trajectory([*answered(), Reminder(step=1, text="You forgot")])
    assert trajectory["steps"][0]["action"] == {"function": "", "parameters": {}}
    assert trajectory["steps"][0]["observation"] == "You forgot"


@pytest.mark.parametrize(
    "arguments",
    ['{"command": ', '{"a": ' + "[" * 200 + "]" * 200 + "}", "[" * 100_000],
    ids=["cut", "deep", "deeper"],
)
def test_arguments_that_are_no_object_of_usual_depth_are_kept_as_text(arguments: str) -> None:
    calls = (ToolCall("a", "execute_bash", arguments),)
    trajectory = build_trajectory(answered(calls=calls))
    assert trajectory["steps"][0]["action"]["parameters"] == {"unparsed": arguments}
    json.dumps(trajectory, indent=2)
