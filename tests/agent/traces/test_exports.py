"""Runs written in the formats of other tools: valid there, and complete when read again."""

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    Event,
    ModelAnswered,
    Notice,
    Reminder,
    StepStarted,
    Totals,
    encode,
)
from agent.models.base import OpaqueParts, ToolCall, TurnTokens, Usage
from agent.traces import token_ids
from agent.traces.formats import atif, sts
from agent.traces.importing import import_file
from agent.traces.journal_items import items_of, items_of_journal, messages_of_journal
from tests.agent.traces.samples import FILES, events_of
from tests.support.component.events import (
    answered,
    continued,
    ended,
    of_type,
    started,
    tool_ended,
)

ROOT = Path(__file__).parents[3]
MODELS = ROOT / ".make" / "harbor"


@pytest.fixture
def trajectory_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Harbor's own model of a trajectory."""
    if not (MODELS / "harbor" / "models").is_dir():
        pytest.skip("Harbor's models are missing. To download them: make .make/harbor")
    monkeypatch.syspath_prepend(str(MODELS))
    yield importlib.import_module("harbor.models.trajectories").Trajectory
    for name in [name for name in sys.modules if name.split(".")[0] == "harbor"]:
        del sys.modules[name]


OPAQUE = OpaqueParts("chat/m@x", {"calls": {"0": {"extra_content": {"google": {"s": "c2ln"}}}}})


def run_events() -> list[Event]:
    calls = (
        ToolCall("a", "execute_bash", '{"command": "ls"}'),
        ToolCall("b", "execute_bash", '{"command": "ls'),
    )
    totals = Totals(steps=2, prompt_tokens=190, generated_tokens=12, cost=0.5)
    return [
        started("Count.", run="r1", model="m", system="You are careful.",
                user="<task>Count.</task>", at=1000.0),
        StepStarted(step=1, note="", at=1000.5),
        answered(
            1, "I look.", *calls, usage=Usage(90, 8, cached=50, reported=("cached",)),
            reasoning="Hm.", tokens=TurnTokens(0, (5, 6, 7), (8, 9), (-0.5, -0.25)), seconds=1.5,
            at=1002.0, opaque=OPAQUE,
        ),
        tool_ended(1, "a", "out", ok=False, exit_code=2, seconds=0.25, at=1003.0),
        tool_ended(1, "b", "The arguments are not valid JSON.", ok=False, exit_code=None,
                   seconds=0.0, at=1003.5),
        Reminder(step=1, text="Use a tool.", at=1004.0),
        StepStarted(step=2, note="", at=1004.0),
        answered(2, "Two.", usage=Usage(100, 4), seconds=1.0,
                 tokens=TurnTokens(4, (3,), (9,), ()), at=1005.0),
        Notice(step=2, text="Adapted.", at=1005.0),
        replace(ended("answered", "2", totals=totals), at=1006.0),
        continued("And now?", model="m", at=1100.0),
        replace(ended("stopped", reason="Stopped by the user.", totals=totals), at=1101.0),
    ]  # fmt: skip


def write_journal(path: Path, events: list[Event]) -> Path:
    path.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    return path


@pytest.mark.nightly
def test_atif_is_valid_for_harbor(trajectory_model: Any) -> None:
    text = "".join(atif.write(items_of(run_events()), "r1"))
    trajectory = trajectory_model.model_validate_json(text)
    assert trajectory.schema_version == "ATIF-v1.7"
    assert trajectory.session_id == "r1"
    system, user, first, *_ = trajectory.steps
    assert (system.source, system.message) == ("system", "You are careful.")
    assert (user.source, user.message) == ("user", "<task>Count.</task>")
    found = [each.arguments for each in first.tool_calls]
    assert found == [{"command": "ls"}, {"unparsed": '{"command": "ls'}]
    assert [each.source_call_id for each in first.observation.results] == ["a", "b"]
    assert first.metrics.cached_tokens == 50
    assert first.metrics.prompt_token_ids == [5, 6, 7]
    assert first.metrics.completion_token_ids == [8, 9]
    assert first.metrics.logprobs == [-0.5, -0.25]
    # The whole prompt, after a part of the conversation was removed; no known probabilities.
    second = next(step for step in trajectory.steps if step.message == "Two.")
    assert second.metrics.prompt_token_ids == [5, 6, 7, 8, 3]
    assert (second.metrics.completion_token_ids, second.metrics.logprobs) == ([9], None)
    names = [tool["function"]["name"] for tool in trajectory.agent.tool_definitions]
    assert names == ["str_replace_editor", "execute_bash", "submit"]
    assert trajectory.final_metrics.total_prompt_tokens == 190
    assert trajectory.final_metrics.total_cost_usd == 0.5
    assert trajectory.final_metrics.total_steps == len(trajectory.steps)


def test_a_total_that_no_endpoint_reported_is_left_out() -> None:
    known, unknown = Usage(100, 4, reported=("cached",)), Usage(100, 4)
    for usage, cached in ((known, 0), (unknown, "left out")):
        turn = answered(1, "Two.", usage=usage)
        events: list[Event] = [started("Count."), turn, ended("answered", "Two.")]
        metrics = json.loads("".join(atif.write(items_of(events), "r1")))["final_metrics"]
        assert metrics.get("total_cached_tokens", "left out") == cached


def test_prompts_are_not_repeated_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_ids, "MAX_PROMPT_IDS", 2)
    steps = json.loads("".join(atif.write(items_of(run_events()), "r1")))["steps"]
    answers = [step["metrics"] for step in steps if step["source"] == "agent"]
    assert ["prompt_token_ids" in metrics for metrics in answers] == [True, False]


@pytest.mark.nightly
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_imported_run_is_valid_atif(
    file: Path, tmp_path: Path, trajectory_model: Any
) -> None:
    for each in import_file(file, tmp_path):
        journal = tmp_path / "runs" / each.run / "journal.jsonl"
        trajectory_model.model_validate_json(
            "".join(atif.write(items_of_journal(journal), each.run))
        )


@pytest.mark.nightly
def test_the_copied_steps_of_a_fork_are_marked(tmp_path: Path, trajectory_model: Any) -> None:
    journal = write_journal(tmp_path / "journal.jsonl", run_events()[:6])
    with journal.open("ab") as file:
        file.write(b'{"at":1050.0,"step":1,"kind":"forked"}\n')
        file.write(b"".join(encode(event) + b"\n" for event in run_events()[6:9]))
    text = "".join(atif.write(items_of_journal(journal), "r1"))
    trajectory = trajectory_model.model_validate_json(text)
    found = [step.is_copied_context for step in trajectory.steps if step.source != "system"]
    assert found == [True, True, None, None]
    assert trajectory.final_metrics.total_prompt_tokens == 100


def test_imported_tools_are_in_an_export(tmp_path: Path) -> None:
    run = import_file(FILES[1], tmp_path)[0].run
    text = "".join(atif.write(items_of_journal(tmp_path / "runs" / run / "journal.jsonl"), run))
    (tool,) = json.loads(text)["agent"]["tool_definitions"]
    assert tool["function"]["name"] == "look"


def test_messages_are_those_that_were_sent(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal.jsonl", run_events())
    (line,) = "".join(messages_of_journal(journal)).splitlines()
    conversation = json.loads(line)
    found = [each["role"] for each in conversation["messages"]]
    assert found == ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"]
    assistant = conversation["messages"][2]
    assert assistant["reasoning_content"] == "Hm."
    assert assistant["opaque"] == asdict(OPAQUE)
    assert assistant["tool_calls"][1]["function"]["arguments"] == '{"command": "ls'
    assert len(conversation["tools"]) == 3


def test_a_session_for_the_hub(tmp_path: Path) -> None:
    lines = "".join(sts.write(items_of(run_events()), "r1")).splitlines()
    header, *messages = [json.loads(line) for line in lines]
    about = {"type": "session", "harness": "llm-in-sandbox-studio", "id": "r1", "name": "Count."}
    assert header | about == header
    assert {each["type"] for each in messages} == {"message"}
    answer = messages[2]["message"]
    assert (answer["reasoningContent"], answer["timestamp"]) == ("Hm.", 1002000)
    assert (answer["model"], answer["opaque"]) == ("m", asdict(OPAQUE))
    assert messages[3]["message"]["toolCallId"] == "a"


def test_an_exported_run_is_the_same_when_imported(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("".join(atif.write(items_of(run_events()), "r1")))
    (run,) = import_file(file, tmp_path)
    again = events_of(tmp_path, run.run)
    assert list(items_of(again)) == list(items_of(run_events()))
    before, after = (of_type(ModelAnswered, events) for events in (run_events(), again))
    assert [each.tokens for each in after] == [each.tokens for each in before]
