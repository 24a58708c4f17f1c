"""Checks of the API's arguments, with messages that say what is expected."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent import prompts
from agent.errors import UsageError
from agent.models.base import Model
from agent.models.builtin.model import default_prompt_name
from agent.prompts import Prompt
from agent.run_fields import BY_NAME
from agent.sandbox.network.policy import NetworkPolicy

_SHOWN = 80


def check_type(name: str, value: Any, types: type | tuple[type, ...], expected: str) -> None:
    """Raise ``UsageError`` unless the value is of one of the types; ``expected`` names them."""
    if not isinstance(value, types):
        raise invalid_argument(name, value, expected)


def invalid_argument(name: str, value: Any, expected: str) -> UsageError:
    """Return the error for an argument that is not what is expected."""
    return UsageError(f"{name} must be {expected}, not {repr(value)[:_SHOWN]}.")


def text(name: str, value: Any) -> str:
    """Return a text that is not blank."""
    check_type(name, value, str, "a text")
    if not value.strip():
        raise UsageError(f"{name} is empty.")
    return str(value)


def seconds(name: str, value: Any) -> float:
    """Return a number of seconds above 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < float("inf"):
        raise invalid_argument(name, value, "a number of seconds above 0")
    return float(value)


def steps(name: str, value: Any, most: int) -> int:
    """Return a number of model turns, at most the operator's maximum."""
    number = isinstance(value, int) and not isinstance(value, bool)
    if not number or not 1 <= value <= most:
        raise invalid_argument(name, value, f"a number from 1 to {most:,} (STUDIO_STEPS)")
    return int(value)


def paths(name: str, value: Any) -> list[Path]:
    """Return one path or several as a list."""
    expected = "paths of files or folders"
    values = [value] if isinstance(value, str | os.PathLike) else value
    check_type(name, values, Iterable, expected)
    return [path(name, each, expected) for each in values]


def path(name: str, value: Any, expected: str = "the path of a file or folder") -> Path:
    """Return a path that was given as text or as a path."""
    check_type(name, value, (str, os.PathLike), expected)
    return Path(value)


def variables(name: str, value: Any) -> None:
    """Check environment variables: texts by name."""
    check_type(name, value, Mapping, "texts by name")
    if not all(isinstance(each, str) for pair in value.items() for each in pair):
        raise invalid_argument(name, value, "texts by name")


def policy(value: Any) -> NetworkPolicy:
    """Return the network policy that an argument names."""
    policy: NetworkPolicy | None = BY_NAME["network"].check(value)
    if policy is None:
        raise invalid_argument("network", value, BY_NAME["network"].expected)
    return policy


def prompt(value: Any, model: Model) -> Prompt:
    """Return a prompt from its name, a file or a ``Prompt``; by default the model's."""
    if isinstance(value, Prompt):
        return value
    if value is None or value == "":
        return prompts.get_bundled(default_prompt_name(model))
    check_type(
        "prompt", value, (str, os.PathLike), "a prompt's name, the path of a file, or a Prompt"
    )
    return prompts.load(os.fspath(value))
