"""The fields of a ``RunSpec`` and their values; imports little, for a fast command line."""

import argparse
from collections.abc import Callable
from typing import Any, Literal

from agent import prompts
from agent.errors import UsageError
from agent.models.parameters import PARAMETERS, Parameter, choice, flag, option_type, whole
from agent.sandbox.network.policy import NetworkPolicy, parse_hosts, parse_policy
from agent.setting_parsers import parse_size

Pdfs = Literal["auto", "text", "pages", "both"]
"""How a model without a sandbox gets PDFs; ``auto``: their text, and of scans the pages."""

_MAX_COUNT = 10_000_000
_MIN_MEMORY = 64 * 1024**2


def _text(name: str, help: str, read: Callable[[str], Any] = str, expected: str = "") -> Parameter:
    def read_text(value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError
        return read(value.strip())

    return Parameter(
        name=name, field=name, expected=expected or "a text", read=read_text, metavar="TEXT",
        help=help, unset=(None,) if name == "base_url" else (None, ""),
    )  # fmt: skip


def _prompt(text: str) -> str:
    if text not in prompts.list_all_names():
        raise ValueError
    return text


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not 0 < value < float("inf"):
        raise ValueError
    return float(value)


def _bytes(value: Any) -> int:
    size = parse_size(value) if isinstance(value, str) else value
    if not isinstance(size, int) or size < _MIN_MEMORY:
        raise ValueError
    return size


def _policy(value: Any) -> NetworkPolicy:
    if isinstance(value, NetworkPolicy):
        return value
    if not isinstance(value, str):
        raise TypeError
    return NetworkPolicy("listed") if value == "listed" else parse_policy(value)


def _hosts(value: Any) -> tuple[str, ...]:
    return parse_hosts(value if isinstance(value, str) else " ".join(value))


def _rules(value: Any) -> tuple[str, ...]:
    from agent.loop.approval import parse_rules  # imports the events

    names = value.replace(",", " ").split() if isinstance(value, str) else list(value)
    try:
        return parse_rules(each for each in names if each != "off")
    except UsageError:
        raise ValueError from None


_HOSTS = "up to 200 host names such as pypi.org"
FIELDS = (
    _text("task", "the task for the model"),
    _text("inputs", "the draft with its files"),
    _text("base_url", "URL of the endpoint"),
    _text("model", "the model's name, or demonstration or builtin"),
    choice(
        "mode", Literal["sandbox", "plain"],
        "sandbox (default); plain: no tools, documents in the prompt",
    ),
    choice(
        "pdfs", Pdfs,
        "in plain mode, PDFs are sent as text, pages or both (default: auto, only scans as pages)",
    ),
    _text("prompt", "the prompt", _prompt, f"one of {', '.join(prompts.list_names())}"),
    whole("max_steps", 1, _MAX_COUNT, "maximum number of model turns"),
    Parameter(
        name="max_seconds", field="max_seconds", read=_seconds, from_text=float,
        expected="a number of seconds above 0", help="maximum wall time of a round",
    ),
    whole("max_conversation_tokens", 1, _MAX_COUNT, "maximum length of the conversation"),
    flag("summarise", "summarise older steps near the context limit"),
    Parameter(
        name="memory", field="memory", read=_bytes, metavar="SIZE",
        expected="a size from 64 MB, such as 512MB", help="memory of the sandbox",
    ),
    Parameter(
        name="network", field="network", read=_policy, metavar="POLICY",
        expected=f"open, none, packages or {_HOSTS}",
        help="what the sandbox can reach: open, none, packages, or a list of hosts",
        unset=(None,),  # an empty list of hosts is one
    ),
    Parameter(
        name="hosts", field="hosts", read=_hosts, expected=_HOSTS,
        help="what the sandbox can reach if its network is listed",
    ),
    Parameter(
        name="approve", field="approve", read=_rules, metavar="RULES",
        expected="every, risky, or some of network, delete, install and long",
        help="ask before calls: every, risky, or of network, delete, install, long",
    ),
    _text("image", "sandbox image to use instead of STUDIO_IMAGE"),
    *PARAMETERS,
)  # fmt: skip
"""All fields, with what their values must be."""

BY_NAME = {each.name: each for each in FIELDS}


def add_option(parser: argparse.ArgumentParser, name: str, **changes: Any) -> None:
    """Add a field to a command as ``--max-steps``; ``changes`` go to ``add_argument``."""
    each = BY_NAME[name]
    usual: dict[str, Any] = {"metavar": each.metavar, "type": option_type(each), "help": each.help}
    parser.add_argument(f"--{each.option}", **(usual | changes))
