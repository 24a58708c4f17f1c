"""A request as a command or a program, without a key; texts are only ever escaped data in it."""

import json
import pprint
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.models.endpoint.api import Body

HIDDEN_URL = "https://ENDPOINT/v1"
"""Stands for the base URL where it is not recorded or not shown."""

_INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
_END = "END_OF_BODY"
_WIDTH = 100
_MAX_PRETTY = 200_000  # characters; pprint takes a second per megabyte
_QUERY_NOTE = "# The address also had a query, which is not recorded.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request is sent, and how."""

    url: str
    has_key: bool  # whether to send the environment's
    has_query: bool = False
    key_header: str = "Authorization"  # ``Authorization`` or ``x-api-key``
    headers: Mapping[str, str] = field(default_factory=dict)  # further ones

    @property
    def key_prefix(self) -> str:
        """What the header has before the key."""
        return "Bearer " if self.key_header == "Authorization" else ""

    @property
    def key_variable(self) -> str:
        """The variable of the environment that has the key."""
        return "OPENAI_API_KEY" if self.key_header == "Authorization" else "ANTHROPIC_API_KEY"


def to_curl(target: Target, body: Body) -> str:
    """Return a command for a shell."""
    key = f'  -H "{target.key_header}: {target.key_prefix}${target.key_variable}" \\'
    headers = {"Content-Type": "application/json", **target.headers}
    lines = [
        f"curl -N {_shell_quoted(target.url)} \\",
        *([key] if target.has_key else []),
        *(f"  -H {_shell_quoted(f'{name}: {value}')} \\" for name, value in headers.items()),
        f"  --data-binary @- <<'{_END}'",
        to_json(body),
        _END,
    ]
    return (_QUERY_NOTE if target.has_query else "") + "\n".join(lines) + "\n"


def to_python(target: Target, body: Body) -> str:
    """Return a program that needs only Python's standard library."""
    text = to_json(body)
    if len(text) <= _MAX_PRETTY:
        literal = pprint.pformat(body, width=_WIDTH, sort_dicts=False)
    else:
        literal = f"json.loads({text!r})"
    key = f'"{target.key_header}": "{target.key_prefix}" + environ["{target.key_variable}"], '
    headers = {"Content-Type": "application/json", **target.headers}
    literals = ", ".join(f"{name!r}: {value!r}" for name, value in headers.items())
    from_os = "from os import environ\n" if target.has_key else ""
    return (
        f"import json\nimport urllib.request\n{from_os}\n"
        f"{_QUERY_NOTE if target.has_query else ''}url = {target.url!r}\nbody = {literal}\n"
        f"headers = {{{key if target.has_key else ''}{literals}}}\n"
        "request = urllib.request.Request(url, json.dumps(body).encode(), headers)\n"
        "with urllib.request.urlopen(request) as response:\n"
        "    for line in response:\n"
        '        print(line.decode(), end="")\n'
    )


def to_json(body: Body) -> str:
    """Return the body as one line of JSON with all invisible characters escaped."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable():
        return text
    return "".join(_escaped(each) if _is_invisible(each) else each for each in text)


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


def _shell_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
