"""The journal: append-only, told to followers, valid after a failed write."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.events import (
    KINDS,
    Event,
    FileChange,
    ModelAnswered,
    RunEnded,
    StepEnded,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
    TextDelta,
    ToolOutput,
    Totals,
    WorkspaceChanged,
    decode,
    encode,
    without_unshown,
)
from agent.models.base import OpaqueParts, ToolCall, TurnTokens, Usage
from agent.runs.journal import Journal, ends_with, read
from tests.support.component.events import answered, ended, started
from tests.support.hostile.full_disk import limit_file_size

EVENTS: list[Event] = [
    started("count {x} ${y}", system="s", user="u", inputs=("a b.txt",), limits={"steps": 3}),
    StepStarted(step=1, note="\nSteps Remaining: 3"),
    TextDelta(step=1, text="über\n\u2028 \x00 'quotes' </script>"),
    answered(
        1, "", ToolCall("1", "submit", "{"), reasoning="r", finish="length",
        usage=Usage(10, 2, cached=3),
    ),
    answered(2, '"tokens":{', tokens=TurnTokens(7, (1, 2), (3,), (-0.25,))),
    ToolOutput(step=1, call_id="1", stream="stderr", text="x" * 1000, skipped=7),
    SummaryStarted(step=9, first_step=1, last_step=6, instruction="Summarise."),
    SummaryEnded(
        step=9, first_step=1, last_step=6, text="Six steps </script>", usage=Usage(10, 2),
        estimated=True, seconds=0.5, replaced_tokens=900, summary_tokens=9,
    ),
    SummaryEnded(step=9, first_step=1, last_step=6, text="", reason="it was cut off"),
    WorkspaceChanged(step=1, changes=(FileChange("a%FF", "added", 3),), total=1),
    StepEnded(step=1, totals=Totals(steps=1, cost=0.25)),
    ended("failed", reason="why"),
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def write(path: Path, events: list[Event]) -> list[int]:
    journal = Journal(path)
    cursors = [journal.append(event) for event in events]
    journal.close()
    return cursors


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_events_survive_a_round_trip(event: Event) -> None:
    assert decode(encode(event)) == event


def test_opaque_parts_survive_a_round_trip_unchanged() -> None:
    parts = {"items": [{"id": "rs_1", "n": 1.50, "text": 'Quoted "x"', "empty": None}]}
    event = answered(1, opaque=OpaqueParts("responses/openai@openai", parts))
    decoded = decode(encode(event))
    assert decoded == event
    assert isinstance(decoded, ModelAnswered)
    assert decoded.opaque is not None
    assert json.dumps(decoded.opaque.parts) == json.dumps(parts)


@pytest.mark.parametrize("field", [b"opaque", b"tokens"])
def test_an_event_of_an_earlier_version_lacks_fields(field: bytes) -> None:
    line = encode(EVENTS[3]).replace(b'"%s":null,' % field, b"")
    assert field not in line
    assert decode(line) == EVENTS[3]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_followers_receive_everything_but_what_is_never_shown(event: Event) -> None:
    expected = event
    if isinstance(event, ModelAnswered):
        expected = replace(event, tokens=None, opaque=None)
        event = replace(event, opaque=OpaqueParts("chat/m@x", {"content": "<think>"}))
    assert decode(without_unshown(encode(event))) == expected


def test_every_event_type_has_a_unique_name() -> None:
    kinds = [kind.__dataclass_fields__["kind"].default for kind in KINDS]
    assert len(set(kinds)) == len(KINDS)


def test_an_event_is_one_line() -> None:
    assert all(b"\n" not in encode(event) for event in EVENTS)


@pytest.mark.parametrize("torn", [b"\x00" * 9000, b"{", b'{"kind": "no"}', b"\xff"])
def test_an_incomplete_last_line_is_truncated(path: Path, torn: bytes) -> None:
    write(path, EVENTS)
    with path.open("ab") as file:
        file.write(torn)
    assert [event for _, event in read(path)] == EVENTS
    write(path, [EVENTS[1]])
    assert [event for _, event in read(path)] == [*EVENTS, EVENTS[1]]


def test_the_last_event_is_found_without_a_full_read(path: Path) -> None:
    write(path, EVENTS)
    assert ends_with(path, RunEnded)
    write(path, [EVENTS[2]])
    assert not ends_with(path, RunEnded)
    write(path, [EVENTS[-1]])
    path.write_bytes(path.read_bytes()[:-1])
    assert not ends_with(path, RunEnded)


def test_a_journal_is_created_with_its_first_event(path: Path) -> None:
    journal = Journal(path)
    with limit_file_size(0), pytest.raises(OSError, match="too large"):
        journal.append(EVENTS[0])
    assert not path.exists()
    assert list(read(path)) == []
    journal.append(EVENTS[0])
    journal.close()
    assert [event for _, event in read(path)] == EVENTS[:1]


def test_followers_are_notified_of_each_event_until_they_unsubscribe(path: Path) -> None:
    journal, woken = Journal(path), []
    unfollow = journal.subscribe(lambda: woken.append(journal.end))
    for event in EVENTS[:3]:
        journal.append(event)
    unfollow()
    journal.append(EVENTS[3])
    assert len(woken) == 3
    assert woken == [cursor for cursor, _ in read(path)][:3]


def test_a_failed_write_leaves_no_partial_event(path: Path) -> None:
    journal = Journal(path)
    journal.append(EVENTS[1])
    with limit_file_size(journal.end + 100), pytest.raises(OSError, match="too large"):
        journal.append(EVENTS[4])
    end = journal.append(EVENTS[-1])
    journal.close()
    assert list(read(path))[-1] == (end, EVENTS[-1])
    assert len(list(read(path))) == 2
