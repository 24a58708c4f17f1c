"""Files without another preview: type, bytes in hex and embedded strings."""

import re
from typing import Any, BinaryIO

from sandbox_ui.preview.base import JsonPreview, PreviewRequest
from sandbox_ui.preview.data.file_magic import identify

DUMP_BYTES = 2048
_HEAD_BYTES = 64 * 1024
_SEARCH_BYTES = 64 * 1024
_MAX_STRINGS = 60
_STRING = re.compile(rb"[\x20-\x7e]{6,}")


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Return a ``description``, header ``properties`` and the first bytes (``head``) in hex.

    With ``offset``, return the ``strings`` from there on as ``[offset, text]``.
    """
    if "offset" in request.options:
        return JsonPreview(
            {"strings": _find_strings(file, request.int_option("offset", 0, maximum=request.size))}
        )
    head = file.read(_HEAD_BYTES)
    description, properties = identify(head, request.size, request.name)
    return JsonPreview(
        {
            "description": description,
            "properties": properties,
            "head": head[:DUMP_BYTES].hex(),
            "size": request.size,
        }
    )


def _find_strings(file: BinaryIO, offset: int) -> list[list[Any]]:
    file.seek(offset)
    found: list[list[Any]] = []
    for each in _STRING.finditer(file.read(_SEARCH_BYTES)):
        found.append([offset + each.start(), each[0][:200].decode()])
        if len(found) >= _MAX_STRINGS:
            break
    return found
