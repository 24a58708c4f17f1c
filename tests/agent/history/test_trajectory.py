"""The trajectory: compatible with the reference's format, and more complete."""

import json
from dataclasses import asdict, replace

import pytest

from agent.events import (
    Event,
    ModelAnswered,
    Reminder,
    RunEnded,
    RunStarted,
    StepStarted,
    ToolEnded,
    Totals,
)
from agent.history.trajectory import build_trajectory
from agent.models.base import OpaqueParts, ToolCall, Usage

STARTED = RunStarted(
    run="r1", task="Count.", mode="sandbox", model="m", metered=True, prompt="general",
    system="S", user="U",
)  # fmt: skip


def model_answered(step: int, *calls: ToolCall) -> ModelAnswered:
    return ModelAnswered(
        step=step, text="I look.", reasoning="Hm.", calls=calls, finish="tool_calls",
        usage=Usage(10, 5), estimated=False, seconds=1.25,
    )  # fmt: skip


def tool_ended(call_id: str, text: str) -> ToolEnded:
    return ToolEnded(
        step=1, call_id=call_id, name="execute_bash", ok=True, exit_code=0, end_reason="exit",
        seconds=0.5, observation=text,
    )  # fmt: skip


LIST_CALL = ToolCall("a", "execute_bash", '{"command": "ls"}')


def test_a_step_has_the_fields_of_the_reference() -> None:
    events: list[Event] = [
        STARTED,
        StepStarted(step=1, note=""),
        model_answered(1, LIST_CALL),
        tool_ended("a", "files"),
    ]
    trajectory = build_trajectory(events)
    assert trajectory["problem_statement"] == "Count."
    (step,) = trajectory["steps"]
    assert step["thought"] == "I look."
    assert step["reasoning_content"] == "Hm."
    assert step["action"] == {"function": "execute_bash", "parameters": {"command": "ls"}}
    assert step["observation"] == "files"
    assert (step["metadata"]["step"], step["metadata"]["exec_time"]) == (1, 1.25)
    assert trajectory["metadata"]["total_steps"] == 1


def test_what_an_api_gave_to_be_given_back_is_there_once_for_a_turn() -> None:
    opaque = OpaqueParts("chat/m@x", {"reasoning_details": [{"data": "AA"}]})
    other_call = replace(LIST_CALL, id="b")
    answered = replace(model_answered(1, LIST_CALL, other_call), opaque=opaque)
    first, second = build_trajectory([STARTED, StepStarted(step=1, note=""), answered])["steps"]
    assert first["metadata"]["opaque"] == asdict(opaque)
    assert "opaque" not in second["metadata"]


def test_it_contains_what_the_reference_omits() -> None:
    run_ended = RunEnded(status="step_limit", reason="why", answer="4", totals=Totals(steps=1))
    trajectory = build_trajectory(
        [STARTED, model_answered(1, LIST_CALL), tool_ended("a", "files"), run_ended]
    )
    assert trajectory["steps"][0]["metadata"]["usage"]["prompt"] == 10
    assert trajectory["steps"][0]["metadata"]["tool_time"] == 0.5
    metadata = trajectory["metadata"]
    assert (metadata["model"], metadata["status"], metadata["reason"]) == ("m", "step_limit", "why")


def test_every_call_of_a_turn_is_an_entry() -> None:
    other = ToolCall("b", "submit", "")
    trajectory = build_trajectory(
        [STARTED, model_answered(1, LIST_CALL, other), tool_ended("a", "x"), tool_ended("b", "y")]
    )
    assert [step["observation"] for step in trajectory["steps"]] == ["x", "y"]
    assert [step["metadata"]["step"] for step in trajectory["steps"]] == [1, 1]


def test_non_object_arguments_are_kept_as_written() -> None:
    trajectory = build_trajectory(
        [STARTED, model_answered(1, ToolCall("a", "execute_bash", '{"command": '))]
    )
    assert trajectory["steps"][0]["action"]["parameters"] == {"unparsed": '{"command": '}


def test_a_plain_answer_and_its_reminder_are_a_step() -> None:
    trajectory = build_trajectory([STARTED, model_answered(1), Reminder(step=1, text="You forgot")])
    assert trajectory["steps"][0]["action"] == {"function": "", "parameters": {}}
    assert trajectory["steps"][0]["observation"] == "You forgot"


@pytest.mark.parametrize("nested", ['{"a": ' + "[" * 200 + "]" * 200 + "}", "[" * 100_000])
def test_too_deeply_nested_arguments_are_kept_as_text(nested: str) -> None:
    trajectory = build_trajectory(
        [STARTED, model_answered(1, ToolCall("a", "execute_bash", nested))]
    )
    assert trajectory["steps"][0]["action"]["parameters"] == {"unparsed": nested}
    json.dumps(trajectory, indent=2)
