"""JSON, JSON Lines and YAML as a tree that loads branch by branch.

Options: ``at`` is the address of a branch (a JSON pointer; in JSON Lines its first part is
``@`` and the line's offset), ``from`` the first child (an offset in JSON Lines), ``value=1``
requests the whole branch as text.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Ask, Unreadable, View
from sandbox_ui.preview.data.json_values import (
    Key,
    Wrong,
    at,
    branches,
    of_json,
    of_yaml,
    text_of,
    tokens,
    type_of,
    written,
)
from sandbox_ui.preview.text.encoding import Script, detect

PAGE = 200
"""Maximum children per response."""

LARGEST = {"json": 16 * 1024**2, "yaml": 2 * 1024**2}
"""Largest file shown as a tree, in bytes; JSON Lines are read line by line."""

LONGEST_LINE = 8 * 1024**2
_AT_ONCE = 400
_IN_LINE = 12
_LEVELS = 10
_CUT = 300
_COPIED = 1024**2
_TEXT_OF_LINES = 512 * 1024


def view(file: BinaryIO, ask: Ask) -> View:
    """Return a branch with its children, or the position of a syntax error."""
    script = detect(file)
    address = ask.options.get("at", "").split("/")[1:]
    if ask.ending in ("jsonl", "ndjson") or (address[:1] and address[0].startswith("@")):
        return View(_in_lines(file, script, ask, address))
    form = "yaml" if ask.ending in ("yaml", "yml") else "json"
    if ask.size > LARGEST[form]:
        most = LARGEST[form] // 1024**2
        return View({"form": form, "large": f"Up to {most} MB are shown as a tree."})
    text = _text(file, script)
    if not text.strip():
        return View({"form": form, "empty": True})
    try:
        value = of_yaml(text) if form == "yaml" else of_json(text)
    except Wrong as wrong:
        if form == "json" and wrong.args[0] == "Extra data" and _is_in_lines(text):
            return View(_in_lines(file, script, ask, address))
        return View({"form": form, "wrong": _about(wrong)})
    return View({"form": form, **_asked(at(value, address), ask)})


def _asked(value: Any, ask: Ask) -> dict[str, Any]:
    if "value" in ask.options:
        return {"value": written(value, _COPIED)}
    return {"node": described(value, start=ask.number("from", 0))}


def described(
    value: Any, *, token: str = "", start: int = 0, room: int = _AT_ONCE
) -> dict[str, Any]:
    """Return a value with up to ``room`` descendants, in breadth-first order."""
    top = _node(None, token, value)
    waiting = deque([(top, value, start, 0)])
    while waiting:
        node, each, first, depth = waiting.popleft()
        held = branches(each)
        if not held or depth > _LEVELS or (node is not top and len(held) > room):
            continue
        names = tokens(held)[first : first + PAGE]
        shown = held[first : first + PAGE]
        node["from"] = first
        node["children"] = [
            _node(key, token, one) for (key, one), token in zip(shown, names, strict=True)
        ]
        room -= len(shown)
        inside = zip(node["children"], shown, strict=True)
        waiting.extend((child, one, 0, depth + 1) for child, (_, one) in inside)
    return top


def _node(key: Key | None, token: str, value: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"key": key, "token": token, "type": type_of(value)}
    if "~2" in token:
        node["again"] = True
    held = branches(value)
    if held is not None:
        node["count"] = len(held)
        return node
    text = text_of(value)
    node["text"] = text[:_CUT]
    if len(text) > _CUT:
        node["length"] = len(text)
    return node


def _text(file: BinaryIO, script: Script) -> str:
    file.seek(script.mark)
    return script.text(file.read())


def _about(wrong: Wrong) -> dict[str, Any]:
    return {"message": str(wrong), "line": wrong.line, "column": wrong.column}


def _is_in_lines(text: str) -> bool:
    lines = [line for line in text[:_TEXT_OF_LINES].split("\n") if line.strip()][:3]
    try:
        return len(lines) > 1 and [of_json(line) for line in lines[:-1]] != []
    except (Wrong, Unreadable):
        return False


def _in_lines(file: BinaryIO, script: Script, ask: Ask, address: Sequence[str]) -> dict[str, Any]:
    if script.unit > 1:
        raise Unreadable("JSON lines in UTF-16 are not shown as a tree; look at the source.")
    if address:
        file.seek(int(address[0][1:]))
        text = script.text(file.readline(LONGEST_LINE))
        try:
            value = at(of_json(text), address[1:])
        except Wrong as wrong:
            return {"form": "lines", "wrong": _about(wrong), "value": text}
        return {"form": "lines", **_asked(value, ask)}
    offset = max(ask.number("from", script.mark), script.mark)
    rows, after = _rows(file, script, offset)
    if not rows and offset == script.mark:
        return {"form": "lines", "empty": True}
    node = {"key": None, "token": "", "type": "lines", "children": rows, "from": offset}
    return {"form": "lines", "node": node, "next": after if after < ask.size else None}


def _rows(file: BinaryIO, script: Script, offset: int) -> tuple[list[dict[str, Any]], int]:
    """Return lines from an offset on, each as a value or a syntax error."""
    file.seek(offset)
    rows: list[dict[str, Any]] = []
    read = 0
    while len(rows) < PAGE and read < _TEXT_OF_LINES:
        line = file.readline(LONGEST_LINE)
        if not line:
            break
        if line.strip():
            rows.append(_row(script.text(line), f"@{offset + read}"))
        else:
            rows.append({"key": None, "token": "", "type": "blank", "text": ""})
        read += len(line)
    return rows, offset + read


def _row(text: str, token: str) -> dict[str, Any]:
    try:
        return described(of_json(text), token=token, room=_IN_LINE)
    except (Wrong, Unreadable) as wrong:
        place = f" (column {wrong.column})" if isinstance(wrong, Wrong) else ""
        cut = text.rstrip("\n")[:_CUT]
        return {"key": None, "token": token, "type": "wrong", "text": cut, "why": f"{wrong}{place}"}
