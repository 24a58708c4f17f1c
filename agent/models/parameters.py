"""The request parameters of a model, with the same names, ranges and errors in every interface."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from reprlib import Repr
from typing import Any, get_args

from agent.errors import UsageError
from agent.models.base import API, Effort, Images, ModelConfig, ToolCallStyle, Verbosity

MAX_SEED = 2**32 - 1
_MAX_TEXT = 20_000
_SHOWN = 60
_short = Repr()
_short.maxstring = _short.maxother = _SHOWN
_DEFAULT = "default"
_FLAGS = {"on": True, "off": False, "true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One request parameter, with its name in every interface and its field of ``ModelConfig``.

    ``expected`` follows “must be”; ``read`` and ``from_text`` raise ``ValueError``; ``unset``
    values count as not given.
    """

    name: str
    field: str
    expected: str
    read: Callable[[Any], Any]
    from_text: Callable[[str], Any] = str
    metavar: str = "N"
    help: str
    unset: tuple[Any, ...] = (None, "", _DEFAULT)

    @property
    def option(self) -> str:
        """Its name on a command line, without dashes in front."""
        return self.name.replace("_", "-")

    @property
    def camel_case(self) -> str:
        """Its name in JSON."""
        return camel_case(self.name)

    def check(self, value: Any) -> Any:
        """Return a valid value; None if it is not set. Raises ``UsageError``."""
        if value in self.unset:
            return None
        try:
            return self.read(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise self._error(value) from None

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for; raises ``UsageError``."""
        try:
            text = text.strip()[:_MAX_TEXT]
            value = self.from_text(text) if text or "" not in self.unset else None
        except (ValueError, RecursionError):
            raise self._error(text) from None
        return self.check(value)

    def _error(self, value: Any) -> "InvalidValue":
        return InvalidValue(self.name, f"must be {self.expected}, not {_short.repr(value)}")


class InvalidValue(UsageError):
    """A value that a field cannot have; ``place`` says whose field, such as “Member 2: ”."""

    def __init__(self, name: str, why: str, place: str = "") -> None:
        super().__init__(f"{place}{name} {why}.")
        self.name, self.why, self.place = name, why, place

    def named(self, name: str) -> "InvalidValue":
        """Return it with the name that the sender has for the field."""
        return InvalidValue(name, self.why, self.place)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it, for processes of a cluster."""
        return type(self), (self.name, self.why, self.place)


def camel_case(name: str) -> str:
    """Return a field's name as JavaScript writes it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def number(name: str, maximum: float, help: str) -> Parameter:
    """Return a number from 0 to a maximum."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not 0 <= value <= maximum:
            raise ValueError
        return float(value)

    expected = f"a number from 0 to {maximum:g}"
    return Parameter(
        name=name, field=name, expected=expected, read=read, from_text=float, metavar="X", help=help
    )


def whole(name: str, minimum: int, maximum: int, help: str) -> Parameter:
    """Return a whole number within a range."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise ValueError
        if not minimum <= value <= maximum:
            raise ValueError
        return int(value)

    expected = f"a whole number from {minimum} to {maximum:,}"
    return Parameter(name=name, field=name, expected=expected, read=read, from_text=int, help=help)


def choice(name: str, choices: Any, help: str, field: str = "") -> Parameter:
    """Return one of the values of a ``Literal``."""
    values: tuple[str, ...] = get_args(choices)

    def read(value: Any) -> str:
        if value not in values:
            raise ValueError
        return str(value)

    expected = f"{', '.join(values[:-1])} or {values[-1]}"
    return Parameter(
        name=name, field=field or name, expected=expected, read=read,
        metavar="|".join(values), help=help,
    )  # fmt: skip


def flag(name: str, help: str) -> Parameter:
    """Return a value that is on or off."""

    def read(value: Any) -> bool:
        if value in _FLAGS and isinstance(value, str):
            return _FLAGS[value]
        if not isinstance(value, bool):
            raise ValueError
        return value

    return Parameter(
        name=name, field=name, expected="on or off", read=read, metavar="on|off", help=help
    )


def _read_fields(value: Any) -> dict[str, Any]:
    fields = json.loads(value[:_MAX_TEXT]) if isinstance(value, str) else value
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise ValueError
    json.dumps(fields, allow_nan=False)
    return dict(fields)


PARAMETERS = (
    choice("api", API, "how the endpoint is spoken to (default: auto, by address and model)"),
    choice("effort", Effort, "how much the model reasons"),
    flag("thinking", "whether the model reasons before it answers"),
    choice("verbosity", Verbosity, "how long the answers are"),
    whole("seed", 0, MAX_SEED, "seed of the sampling"),
    number("temperature", 2, "sampling temperature"),
    number("top_p", 1, "nucleus sampling"),
    whole("max_tokens", 1, 10_000_000, "maximum number of tokens of one answer"),
    Parameter(
        name="extra_body", field="extra_body", read=_read_fields, metavar="JSON",
        expected='a JSON object such as {"top_k": 20}',
        help="additional fields of each request",
    ),
    choice("calls", ToolCallStyle, "how the model calls tools", field="tool_call_style"),
    flag("send_reasoning", "whether earlier reasoning is sent back to the model"),
    choice("images", Images, "whether the model sees pictures (default: auto, if it takes them)"),
)  # fmt: skip
"""All request parameters, in the order in which they are shown."""

BY_NAME = {each.name: each for each in PARAMETERS}


def checked_values(source: object) -> dict[str, Any]:
    """Return the parameters that are set as attributes of ``source``, by their names."""
    checked = {each.name: each.check(getattr(source, each.name, None)) for each in PARAMETERS}
    return {name: value for name, value in checked.items() if value is not None}


def config_fields(source: object) -> dict[str, Any]:
    """Return ``checked_values`` as fields of ``ModelConfig``."""
    return {BY_NAME[name].field: value for name, value in checked_values(source).items()}


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return request parameters, named in snake or camel case, without those that are not set."""
    found = {}
    for name, value in values.items():
        known = BY_NAME.get(name) or next((p for p in PARAMETERS if p.camel_case == name), None)
        if known is None:
            names = ", ".join(BY_NAME)
            raise UsageError(f"parameters: “{name[:_SHOWN]}” is none of {names}.")
        found[known.name] = known.check(value)
    return {name: value for name, value in found.items() if value is not None}


def check_config(config: ModelConfig) -> ModelConfig:
    """Return a configuration whose parameters are valid. Raises ``UsageError``."""
    for each in PARAMETERS:
        each.check(getattr(config, each.field))
    return config


def from_json(given: object) -> dict[str, Any]:
    """Return parameters, named in camel case, from JSON."""
    names = [each.camel_case for each in PARAMETERS]
    if not isinstance(given, Mapping):
        raise UsageError(f"parameters must be an object with some of {', '.join(names)}.")
    if unknown := [str(name)[:_SHOWN] for name in given if name not in names]:
        raise UsageError(f"parameters: “{unknown[0]}” is none of {', '.join(names)}.")
    return dict(given)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add an option for each parameter to a command; see ``config_fields`` for their values."""
    group = parser.add_argument_group("parameters of the model's requests")
    for each in PARAMETERS:
        group.add_argument(
            f"--{each.option}", metavar=each.metavar, type=option_type(each), help=each.help
        )


def option_type(parameter: Parameter) -> Callable[[str], Any]:
    """Return a parameter as the ``type`` of an option."""

    def parse(text: str) -> Any:
        try:
            return parameter.parse(text)
        except InvalidValue as error:
            raise argparse.ArgumentTypeError(f"{error.why}.") from None

    return parse
