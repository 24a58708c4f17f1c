"""A request as a command or a program that sends it again; neither contains a key.

What a model or a file says is only ever data in them: in JSON without line breaks, or in Python
literals. Characters that a terminal or an editor would not show are escaped.
"""

import json
import pprint
import unicodedata

from agent.models.endpoint.api import Body

KEY_VARIABLE = "OPENAI_API_KEY"
HIDDEN_URL = "https://ENDPOINT/v1/chat/completions"
"""Stands for the address where it is not recorded or not shown."""

_INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
_END = "END_OF_BODY"
_WIDTH = 100
_MAX_PRETTY = 200_000  # characters; pprint takes a second per megabyte
_QUERY_NOTE = "# The address also had a query, which is not recorded.\n"


def to_curl(url: str, body: Body, *, has_key: bool, has_query: bool = False) -> str:
    """Return a command for a shell.

    Args:
        url: The address.
        body: The body.
        has_key: Whether to send the key of the environment.
        has_query: Whether the address had a query.
    """
    key = [f'  -H "Authorization: Bearer ${KEY_VARIABLE}" \\'] if has_key else []
    lines = [
        f"curl -N {_shell_quoted(url)} \\",
        *key,
        '  -H "Content-Type: application/json" \\',
        f"  --data-binary @- <<'{_END}'",
        to_json(body),
        _END,
    ]
    return (_QUERY_NOTE if has_query else "") + "\n".join(lines) + "\n"


def to_python(url: str, body: Body, *, has_key: bool, has_query: bool = False) -> str:
    """Return a program that needs only Python's standard library; see ``to_curl``."""
    text = to_json(body)
    if len(text) <= _MAX_PRETTY:
        literal = pprint.pformat(body, width=_WIDTH, sort_dicts=False)
    else:
        literal = f"json.loads({text!r})"
    key = f'"Authorization": "Bearer " + environ["{KEY_VARIABLE}"], ' if has_key else ""
    from_os = "from os import environ\n" if has_key else ""
    return (
        f"import json\nimport urllib.request\n{from_os}\n"
        f"{_QUERY_NOTE if has_query else ''}url = {url!r}\nbody = {literal}\n"
        f'headers = {{{key}"Content-Type": "application/json"}}\n'
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
