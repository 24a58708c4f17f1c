"""JSON and YAML values as written, with exact numbers and duplicate keys.

YAML stays a graph of nodes: tags have no effect, and an alias for a million others (the "billion
laughs" attack) costs no more than its name.
"""

import gc
import json
from collections.abc import Sequence
from typing import Any

import yaml

from sandbox_ui.preview.base import PreviewError

Key = str | int
_TAG = "tag:yaml.org,2002:"
_TYPES = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "null": "null"}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP = "This file is nested too deeply to be shown as a tree."
_DEPTH_CHECK_THRESHOLD = 200
MAX_DEPTH = 400


class ParseError(Exception):
    """A syntax error, at a line and column counted from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column


class ObjectPairs(list[tuple[str, Any]]):
    """Object as (key, value) pairs; keys may repeat."""

    __slots__ = ()


class Number(str):
    """Number as written."""

    __slots__ = ()


class Documents(list[Any]):
    """The documents of one YAML file."""

    __slots__ = ()


def parse_json(text: str) -> Any:
    """Parse JSON; raise ParseError, or PreviewError if it is nested too deeply."""
    gc.disable()  # parsing allocates millions of objects; this process does nothing else
    try:
        return json.loads(
            text,
            object_pairs_hook=ObjectPairs,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
        )
    except json.JSONDecodeError as error:
        raise ParseError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise PreviewError(_TOO_DEEP) from None
    finally:
        gc.enable()


def parse_yaml(text: str) -> Any:
    """Parse YAML like ``parse_json``; several documents become ``Documents``."""
    gc.disable()
    try:
        _check_depth(text)
        found = [each for each in yaml.compose_all(text, Loader=_LOADER) if each is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise ParseError(f"{error.problem or error.context}", line, column) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line = before.count("\n") + 1
        raise ParseError(str(error.reason), line, error.position - before.rfind("\n")) from None
    except RecursionError:
        raise PreviewError(_TOO_DEEP) from None
    finally:
        gc.enable()
    return found[0] if len(found) == 1 else Documents(found)


def children_of(value: Any) -> Sequence[tuple[Key, Any]] | None:
    """Return a container's children by key or index; None for a scalar."""
    if isinstance(value, ObjectPairs):
        return value
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, yaml.MappingNode):
        return [(_key(key), child) for key, child in value.value]
    if isinstance(value, yaml.SequenceNode):
        return list(enumerate(value.value))
    return None


def type_of(value: Any) -> str:
    """Return the value's JSON type, ``documents`` or the name of a YAML tag."""
    if isinstance(value, yaml.Node):
        plain = value.tag.removeprefix(_TAG)
        if isinstance(value, yaml.ScalarNode):
            return _TYPES.get(plain, plain)
        return "object" if isinstance(value, yaml.MappingNode) else "array"
    for kind, name in ((ObjectPairs, "object"), (Documents, "documents"), (list, "array")):
        if isinstance(value, kind):
            return name
    if value is None:
        return "null"
    return {bool: "boolean", Number: "number"}.get(type(value), "string")


def scalar_text(value: Any) -> str:
    """Return a scalar as written; strings without quotation marks."""
    if isinstance(value, yaml.ScalarNode):
        return str(value.value)
    return str(value) if isinstance(value, str) else json.dumps(value)


def path_tokens(children: Sequence[tuple[Key, Any]]) -> list[str]:
    """Return the address token of each child; duplicate keys are numbered."""
    seen: dict[Key, int] = {}
    found = []
    for key, _ in children:
        before = seen.get(key, 0)
        seen[key] = before + 1
        plain = str(key).replace("~", "~0").replace("/", "~1")
        found.append(f"{plain}~2{before}" if before else plain)
    return found


def value_at(value: Any, address: Sequence[str]) -> Any:
    """Return the value at an address."""
    for token in address[:MAX_DEPTH]:
        children = children_of(value) or ()
        try:
            is_list = children and children[0][0] == 0
            at = int(token) if is_list else path_tokens(children).index(token)
            value = children[at][1]
        except (ValueError, IndexError):
            raise PreviewError("This part is no longer in the file.") from None
    return value


def to_json_text(value: Any, most: int) -> str:
    """Return a value as JSON, keeping numbers as written, or a string as plain text."""
    if children_of(value) is None:
        return scalar_text(value)
    parts: list[str] = []
    _write(value, "\n", parts, [most])
    return "".join(parts)


def _write(value: Any, indent: str, parts: list[str], left: list[int]) -> None:
    children = children_of(value)
    if children is None:
        quoted = type_of(value) not in ("number", "boolean", "null")
        part = json.dumps(scalar_text(value), ensure_ascii=False) if quoted else scalar_text(value)
        _append_part(part, parts, left)
        return
    keyed = type_of(value) == "object"
    _append_part("{" if keyed else "[", parts, left)
    for number, (key, each) in enumerate(children):
        _append_part(("," if number else "") + indent + "  ", parts, left)
        if keyed:
            _append_part(json.dumps(str(key), ensure_ascii=False) + ": ", parts, left)
        _write(each, indent + "  ", parts, left)
    _append_part((indent if children else "") + ("}" if keyed else "]"), parts, left)


def _append_part(part: str, parts: list[str], left: list[int]) -> None:
    left[0] -= len(part)
    if left[0] < 0 or (len(part) > MAX_DEPTH * 2 and not part.strip(" \n,")):
        raise PreviewError("This is too much to copy here; copy it from the source view.")
    parts.append(part)


def _check_depth(text: str) -> None:
    """Refuse deep nesting, which would crash the library's unbounded recursion."""
    openings = text.count("[") + text.count("{")
    indents = (len(line) - len(line.lstrip(" -?:")) for line in text.split("\n"))
    if openings <= _DEPTH_CHECK_THRESHOLD and max(indents) <= _DEPTH_CHECK_THRESHOLD:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise PreviewError(_TOO_DEEP)


def _key(node: yaml.Node) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else f"({type_of(node)})"
