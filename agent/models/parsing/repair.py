"""Repair of what models write, so that it can be sent back to an endpoint.

Servers parse names and arguments of earlier calls when they render the prompt, and reject the
conversation permanently if they are invalid.
"""

import json
import re

_INVALID_NAME_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


def replace_surrogates(text: str) -> str:
    """Return ``text`` with lone surrogates, which cannot be encoded, replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def valid_name(name: str) -> str:
    """Return the name of a call as every API takes it."""
    return _INVALID_NAME_CHARACTERS.sub("_", name)[:64] or "unknown"


def valid_arguments(arguments: str) -> str:
    """Return the arguments of a call as a JSON object; others become its only value."""
    arguments = replace_surrogates(arguments)
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed_arguments": arguments}, ensure_ascii=False)
