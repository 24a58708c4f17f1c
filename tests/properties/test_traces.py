"""Traces: whatever a run holds survives a format that can hold it; a reader survives any file."""

import io
import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from agent.errors import TraceError
from agent.events import Event, Status, encode
from agent.history.trajectory import build_trajectory
from agent.models.base import ToolCall, Usage
from agent.runs.folder import RunFolder
from agent.runs.journal import read
from agent.traces.fields import dump
from agent.traces.formats import atif, sts
from agent.traces.importing import import_file
from agent.traces.journal_items import items_of, messages_of_journal
from agent.traces.json_reader import JsonReader
from agent.traces.recording import TraceRecorder
from agent.traces.trace import Ended, Item, Result, Review, Start, Turn, UserText
from tests.properties import TEXT, any_json, property_test

SOME_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.sampled_from(["execute_bash", "str_replace_editor", "submit", "look"])
COUNTS = st.integers(0, 10**6)
USAGES = st.none() | st.builds(
    Usage, COUNTS, COUNTS, cached=COUNTS, reasoning=COUNTS, cache_written=COUNTS,
    reported=st.just(("cached", "reasoning", "cache_written")),
)  # fmt: skip
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers() | st.booleans(), max_size=2).map(dump)
REVIEWS = st.none() | st.builds(
    Review, decision=st.sampled_from(["allowed", "edited", "denied"]), reason=TEXT, note=TEXT,
    arguments=st.none() | st.dictionaries(TEXT, TEXT, min_size=1, max_size=2),
)  # fmt: skip
BEGUN = 1_700_000_000.0
STATUSES: list[Status] = ["submitted", "answered", "failed", "step_limit"]
SECONDS = st.integers(0, 100).map(lambda quarters: quarters / 4)
JSON = any_json()


@st.composite
def traces(draw: st.DrawFn) -> list[Item]:
    """A trace as a run of this program has it: rounds, turns, a result for each call."""
    items: list[Item] = [
        Start(title="t", agent="a", model=draw(SOME_TEXT), system=draw(SOME_TEXT), mode="sandbox",
              prompt="general", at=BEGUN)
    ]  # fmt: skip
    at, call_number = BEGUN, 0
    for _ in range(draw(st.integers(1, 3))):
        items.append(UserText(text=draw(SOME_TEXT), at=at))
        for turn in range(draw(st.integers(1, 3))):
            if turn and draw(st.booleans()):
                items.append(UserText(text=draw(SOME_TEXT), at=at, while_working=True))
            seconds = draw(SECONDS)
            at += seconds
            calls = []
            for _ in range(draw(st.integers(0, 2))):
                call_number += 1
                calls.append(ToolCall(f"c{call_number}", draw(NAMES), draw(ARGUMENTS)))
            items.append(
                Turn(text=draw(TEXT), reasoning=draw(TEXT), calls=tuple(calls), usage=draw(USAGES),
                     finish="tool_calls" if calls else "stop", seconds=seconds, at=at)
            )  # fmt: skip
            for call in calls:
                seconds = draw(SECONDS)
                at += seconds
                exit_code = draw(st.none() | st.integers(0, 255))
                items.append(
                    Result(call_id=call.id, text=draw(TEXT), exit_code=exit_code,
                           ok=draw(st.booleans()), seconds=seconds, at=at,
                           review=draw(REVIEWS))
                )  # fmt: skip
        status = draw(st.sampled_from(STATUSES))
        items.append(Ended(status=status, reason=draw(TEXT), answer=draw(TEXT), at=at))
    return items


def recorded(items: Iterable[Item]) -> list[Event]:
    return list(TraceRecorder("r").events(items))


def imported(text: str) -> list[Item]:
    """Import a file; return the items of its run."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        (data / "file").write_bytes(text.encode("utf-8", "backslashreplace"))
        (run,) = import_file(data / "file", data)
        folder = RunFolder.open(data, run.run)
        return list(items_of(event for _, event in read(folder.journal)))


def conversation(items: Iterable[Item]) -> list[Any]:
    """What all formats of messages can hold: who says what, calls and results."""
    return [
        (item.text, item.reasoning, item.calls) if isinstance(item, Turn)
        else (item.call_id, item.text) if isinstance(item, Result) else item.text
        for item in items if isinstance(item, Turn | Result | UserText)
    ]  # fmt: skip


@property_test(traces())
def test_atif_loses_nothing(items: list[Item]) -> None:
    before = list(items_of(recorded(items)))
    assert imported("".join(atif.write(before, "r"))) == before


@property_test(traces())
def test_a_session_keeps_the_conversation_and_its_times(items: list[Item]) -> None:
    before = list(items_of(recorded(items)))
    again = imported("".join(sts.write(before, "r")))
    assert conversation(again) == conversation(before)
    turns, others = ([i for i in each if isinstance(i, Turn)] for each in (before, again))
    assert [turn.at for turn in turns] == [turn.at for turn in others]


@property_test(traces())
def test_messages_keep_the_conversation(items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as name:
        journal = Path(name) / "journal.jsonl"
        journal.write_bytes(b"".join(encode(event) + b"\n" for event in recorded(items)))
        text = "".join(messages_of_journal(journal))
    again = conversation(imported(text))
    # A turn that says nothing is not sent to a model; what a user then says is one message.
    before: list[Any] = []
    for each in conversation(items_of(recorded(items))):
        if isinstance(each, str) and before and isinstance(before[-1], str):
            before[-1] += f"\n\n{each}"
        elif each[:3:2] != ("", ()):
            before.append(each)
    assert again == before


@property_test(traces())
def test_a_trajectory_keeps_the_steps(items: list[Item]) -> None:
    end_of_round = next(number for number, item in enumerate(items) if isinstance(item, Ended))
    events = recorded(items[: end_of_round + 1])
    again, before = (
        [replace(each, at=None) for each in found if isinstance(each, Turn | Result | Ended)]
        for found in (imported(json.dumps(build_trajectory(events))), items_of(events))
    )
    assert again == before


@property_test(JSON, st.integers(0, 2))
def test_the_reader_reads_what_json_reads(value: Any, indent: int) -> None:
    text = json.dumps(value, indent=indent or None).encode()
    reader = JsonReader(io.BytesIO(text + b"\n" + text), "f")
    assert [reader.value() for _ in reader.documents()] == [value, value]
    assert walk(JsonReader(io.BytesIO(text), "f")) == json.loads(text)
    skipped = JsonReader(io.BytesIO(text + b" " + text), "f")
    assert len(list(skipped.documents())) == 2


def walk(reader: JsonReader) -> Any:
    if reader.kind() == "{":
        return {name: walk(reader) for name in reader.members()}
    if reader.kind() == "[":
        return [walk(reader) for _ in reader.elements()]
    return reader.value()


@property_test(st.binary(max_size=40) | JSON.map(lambda v: json.dumps(v)[:-1].encode()))
def test_any_file_is_imported_or_refused_in_one_sentence(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "file"
        file.write_bytes(content)
        message = ""
        try:
            import_file(file, Path(name))
        except TraceError as error:
            message = str(error)
        assert bool(message) != bool(list(Path(name).glob("runs/*/journal.jsonl")))
        assert message.startswith("file" if message else "")
        assert "\n" not in message
