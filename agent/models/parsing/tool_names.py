"""Names of tools as models and servers write them, with leaked prefixes and suffixes."""

import re
from collections.abc import Container

_NUMBER = re.compile(r":\d{1,9}$")
_SEPARATOR = re.compile(r"[.:/]")


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
