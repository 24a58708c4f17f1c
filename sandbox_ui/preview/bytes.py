"""Whatever has no preview of its own: its first bytes, as hex and as characters."""

from typing import BinaryIO

from sandbox_ui.preview.base import Ask, View

ROWS = 64
_WIDTH = 16


def view(file: BinaryIO, ask: Ask) -> View:
    """Rows of sixteen bytes from ``offset`` on: ``[offset, hex, characters]`` each."""
    offset = ask.number("offset", 0) // _WIDTH * _WIDTH
    file.seek(offset)
    content = file.read(ROWS * _WIDTH)
    rows = [
        [offset + at, content[at : at + _WIDTH].hex(" "), _characters(content[at : at + _WIDTH])]
        for at in range(0, len(content), _WIDTH)
    ]
    return View({"rows": rows, "offset": offset})


def _characters(content: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in content)
