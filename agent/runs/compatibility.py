"""Lines of the journal that this version did not write, read when they are needed.

Journals are never rewritten: earlier names are renamed whenever a line is read. A line that is
damaged or newer is read as an ``UnreadableEvent`` and never hides the lines after it. If it is an
event of a known kind, that event follows with its invalid fields replaced, so that the counts of
rounds, steps and calls stay correct.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from agent.errors import JournalError
from agent.events import (
    KIND_NAMES,
    Event,
    RunStarted,
    UnreadableEvent,
    decode,
    journal_adapter,
)
from agent.util.text import one_line

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


UNREADABLE_TEXT = "(This message cannot be read.)"
_NO_RESULT = "Error: the result of this call cannot be read in the run's record."
_NO_ENDING = "The end of this round cannot be read in the run's record."
_MAX_KIND_CHARS = 40
_MAX_PROBLEMS = 1000
"""Above this number of invalid values, large fields are replaced as a whole."""

_STARTED: dict[str, Any] = {
    "kind": "run_started", "run": "", "task": UNREADABLE_TEXT, "mode": "sandbox", "model": "",
    "metered": True, "prompt": "", "system": "", "user": UNREADABLE_TEXT,
}  # fmt: skip
_REPLACEMENTS: dict[str, dict[str, Any]] = {
    "run_started": _STARTED,
    "run_continued": {"text": UNREADABLE_TEXT, "model": "", "metered": True},
    "step_started": {"note": ""},
    "model_answered": {
        "text": "", "reasoning": "", "calls": [], "finish": "stop", "usage": None,
        "estimated": True, "seconds": 0.0,
    },
    "tool_started": {"name": "", "arguments": {}, "summary": ""},
    "tool_ended": {
        "name": "", "ok": False, "exit_code": None, "end_reason": "lost", "seconds": 0.0,
        "observation": _NO_RESULT,
    },
    "step_ended": {"totals": {}},
    "run_ended": {"status": "failed", "reason": _NO_ENDING, "answer": "", "totals": {}},
}  # fmt: skip
"""Substitute values of required fields by kind; a step's number has none."""


@cache  # on first use: a start reads no journal
def _object_adapter() -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, Any])


def decode_line(line: bytes, *, first: bool = False) -> tuple[Event, ...]:
    """Return the events of a journal line: one, or up to two if it cannot be read."""
    try:
        return (decode(line),)
    except JournalError:
        data = _parse_object(line)
    shown = _placeholder(data)
    mended = _repair({**data, "at": shown.at})
    if first and not isinstance(mended, RunStarted):
        mended = _repair({**_STARTED, "at": shown.at})
    return (shown,) if mended is None else (shown, mended)


def _parse_object(line: bytes) -> dict[str, Any]:
    """Return the line as a JSON object; an empty one if it is not an object."""
    try:
        return _object_adapter().validate_python(from_json(line))
    except (ValueError, ValidationError):
        return {}


def _placeholder(data: dict[str, Any]) -> UnreadableEvent:
    kind, at, step = data.get("kind"), data.get("at"), data.get("step")
    named = one_line(kind)[:_MAX_KIND_CHARS] if isinstance(kind, str) else ""
    return UnreadableEvent(
        at=float(at) if isinstance(at, int | float) and math.isfinite(at) else 0.0,
        step=step if isinstance(step, int) and 0 < step < 2**31 else 0,
        event_kind=named,
        text=_text(named),
    )


def _text(kind: str) -> str:
    if not kind:
        return "A line of the run's record cannot be read. It is kept unchanged."
    if kind in KIND_NAMES:
        return f"A part of the run's record (“{kind}”) is damaged. It is kept unchanged."
    return (
        f"The run's record contains an event (“{kind}”) that this version does not know. It is "
        "kept; open the run with a newer version to see it."
    )


def _repair(data: dict[str, Any]) -> Event | None:
    """Return the event with invalid fields removed or replaced, or None."""
    kind = data.get("kind")
    replacements = _REPLACEMENTS.get(kind) if isinstance(kind, str) else None
    if replacements is None:
        return None
    data = {**replacements, **data}
    while True:
        try:
            return journal_adapter().validate_python(data)
        except ValidationError as error:
            if error.error_count() > _MAX_PROBLEMS:
                if not _drop_large_fields(data, replacements):
                    return None
                continue
            errors = error.errors(include_url=False, include_context=False, include_input=False)
        # All at once: a field may have any number of invalid items.
        repaired = [_repair_field(data, each["loc"][1:], replacements) for each in errors]
        if not any(repaired):
            return None


def _drop_large_fields(data: dict[str, Any], replacements: dict[str, Any]) -> bool:
    """Remove or replace fields with many items; return False if there are none."""
    large = [
        name
        for name, value in data.items()
        if isinstance(value, list | dict) and len(value) > _MAX_PROBLEMS // 10
    ]
    for name in large:
        _repair_field(data, (name,), replacements)
    return bool(large)


def _repair_field(
    data: dict[str, Any], place: tuple[int | str, ...], replacements: dict[str, Any]
) -> bool:
    """Remove or replace a value; return False if that is impossible."""
    if not place:
        return False
    name, inner = str(place[0]), data.get(str(place[0]))
    if len(place) == 2 and isinstance(inner, dict) and place[1] in inner:
        del inner[place[1]]
        return True
    replaced = name in replacements and inner != replacements[name]
    removed = name not in replacements and name in data
    if replaced:
        data[name] = replacements[name]
    elif removed:
        del data[name]
    return replaced or removed
