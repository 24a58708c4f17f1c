"""Files without another preview: type, bytes in hex and embedded strings."""

import re
from typing import Any, BinaryIO

from sandbox_ui.preview.base import Ask, View
from sandbox_ui.preview.data.file_magic import what_it_is

FIRST = 2048
_HEAD = 64 * 1024
_NEAR = 64 * 1024
_WORDS = 60
_WORD = re.compile(rb"[\x20-\x7e]{6,}")


def view(file: BinaryIO, ask: Ask) -> View:
    """Return the type (``what``), header ``facts`` and the ``first`` bytes in hex.

    With ``near`` (an offset), return the ``words`` from there on as ``[offset, text]``.
    """
    if "near" in ask.options:
        return View({"words": _words(file, ask.number("near", 0, most=ask.size))})
    head = file.read(_HEAD)
    what, facts = what_it_is(head, ask.size)
    return View({"what": what, "facts": facts, "first": head[:FIRST].hex(), "size": ask.size})


def _words(file: BinaryIO, offset: int) -> list[list[Any]]:
    file.seek(offset)
    found: list[list[Any]] = []
    for each in _WORD.finditer(file.read(_NEAR)):
        found.append([offset + each.start(), each[0][:200].decode()])
        if len(found) >= _WORDS:
            break
    return found
