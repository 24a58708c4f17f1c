"""Events with the names that earlier versions wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.runs.compatibility import rename_earlier
from agent.runs.journal import last_event, read, read_lines

TOOL_ENDED = (
    b'"step":1,"call_id":"c","name":"execute_bash","ok":true,"exit_code":0,"ending":"exit",'
    b'"seconds":0.1,"observation":"the \\"full\\": text","requests":[]'
)
EARLIER_LINES: list[tuple[bytes, dict[str, Any]]] = [
    (b'"step":1,"text":"Go on.","kind":"told"', {"kind": "reminder", "text": "Go on."}),
    (
        b'"step":1,"call_ids":["c"],"note":"n","kind":"forgotten"',
        {"kind": "observations_cleared", "call_ids": ("c",)},
    ),
    (
        b'"sandbox":"s","seconds":1.0,"pooled":false,"origin":"woken","kind":"sandbox_ready"',
        {"origin": "restarted", "sandbox": "s"},
    ),
    (
        b'"sandbox":"s","seconds":1.0,"pooled":false,"origin":"remade","kind":"sandbox_ready"',
        {"origin": "recreated"},
    ),
    (
        b'"state":"in_line","detail":"1st in line","progress":null,"kind":"preparing"',
        {"state": "queued", "detail": "1st in line"},
    ),
    (
        b'"step":1,"call_id":"c","stream":"stdout","text":"\\"beside\\":","skipped":0,'
        b'"beside":"1-c.stdout","kind":"tool_output"',
        {"output_file": "1-c.stdout", "text": '"beside":'},
    ),
    (
        b'"step":1,"call_id":"c","name":"t","arguments":{"head":1},"head":"t","kind":"tool_started"',
        {"summary": "t", "arguments": {"head": 1}},
    ),
    (TOOL_ENDED + b',"kind":"tool_ended"', {"end_reason": "exit"}),
    (
        TOOL_ENDED + b',"full":"The disk is full.","kind":"tool_ended"',
        {"storage_note": "The disk is full.", "observation": 'the "full": text'},
    ),
]
WORKSPACE_CHANGED = (
    b'{"at":1.5,"step":1,"changes":[{"path":"what","what":"added","size":3}],"total":1,'
    b'"kind":"workspace_changed"}'
)
UNCHANGED_LINES = [
    b'{"at":1.5,"step":1,"call_id":"c","name":"t","arguments":{"what":"woken","full":1,"beside":2,'
    b'"kind":"told"},"summary":"t","kind":"tool_started"}',
    b'{"at":1.5,"step":1,"text":"{\\"kind\\":\\"told\\"}","kind":"text_delta"}',
    b'{"at":1.5,"state":"starting_sandbox","detail":"\\"in_line\\"","kind":"preparing"}',
    b'{"changes":[{"what":1},2],"kind":"workspace_changed"}',
    b'{"changes":{"what":1},"kind":"workspace_changed"}',
    b'["beside":,"kind":"tool_output"}',
    b"",
]


@pytest.mark.parametrize(("line", "values"), EARLIER_LINES)
def test_earlier_lines_are_read_with_current_names(
    tmp_path: Path, line: bytes, values: dict[str, Any]
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"at":1.5,%b}\n' % line)
    ((_, event),) = read(path)
    assert event == last_event(path)
    assert event.at == 1.5
    assert {name: getattr(event, name) for name in values} == values
    ((cursor, renamed),) = read_lines(path)
    assert cursor == path.stat().st_size
    assert json.loads(renamed) == json.loads(json.dumps({**json.loads(renamed), **values}))


def test_workspace_changes_have_a_kind() -> None:
    renamed = json.loads(rename_earlier(WORKSPACE_CHANGED))
    assert renamed["changes"] == [{"path": "what", "kind": "added", "size": 3}]


@pytest.mark.parametrize("line", UNCHANGED_LINES)
def test_other_names_are_unchanged(line: bytes) -> None:
    assert rename_earlier(line) == line
