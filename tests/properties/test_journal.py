"""The journal and the manifest log when they are truncated or contain invalid data."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
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
from agent.workspace.versions.manifest import Delta, ManifestLog, Node
from tests.properties import TEXT, any_json, property_test

SURROGATES = st.text(st.sampled_from(["a", "\ud800", "\udcff", "\n"]))
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
JSON = any_json(nan=True)
LINES = st.binary(max_size=30) | JSON.map(lambda value: json.dumps(value).encode())


@contextmanager
def temporary_file(content: bytes = b"") -> Iterator[Path]:
    with tempfile.NamedTemporaryFile() as file:
        path = Path(file.name)
        path.write_bytes(content)
        yield path


def journal_lines(events: list[Event]) -> list[bytes]:
    return [encode(event) + b"\n" for event in events]


@property_test(EVENTS, st.integers(0, 10**6), GARBAGE, EVENTS)
def test_a_journal_truncated_anywhere_with_garbage_can_be_continued(
    before: list[Event], offset: int, garbage: bytes, after: list[Event]
) -> None:
    whole = b"".join(journal_lines(before))
    at = offset % (len(whole) + 1)
    count = sum(end <= at for end in accumulate(map(len, journal_lines(before))))
    kept = list(before[:count])
    with temporary_file(whole[:at] + garbage) as path:
        assert [event for _, event in read(path)][:count] == kept
        last_event(path)
        with closing(Journal(path)) as journal:
            found = [event for _, event in read(path)]
            assert found[:count] == kept  # garbage may complete the truncated line, or be an event
            cursors = [journal.append(event) for event in after]
        assert [event for _, event in read(path)] == found + after
        assert not after or cursors[-1] == path.stat().st_size
        known = [event for event in found + after if not isinstance(event, UnreadableEvent)]
        assert ends_with(path, StepEnded) == any(
            isinstance(event, StepEnded) for event in known[-1:]
        )


@property_test(EVENTS, st.integers(-5, 10**6), st.integers(-5, 10**6) | st.none())
def test_reading_from_a_cursor_yields_the_later_events_and_other_offsets_are_errors(
    events: list[Event], offset: int, end: int | None
) -> None:
    content = b"".join(journal_lines(events))
    cursors = [0, *accumulate(map(len, journal_lines(events)))]
    with temporary_file(content) as path:
        cursor = offset % (len(content) + 20) - 5
        try:
            found = list(read(path, cursor, end))
        except JournalError:
            assert cursor not in cursors
            return
        assert cursor in cursors
        behind = zip(cursors[1:], events, strict=True)
        upto = len(content) if end is None else end
        assert found == [each for each in behind if cursor < each[0] <= upto]


@property_test(st.lists(LINES))
def test_reading_any_content_ends_without_an_error(content: list[bytes]) -> None:
    with temporary_file(b"\n".join(content)) as path:
        list(read(path))
        list(read_lines(path))
        last_event(path)
        assert list(ManifestLog(path).read()) == []
        Journal(path).close()
        whole = b"\n".join(content).rpartition(b"\n")
        assert path.read_bytes() == whole[0] + whole[1]


@property_test(LINES)
def test_decoding_an_invalid_line_raises_a_journal_error(line: bytes) -> None:
    with pytest.raises(JournalError):
        decode(line)


@property_test(SURROGATES)
def test_an_event_with_a_lone_surrogate_is_encoded(text: str) -> None:
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


@property_test(
    DELTAS, st.integers(0, 10**6), st.binary(max_size=20).filter(lambda raw: b"\n" not in raw)
)
def test_a_manifest_log_truncated_anywhere_keeps_its_complete_entries(
    deltas: list[Delta], offset: int, garbage: bytes
) -> None:
    with temporary_file() as path:
        versions = ManifestLog(path)
        ends = []
        for step, delta in enumerate(deltas):
            versions.append(step, delta)
            ends.append(path.stat().st_size)
        at = offset % (path.stat().st_size + 1)
        os.truncate(path, at)
        with path.open("ab") as file:
            file.write(garbage)
        count = sum(end <= at for end in ends)
        assert [delta for _, delta in ManifestLog(path).read()][:count] == deltas[:count]
        ManifestLog(path).append(9, Delta(removed=("x",)))
        found = [delta for _, delta in ManifestLog(path).read()]
        assert found == [*deltas[:count], Delta(removed=("x",))]


@property_test(JSON)
def test_parsing_any_json_yields_a_delta_or_a_journal_error(value: Any) -> None:
    changed = {"changed": value, "removed": []}, {"changed": {"a": value}, "removed": value}
    for data in (value, *changed):
        with suppress(JournalError):
            Delta.from_json(data)
