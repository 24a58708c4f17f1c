"""Repairs names, arguments and ids of calls: servers reject a conversation with invalid ones."""

import json
import os
import re
from collections.abc import Container

from agent.util.text import replace_surrogates

_INVALID_NAME_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_NUMBER = re.compile(r":\d{1,9}$")
_SEPARATOR = re.compile(r"[.:/]")


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


def new_call_id() -> str:
    """Return a globally unique id for a tool call."""
    return f"call_{os.urandom(12).hex()}"


def resolve_tool_name(name: str, known: Container[str]) -> str:
    """Return the known tool that ``name`` certainly means, else ``name`` unchanged.

    Models write ``NAME<|channel|>commentary`` (gpt-oss), ``functions.NAME`` (GPT-5, Kimi),
    ``default_api.NAME`` (Gemini) and ``NAME:0`` (Kimi).
    """
    if name in known:
        return name
    plain = _NUMBER.sub("", name.split("<|", 1)[0].strip()).removesuffix("()")
    if plain in known:
        return plain
    last = _SEPARATOR.split(plain)[-1]
    return last if last in known else name
