"""Unreadable journal lines: kept, shown, and without effect on the other lines."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import JournalError
from agent.events import (
    Event,
    ModelAnswered,
    RunContinued,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolEnded,
    Totals,
    UnreadableEvent,
    encode,
    journal_adapter,
)
from agent.history.export import conversation_markdown
from agent.history.index import History
from agent.history.records import RECORD_UNREADABLE
from agent.history.search import find
from agent.history.trajectory import build_trajectory
from agent.loop.conversation import Conversation
from agent.models.base import AssistantMessage, ToolResult, UserMessage
from agent.runs import compatibility
from agent.runs.compatibility import UNREADABLE_TEXT
from agent.runs.event_recorder import EventRecorder, end_interrupted_rounds
from agent.runs.journal import Journal, ends_with, read
from agent.runs.state import RunState
from agent.workspace.versions.manifest import ManifestLog
from sandbox_ui.runs.feed import Feed
from tests.support.component.events import bash, continued, ended, reduced, started, step
from tests.support.recorded_runs import write_ended_run

FUTURE_EVENT = b'{"at":5.0,"kind":"run_rated","stars":3,"step":1}'
GARBAGE = [b"{}", b"[]", b"null", b"\xff\xfe", b'{"kind":["a"]}', b"[" * 5000, b"", FUTURE_EVENT]


EVENTS: list[Event] = [
    started("Count.", user="U", at=1.0),
    *(
        event
        for number in range(1, 6)
        for event in step(
            number,
            bash("ls", observation=f"seen {number}"),
            text=f"Turn {number}.",
            totals=Totals(steps=number),
        )
        if not isinstance(event, TextDelta)
    ),
    replace(ended(answer="It is 5.", totals=Totals(steps=5)), at=99.0),
]
LINES = [encode(event) for event in EVENTS]


def write_journal(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def reduce_journal(path: Path) -> RunState:
    return reduced(event for _, event in read(path))


def forge_nan(line: bytes) -> bytes:
    """Return the line as an earlier version wrote it after a command forged a NaN duration."""
    event = json.loads(line)
    if event["kind"] == "tool_ended":
        event["seconds"] = None
    if "totals" in event:
        event["totals"]["sandbox_seconds"] = None
    return json.dumps(event).encode()


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda line: repr(line[:20]))
@pytest.mark.parametrize("position", [1, 4, len(LINES) // 2, len(LINES)])
def test_an_unreadable_line_hides_no_other_line(
    tmp_path: Path, garbage: bytes, position: int
) -> None:
    path = write_journal(tmp_path / "j", [*LINES[:position], garbage, *LINES[position:]])
    events = [event for _, event in read(path)]
    assert isinstance(events[position], UnreadableEvent)
    assert events[:position] + events[position + 1 :] == EVENTS
    assert ends_with(path, RunEnded)


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda line: repr(line[:20]))
def test_opening_a_journal_removes_no_complete_line(tmp_path: Path, garbage: bytes) -> None:
    path = write_journal(tmp_path / "j", [*LINES, garbage])
    before = path.read_bytes()
    path.write_bytes(before + b'{"at":1,"ki')
    journal = Journal(path)
    journal.append(continued("More."))
    journal.close()
    assert path.read_bytes().startswith(before + b'{"at":')
    assert isinstance([event for _, event in read(path)][-1], RunContinued)


def test_a_record_damaged_by_a_forged_frame_is_readable(tmp_path: Path) -> None:
    damaged = [*LINES[:6], *map(forge_nan, LINES[6:])]
    state = reduce_journal(write_journal(tmp_path / "j", damaged))
    assert (state.state, len(state.steps)) == ("submitted", 5)
    assert state.rounds[-1].answer == "It is 5."
    assert state.unreadable == 9  # the ends of four calls, of their steps, and of the round
    assert [call.end_reason for each in state.steps for call in each.calls] == ["exit"] * 5


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [({"status": "cancelled"}, "failed", "cannot be read"), ({"totals": 7}, "submitted", "")],
)
def test_a_round_end_of_a_newer_version_is_recognized(
    tmp_path: Path, change: dict[str, object], status: str, reason: str
) -> None:
    line = json.dumps({**json.loads(LINES[-1]), **change}).encode()
    folder = write_ended_run(tmp_path)
    write_journal(folder.journal, [*LINES[:-1], line])
    before = folder.journal.read_bytes()
    end_interrupted_rounds(tmp_path)
    assert folder.journal.read_bytes() == before
    state = reduce_journal(folder.journal)
    assert state.rounds[-1].status == status
    assert state.rounds[-1].ended == 99.0


def test_any_number_of_invalid_items_is_repaired_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"text": "More.", "model": "m", "metered": True, "kind": "run_continued",
                       "limits": {f"limit {number}": "none" for number in range(50)} | {"steps": 9},
                       "format": "new"})  # fmt: skip
    adapter, validated = journal_adapter(), list[object]()

    class Counted:
        def validate_python(self, data: object) -> object:
            validated.append(data)
            return adapter.validate_python(data)

    monkeypatch.setattr(compatibility, "journal_adapter", Counted)
    _, event = compatibility.decode_line(line.encode())
    assert isinstance(event, RunContinued)
    assert (event.text, event.limits, event.format) == ("More.", {"steps": 9}, 1)
    assert len(validated) == 2

    limits = dict.fromkeys(map(str, range(2000)), "none")
    line = json.dumps({"text": "More.", "metered": True, "limits": limits, "kind": "run_continued"})
    _, event = compatibility.decode_line(line.encode())
    assert isinstance(event, RunContinued)
    assert (event.text, event.limits, event.model) == ("More.", {}, "")


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "device"])
def test_a_record_that_is_no_file_is_listed_as_damaged_and_nothing_waits_for_it(
    tmp_path: Path, kind: str
) -> None:
    folder = write_ended_run(tmp_path)
    folder.journal.unlink()
    match kind:
        case "fifo":
            os.mkfifo(folder.journal)
        case "folder":
            folder.journal.mkdir()
        case "socket":
            os.mknod(folder.journal, stat.S_IFSOCK | 0o600)
        case _:
            folder.journal.symlink_to("/dev/zero")
    end_interrupted_rounds(tmp_path)
    (entry,) = History(tmp_path).page().entries
    assert (entry.run, entry.problem) == (folder.id, RECORD_UNREADABLE)
    with pytest.raises(JournalError, match=r"damaged: journal\.jsonl is not a file"):
        next(Feed(folder).events())
    os.mkfifo(folder.manifests)
    with pytest.raises(JournalError, match=r"damaged: manifests\.jsonl is not a file"):
        next(ManifestLog(folder.manifests).read())


def test_a_run_with_a_damaged_first_line_is_listed(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    lines = folder.journal.read_bytes().splitlines()
    write_journal(folder.journal, [b"garbage", *lines[1:]])
    (entry,) = History(tmp_path).page().entries
    assert entry.summary is not None
    assert (entry.problem, entry.title, entry.summary.state) == ("", UNREADABLE_TEXT, "submitted")
    assert [position.round for position in find(Feed(folder).events(), "done")] == [1]


def test_a_damaged_run_can_be_continued(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    write_journal(folder.journal, [*LINES[:4], b"{}", *LINES[4:], FUTURE_EVENT])
    feed = Feed(folder)
    state = json.loads(feed.state_message().data)["state"]
    assert (state["state"], len(state["steps"]), state["unreadable"]) == ("submitted", 5, 2)
    record = EventRecorder(folder)
    events = (event for event in (continued("And now?"), EVENTS[-1]))
    assert list(record.record_events(events, lambda event: iter([event])))
    record.close()
    message = feed.events_after(state["cursor"])
    assert message is not None
    found = [event["kind"] for event in json.loads(message.data)["events"]]
    assert found == ["run_continued", "run_ended"]
    assert len(reduce_journal(folder.journal).rounds) == 2


def test_browsers_receive_valid_json_for_any_line(tmp_path: Path) -> None:
    folder = write_ended_run(tmp_path)
    nan_line = LINES[3].replace(b'"command":"ls"', b'"command":NaN')
    assert nan_line != LINES[3]
    write_journal(folder.journal, [*LINES[:3], nan_line, b"\xff]", *LINES[4:]])
    feed = Feed(folder)
    message = feed.events_after(0)
    assert message is not None

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    events = json.loads(message.data, parse_constant=refuse)["events"]
    assert [event["kind"] for event in events].count("unreadable") == 1
    body = json.loads(feed.step_events(1), parse_constant=refuse)
    assert [event["kind"] for event in body] == [
        "step_started", "model_answered", "tool_started", "unreadable", "tool_ended", "step_ended",
    ]  # fmt: skip


def test_every_call_has_one_result_in_a_damaged_conversation() -> None:
    def messages(*left_out: type[Event]) -> list[object]:
        return list(Conversation(e for e in EVENTS[:11] if type(e) not in left_out).messages)

    no_result = "Error: the result of this call is missing from the run's record."
    tool_results = [m for m in messages(ToolEnded) if isinstance(m, ToolResult)]
    assert [(m.call_id, m.text) for m in tool_results] == [("call-1-1", no_result)]
    assert not any(isinstance(m, ToolResult | AssistantMessage) for m in messages(ModelAnswered))
    assert not any(isinstance(m, UserMessage) for m in messages(RunStarted))


def test_exports_mention_unreadable_lines(tmp_path: Path) -> None:
    path = write_journal(tmp_path / "j", [*LINES[:4], FUTURE_EVENT, *LINES[4:]])
    events = [event for _, event in read(path)]
    assert build_trajectory(events)["metadata"]["unreadable_events"] == 1
    assert len(build_trajectory(events)["steps"]) == 5
    text = "".join(conversation_markdown(events))
    assert "an event (“run_rated”)" in text
    assert "seen 5" in text
    assert [position.step for position in find(events, "run_rated")] == [1]


def test_runs_with_damaged_records_are_counted(tmp_path: Path) -> None:
    intact, damaged = write_ended_run(tmp_path), write_ended_run(tmp_path)
    with damaged.journal.open("ab") as file:
        file.write(FUTURE_EVENT + b"\n{}\n")
    history = History(tmp_path)
    assert history.unreadable() == {}
    assert {entry.run for entry in history.page().entries} == {intact.id, damaged.id}
    assert history.unreadable() == {damaged.id: 2}


def test_a_round_records_its_format_version(tmp_path: Path) -> None:
    newer_line = json.dumps({**json.loads(LINES[0]), "format": 9}).encode()
    assert reduce_journal(write_journal(tmp_path / "j", LINES)).format == 1
    assert reduce_journal(write_journal(tmp_path / "j", [newer_line, *LINES[1:]])).format == 9
