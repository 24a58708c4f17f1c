"""Events as earlier versions wrote them, read with today's names.

Journals are never rewritten. A line with earlier names is renamed whenever it is read, before it
is decoded or sent to a page, so that nothing else knows the earlier names.
"""

from collections.abc import Callable
from typing import Any

from pydantic_core import from_json, to_json

_Fields = dict[str, Any]
_KIND = b'"kind":"'  # the last key of every event


def _rename_kind(kind: str) -> Callable[[_Fields], _Fields]:
    return lambda event: {**event, "kind": kind}


def _rename_fields(**names: str) -> Callable[[_Fields], _Fields]:
    """Return a function that renames fields; each keyword is an earlier name."""
    return lambda event: {names.get(key, key): event[key] for key in event}


def _rename_value(name: str, values: dict[str, str]) -> Callable[[_Fields], _Fields]:
    return lambda event: {**event, name: values.get(str(event.get(name)), event.get(name))}


def _rename_changes(event: _Fields) -> _Fields:
    rename = _rename_fields(what="kind")
    return {**event, "changes": [rename(change) for change in event["changes"]]}


_RENAMES: dict[bytes, tuple[tuple[bytes, ...], Callable[[_Fields], _Fields]]] = {
    b"told": ((_KIND,), _rename_kind("reminder")),
    b"forgotten": ((_KIND,), _rename_kind("observations_cleared")),
    b"tool_output": ((b'"beside":',), _rename_fields(beside="output_file")),
    b"tool_started": ((b'"head":',), _rename_fields(head="summary")),
    b"tool_ended": (
        (b'"ending":', b'"full":'),
        _rename_fields(ending="end_reason", full="storage_note"),
    ),
    b"workspace_changed": ((b'"what":',), _rename_changes),
    b"sandbox_ready": (
        (b'"woken"', b'"remade"'),
        _rename_value("origin", {"woken": "restarted", "remade": "recreated"}),
    ),
    b"preparing": ((b'"in_line"',), _rename_value("state", {"in_line": "queued"})),
}
"""By kind: what only an earlier line contains, and the function that renames it."""


def rename_earlier(line: bytes) -> bytes:
    """Return a journal's line with today's names; a line without earlier ones as it is."""
    found = _RENAMES.get(line[line.rfind(_KIND) + len(_KIND) : -2])
    if found is None or not any(earlier in line for earlier in found[0]):
        return line
    try:
        return to_json(found[1](from_json(line)), inf_nan_mode="constants")
    except (ValueError, TypeError, KeyError, AttributeError):
        return line  # damaged; it is shown as such
