"""The journal and the manifests, however they were cut off and whatever stands in them."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from agent.errors import JournalError
from agent.events import (
    Event,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolOutput,
    Totals,
    UnreadableEvent,
    decode,
    encode,
)
from agent.runs.journal import Journal, ends_with, last_event, read, read_lines
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node
from tests.properties import holds

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HALVES = st.text(st.sampled_from(["a", "\ud800", "\udcff", "\n"]))
EVENTS: st.SearchStrategy[list[Event]] = st.lists(
    st.one_of(
        st.builds(TextDelta, step=st.integers(0, 9), text=TEXT),
        st.builds(StepStarted, step=st.integers(0, 9), note=TEXT),
        st.builds(
            ToolOutput,
            step=st.integers(0, 9),
            call_id=TEXT,
            stream=st.sampled_from(["stdout", "stderr"]),
            text=st.one_of(TEXT, st.just("x" * 70_000)),
        ),
        st.just(StepEnded(step=1, totals=Totals())),
    ),
    max_size=6,
)
GARBAGE = st.one_of(
    st.just(b""),
    st.binary(max_size=30),
    st.sampled_from([b"\n", b"\0" * 4096, b"{}\n", b'{"kind":"text_delta"', b"[" * 5000 + b"\n"]),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@contextmanager
def a_file(content: bytes = b"") -> Iterator[Path]:
    file, name = tempfile.mkstemp()
    os.write(file, content)
    os.close(file)
    try:
        yield Path(name)
    finally:
        Path(name).unlink()


def written(events: list[Event]) -> list[bytes]:
    return [encode(event) + b"\n" for event in events]


@holds(EVENTS, st.integers(0, 10**6), GARBAGE, EVENTS, some=300, many=1500)
def test_cut_anywhere_and_with_garbage_behind_it_goes_on(
    before: list[Event], place: int, garbage: bytes, after: list[Event]
) -> None:
    whole = b"".join(written(before))
    at = place % (len(whole) + 1)
    count = sum(end <= at for end in accumulate(map(len, written(before))))
    kept = list(before[:count])
    with a_file(whole[:at] + garbage) as path:
        assert [event for _, event in read(path)][:count] == kept
        last_event(path)
        journal = Journal(path)
        try:
            found = [event for _, event in read(path)]
            assert found[:count] == kept  # garbage may have made the cut line whole, or be an event
            cursors = [journal.append(event) for event in after]
        finally:
            journal.close()
        assert [event for _, event in read(path)] == found + after
        assert not after or cursors[-1] == path.stat().st_size
        known = [event for event in found + after if not isinstance(event, UnreadableEvent)]
        assert ends_with(path, StepEnded) == any(
            isinstance(event, StepEnded) for event in known[-1:]
        )


@holds(EVENTS, st.integers(-5, 10**6), st.integers(-5, 10**6) | st.none())
def test_from_a_cursor_come_the_events_behind_it_and_from_any_other_place_none(
    events: list[Event], place: int, end: int | None
) -> None:
    content = b"".join(written(events))
    cursors = [0, *accumulate(map(len, written(events)))]
    with a_file(content) as path:
        cursor = place % (len(content) + 20) - 5
        try:
            found = list(read(path, cursor, end))
        except JournalError:
            assert cursor not in cursors
            return
        assert cursor in cursors
        behind = zip(cursors[1:], events, strict=True)
        upto = len(content) if end is None else end
        assert found == [each for each in behind if cursor < each[0] <= upto]


@holds(st.lists(st.one_of(st.binary(max_size=30), JSON.map(lambda v: json.dumps(v).encode()))))
def test_whatever_is_in_it_reading_ends_and_raises_nothing(content: list[bytes]) -> None:
    with a_file(b"\n".join(content)) as path:
        list(read(path))
        list(read_lines(path))
        last_event(path)
        assert list(ManifestLog(path).read()) == []
        Journal(path).close()
        whole = b"\n".join(content).rpartition(b"\n")
        assert path.read_bytes() == whole[0] + whole[1]


@holds(st.one_of(st.binary(), JSON.map(lambda value: json.dumps(value).encode())), some=300)
def test_what_is_no_event_is_a_journal_error_and_no_other(line: bytes) -> None:
    try:
        decode(line)
    except JournalError:
        return
    raise AssertionError("an event out of nothing")


@holds(HALVES)
def test_half_a_character_does_not_keep_an_event_from_being_kept(text: str) -> None:
    event = decode(encode(TextDelta(step=1, text=text)))
    assert isinstance(event, TextDelta)
    assert event.text == re.sub("[\ud800-\udfff]", "�", text)


NODES = st.builds(
    Node,
    kind=st.sampled_from(["file", "folder", "link", "fifo"]),
    mode=st.integers(0, 0o7777),
)
NAMES = st.binary(min_size=1, max_size=9).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)
DELTAS = st.lists(
    st.builds(
        Delta,
        changed=st.dictionaries(NAMES, NODES, max_size=4),
        removed=st.lists(NAMES, max_size=3).map(tuple),
    ),
    max_size=5,
)


@holds(DELTAS, st.integers(0, 10**6), st.binary(max_size=20).filter(lambda raw: b"\n" not in raw))
def test_manifests_cut_anywhere_keep_the_whole_ones_and_go_on(
    deltas: list[Delta], place: int, garbage: bytes
) -> None:
    with a_file() as path:
        versions = ManifestLog(path)
        ends = []
        for step, delta in enumerate(deltas):
            versions.append(step, delta)
            ends.append(path.stat().st_size)
        at = place % (path.stat().st_size + 1)
        os.truncate(path, at)
        with path.open("ab") as file:
            file.write(garbage)
        count = sum(end <= at for end in ends)
        assert [delta for _, delta in ManifestLog(path).read()][:count] == deltas[:count]
        ManifestLog(path).append(9, Delta(removed=("x",)))
        found = [delta for _, delta in ManifestLog(path).read()]
        assert found == [*deltas[:count], Delta(removed=("x",))]


@holds(JSON, some=300)
def test_any_json_is_a_delta_or_a_journal_error(value: Any) -> None:
    for data in (
        value,
        {"changed": value, "removed": []},
        {"changed": {"a": value}, "removed": value},
    ):
        try:
            Delta.from_json(data)
        except JournalError:
            continue
