"""JSON, JSON Lines and YAML as a tree that loads branch by branch.

Options: ``address`` is that of a branch (a JSON pointer; in JSON Lines its first part is ``@`` and
the line's offset), ``start`` the first child, ``value=1`` requests the whole branch as text.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Preview, PreviewError, PreviewRequest
from sandbox_ui.preview.data.json_values import (
    Key,
    ParseError,
    children_of,
    parse_json,
    parse_yaml,
    path_tokens,
    scalar_text,
    to_json_text,
    type_of,
    value_at,
)
from sandbox_ui.preview.text.encoding import TextFormat, detect_format

MAX_CHILDREN = 200  # per response
MAX_FILE_BYTES = {"json": 16 * 1024**2, "yaml": 2 * 1024**2}
"""Largest file shown as a tree, in bytes; JSON Lines are read line by line."""

MAX_LINE_BYTES = 8 * 1024**2
_MAX_NODES = 400
_MAX_NODES_PER_LINE = 12
_MAX_LEVELS = 10
_MAX_TEXT_LENGTH = 300
_MAX_COPY_LENGTH = 1024**2
_MAX_LINES_BYTES = 512 * 1024


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return a branch with its children, or the position of a syntax error."""
    text_format = detect_format(file)
    address = request.options.get("address", "").split("/")[1:]
    if request.extension in ("jsonl", "ndjson") or (address[:1] and address[0].startswith("@")):
        return _json_lines_response(file, text_format, request, address)
    format_name = "yaml" if request.extension in ("yaml", "yml") else "json"
    if request.size > MAX_FILE_BYTES[format_name]:
        limit = MAX_FILE_BYTES[format_name] // 1024**2
        too_large = f"Files of up to {limit} MB are shown as a tree."
        return {"format": format_name, "too_large": too_large}
    file.seek(text_format.bom_length)
    text = text_format.decode(file.read(request.size))
    if not text.strip():
        return {"format": format_name, "empty": True}
    try:
        value = parse_yaml(text) if format_name == "yaml" else parse_json(text)
    except ParseError as error:
        if format_name == "json" and error.args[0] == "Extra data" and _is_json_lines(text):
            return _json_lines_response(file, text_format, request, address)
        return {"format": format_name, "error": _error_response(error)}
    return {"format": format_name, **_branch_response(value_at(value, address), request)}


def _branch_response(value: Any, request: PreviewRequest) -> dict[str, Any]:
    if "value" in request.options:
        return {"value": to_json_text(value, _MAX_COPY_LENGTH)}
    return {"node": build_tree(value, start=request.int_option("start"))}


def build_tree(
    value: Any, *, token: str = "", start: int = 0, max_nodes: int = _MAX_NODES
) -> dict[str, Any]:
    """Return a value with up to ``max_nodes`` descendants, in breadth-first order."""
    top = _node(None, token, value)
    queue = deque([(top, value, start, 0)])
    while queue:
        node, each, first, depth = queue.popleft()
        children = children_of(each)
        if not children or depth > _MAX_LEVELS or (node is not top and len(children) > max_nodes):
            continue
        names = path_tokens(children)[first : first + MAX_CHILDREN]
        shown = children[first : first + MAX_CHILDREN]
        node["start"] = first
        node["children"] = [
            _node(key, token, one) for (key, one), token in zip(shown, names, strict=True)
        ]
        max_nodes -= len(shown)
        pairs = zip(node["children"], shown, strict=True)
        queue.extend((child, one, 0, depth + 1) for child, (_, one) in pairs)
    return top


def _node(key: Key | None, token: str, value: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"key": key, "token": token, "type": type_of(value)}
    if "~2" in token:
        node["duplicate"] = True
    children = children_of(value)
    if children is not None:
        node["count"] = len(children)
        return node
    text = scalar_text(value)
    node["text"] = text[:_MAX_TEXT_LENGTH]
    if len(text) > _MAX_TEXT_LENGTH:
        node["length"] = len(text)
    return node


def _error_response(error: ParseError) -> dict[str, Any]:
    return {"message": str(error), "line": error.line, "column": error.column}


def _is_json_lines(text: str) -> bool:
    lines = [line for line in text[:_MAX_LINES_BYTES].split("\n") if line.strip()][:3]
    try:
        return len(lines) > 1 and [parse_json(line) for line in lines[:-1]] != []
    except (ParseError, PreviewError):
        return False


def _json_lines_response(
    file: BinaryIO, text_format: TextFormat, request: PreviewRequest, address: Sequence[str]
) -> dict[str, Any]:
    if text_format.unit_size > 1:
        raise PreviewError("JSON Lines in UTF-16 cannot be shown as a tree; view the source.")
    if address:
        file.seek(int(address[0][1:]))
        text = text_format.decode(file.readline(MAX_LINE_BYTES))
        try:
            value = value_at(parse_json(text), address[1:])
        except ParseError as error:
            return {"format": "lines", "error": _error_response(error), "value": text}
        return {"format": "lines", **_branch_response(value, request)}
    offset = max(request.int_option("start", text_format.bom_length), text_format.bom_length)
    rows, after = _read_lines(file, text_format, offset)
    if not rows and offset == text_format.bom_length:
        return {"format": "lines", "empty": True}
    node = {"key": None, "token": "", "type": "lines", "children": rows, "start": offset}
    return {"format": "lines", "node": node, "next": after if after < request.size else None}


def _read_lines(
    file: BinaryIO, text_format: TextFormat, offset: int
) -> tuple[list[dict[str, Any]], int]:
    """Return lines from an offset on, each as a value or a syntax error."""
    file.seek(offset)
    rows: list[dict[str, Any]] = []
    read = 0
    while len(rows) < MAX_CHILDREN and read < _MAX_LINES_BYTES:
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            break
        if line.strip():
            rows.append(_line_node(text_format.decode(line), f"@{offset + read}"))
        else:
            rows.append({"key": None, "token": "", "type": "blank", "text": ""})
        read += len(line)
    return rows, offset + read


def _line_node(text: str, token: str) -> dict[str, Any]:
    try:
        return build_tree(parse_json(text), token=token, max_nodes=_MAX_NODES_PER_LINE)
    except (ParseError, PreviewError) as error:
        position = f" (column {error.column})" if isinstance(error, ParseError) else ""
        shown = text.rstrip("\n")[:_MAX_TEXT_LENGTH]
        reason = f"{error}{position}"
        return {"key": None, "token": token, "type": "invalid", "text": shown, "reason": reason}
