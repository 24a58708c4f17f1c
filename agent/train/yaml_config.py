"""YAML configuration as dataclasses; errors name file, line and key."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import yaml

from agent.errors import TrainError

T = TypeVar("T")
_MAX_BYTES = 1024**2
_SCALARS: Mapping[type, str] = {int: "a whole number", float: "a number", str: "a text"}


class InvalidValue(ValueError):
    """Constraint between values that is violated.

    Args:
        key: The dotted key to change.
        reason: The requirement.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason


def read_config(
    path: Path,
    kind: type[T],
    changes: Mapping[str, str],
    check: Callable[[T], None],
    earlier_keys: Mapping[str, str],
) -> T:
    """Read a YAML file into a dataclass.

    Args:
        path: The file.
        kind: A dataclass of strings, numbers, booleans, tuples of these, and such dataclasses.
            A field's metadata may limit it with ``least`` and ``most``.
        changes: Values as YAML by dotted key that override the file's.
        check: Raises ``InvalidValue`` if the values are inconsistent.
        earlier_keys: Today's name of each key of earlier versions, such as ``model.begin``.

    Raises:
        TrainError: if a key or value is invalid; names file, line and key.
    """
    root = _mapping(_parse(_read_text(path), str(path)), "the recipe")
    for key, name in earlier_keys.items():
        _rename_key(root, key, name)
    for key, text in changes.items():
        parent, dot, _ = key.rpartition(".")
        current = f"{parent}{dot}{earlier_keys[key]}" if key in earlier_keys else key
        _override(root, current, _parse(text, f"--set {key}"))
    config = cast(T, _build(root, kind, ""))
    try:
        check(config)
    except InvalidValue as wrong:
        raise _error_at(_find_node(root, wrong.key), wrong.key, wrong.reason) from wrong
    return config


def _find_node(root: yaml.Node, key: str) -> yaml.Node:
    """Return the node at a dotted key, or its closest existing parent."""
    for part in key.split("."):
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        root = next((value for name, value in pairs if name.value == part), root)
    return root


def _rename_key(root: yaml.MappingNode, key: str, name: str) -> None:
    part, _, earlier = key.partition(".")
    for above, mapping in root.value:
        if above.value == part and isinstance(mapping, yaml.MappingNode):
            for each, _ in mapping.value:
                if each.value == earlier:
                    each.value = name


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise TrainError(f"{path} is not a recipe: it is larger than {_MAX_BYTES} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainError(f"{path} cannot be read as text: {error}") from error


def _parse(text: str, name: str) -> yaml.Node:
    loader = yaml.SafeLoader(text)
    loader.name = name
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TrainError(f"{name}{line}: not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise TrainError(f"{name}: not valid YAML: {error}") from error
    if node is None:
        raise TrainError(f"{name} is empty.")
    return node


def _override(root: yaml.MappingNode, key: str, value: yaml.Node) -> None:
    parent = root
    *above, last = key.split(".")
    for part in above:
        found = [each for name, each in parent.value if name.value == part]
        if not found or not isinstance(found[0], yaml.MappingNode):
            raise TrainError(f"--set {key}: the recipe has no part named {part!r}.")
        parent = found[0]
    name = yaml.ScalarNode("tag:yaml.org,2002:str", last, value.start_mark, value.end_mark)
    parent.value = [pair for pair in parent.value if pair[0].value != last] + [(name, value)]


def _error_at(node: yaml.Node, key: str, reason: str) -> TrainError:
    mark = node.start_mark
    return TrainError(f"{mark.name}, line {mark.line + 1}: {key}: {reason}")


def _mapping(node: yaml.Node, key: str) -> yaml.MappingNode:
    if not isinstance(node, yaml.MappingNode):
        raise _error_at(node, key, "must be a mapping of keys to values")
    seen = set()
    for name, _ in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _error_at(name, key, "a key must be a text")
        if name.value in seen:
            raise _error_at(name, _join_key(key, name.value), "is a duplicate key")
        seen.add(name.value)
    return node


def _join_key(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent and parent != "the recipe" else name


def _build(node: yaml.Node, kind: Any, key: str) -> object:
    values = {
        name.value: (name, value) for name, value in _mapping(node, key or "the recipe").value
    }
    known = {each.name: each for each in fields(kind)}
    for name, (at, _) in values.items():
        if name not in known:
            raise _error_at(
                at, _join_key(key, name), f"unknown key; the keys are {', '.join(known)}"
            )
    hints, values_by_name = get_type_hints(kind), {}
    for name, each in known.items():
        if name in values:
            value = values[name][1]
            values_by_name[name] = _value(value, hints[name], _join_key(key, name))
            _check_range(value, values_by_name[name], each, _join_key(key, name))
        elif each.default is MISSING and each.default_factory is MISSING:
            raise _error_at(node, _join_key(key, name), "is missing")
    return kind(**values_by_name)


def _value(node: yaml.Node, kind: Any, key: str) -> object:
    if is_dataclass(kind):
        return _build(node, kind, key)
    origin, choices = get_origin(kind), get_args(kind)
    if origin is UnionType:
        if _scalar_value(node, key) is None and isinstance(node, yaml.ScalarNode):
            return None
        return _value(node, next(each for each in choices if each is not NoneType), key)
    if origin is tuple:
        if not isinstance(node, yaml.SequenceNode):
            raise _error_at(node, key, "must be a list")
        return tuple(_value(each, choices[0], key) for each in node.value)
    if origin is Literal:
        if _scalar_value(node, key) not in choices:
            raise _error_at(node, key, f"must be one of {', '.join(map(str, choices))}")
        return _scalar_value(node, key)
    return _scalar(node, kind, key)


def _scalar(node: yaml.Node, kind: type, key: str) -> object:
    value = _scalar_value(node, key)
    if kind is bool and isinstance(value, bool):
        return value
    if kind is float and isinstance(value, str):
        value = _parse_number(value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind in (int, str) and type(value) is kind:
        return value
    raise _error_at(node, key, f"must be {_SCALARS.get(kind, 'true or false')}")


def _parse_number(text: str) -> float | None:
    """Parse a number: YAML 1.1 reads ``1e-6``, without a point, as a string."""
    try:
        return float(text)
    except ValueError:
        return None


def _scalar_value(node: yaml.Node, key: str) -> object:
    """Return a scalar's value; None for other nodes."""
    if not isinstance(node, yaml.ScalarNode):
        return None
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        raise _error_at(node, key, f"a recipe cannot contain a {node.tag}") from error


def _check_range(node: yaml.Node, value: object, field: Field[Any], key: str) -> None:
    least, most = field.metadata.get("least"), field.metadata.get("most")
    for each in value if isinstance(value, tuple) else (value,):
        if not isinstance(each, int | float):
            continue
        if (least is not None and not each >= least) or (most is not None and not each <= most):
            span = f"from {least} to {most}" if most is not None else f"{least} or more"
            raise _error_at(node, key, f"must be {span}, not {each}")
