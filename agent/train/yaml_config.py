"""YAML configuration as dataclasses, validated by pydantic; errors name file, line and key."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from agent.errors import TrainError

T = TypeVar("T")
_MAX_BYTES = 1024**2
_UNKNOWN_KEY = "unexpected_keyword_argument"
_REASONS = {
    "missing": "is missing",
    "dataclass_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
}


class InvalidValue(ValueError):
    """A violated constraint between values: the dotted key to change, and the requirement."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason


class _Loader(yaml.SafeLoader):
    """A loader that reads ``1e-6`` as a number, as YAML 1.2 does."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read_config(
    path: Path,
    kind: type[T],
    changes: Mapping[str, str],
    check: Callable[[T], None],
) -> T:
    """Read a YAML file into a dataclass; ``check`` raises ``InvalidValue``."""
    root, data = _parse(_read_text(path), str(path))
    if not isinstance(data, dict):
        raise _error_at(root, "the recipe", "must be a mapping of keys to values")
    nodes = {"": root}
    for key, text in changes.items():
        *above, name = key.split(".")
        nodes[key], value = _parse(text, f"--set {key}")
        parent: Any = data
        for part in above:
            parent = parent.get(part)
            if not isinstance(parent, dict):
                raise TrainError(f"--set {key}: the recipe has no part named {part!r}.")
        parent[name] = value
    try:
        config = TypeAdapter(kind).validate_json(json.dumps(data, default=str))
        check(config)
    except ValidationError as error:
        raise _validation_error(error, kind, nodes) from error
    except InvalidValue as wrong:
        raise _error_in(nodes, wrong.key.split("."), wrong.reason) from wrong
    return config


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise TrainError(f"{path} is not a recipe: it is larger than {_MAX_BYTES} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainError(f"{path} cannot be read as text: {error}") from error


def _parse(text: str, name: str) -> tuple[yaml.Node, Any]:
    """Return the document as a node, which has its line, and as a value."""
    loader = _Loader(text)
    loader.name = name
    try:
        node = loader.get_single_node()
        if node is None:
            raise TrainError(f"{name} is empty.")
        _check_keys(node, "", set())
        return node, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TrainError(f"{name}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise TrainError(f"{name}: not valid YAML: {error}") from error


def _check_keys(node: yaml.Node, key: str, seen: set[int]) -> None:
    """Refuse duplicate keys, and aliases, which could make a short file endless."""
    if id(node) in seen:
        raise _error_at(node, key, "a recipe cannot contain an alias")
    seen.add(id(node))
    keys = set()
    for name, child in _children(node):
        inner = f"{key}.{name}" if key else name
        if name in keys:
            raise _error_at(child, inner, "is a duplicate key")
        keys.add(name)
        _check_keys(child, inner, seen)


def _children(node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((str(name.value), child) for name, child in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((str(number), child) for number, child in enumerate(node.value))


def _validation_error(
    error: ValidationError, kind: Any, nodes: Mapping[str, yaml.Node]
) -> TrainError:
    """Return the first error, but an unknown key before a missing one: it may be misspelt."""
    first = min(error.errors(), key=lambda each: each["type"] != _UNKNOWN_KEY)
    *above, last = map(str, first["loc"])
    reason = _REASONS.get(first["type"]) or (
        f"{first['msg'].replace('Input should', 'must')}, not {first['input']}"
    )
    if first["type"] == _UNKNOWN_KEY:
        for part in above:
            hint = get_type_hints(kind)[part]
            kind = next(each for each in (hint, *get_args(hint)) if is_dataclass(each))
        reason = f"unknown key; the keys are {', '.join(each.name for each in fields(kind))}"
    return _error_in(nodes, [*above, last], reason)


def _error_in(nodes: Mapping[str, yaml.Node], key: list[str], reason: str) -> TrainError:
    """Return an error at a key's node in a change or the file, or its closest existing parent."""
    starts = (".".join(key[:length]) for length in range(len(key), -1, -1))
    start = next(each for each in starts if each in nodes)
    node = nodes[start]
    for part in key[len(start.split(".")) if start else 0 :]:
        node = dict(_children(node)).get(part, node)
    return _error_at(node, ".".join(key), reason)


def _error_at(node: yaml.Node, key: str, reason: str) -> TrainError:
    mark = node.start_mark
    return TrainError(f"{mark.name}, line {mark.line + 1}: {key}: {reason}")
