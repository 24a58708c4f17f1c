"""Text, in pages read by offset, so that a log of 2 GB opens at once at either end."""

from typing import BinaryIO

from sandbox_ui.preview.base import Ask, View

PAGE = 64 * 1024


def view(file: BinaryIO, ask: Ask) -> View:
    """The text from ``offset`` on."""
    offset = ask.number("offset", 0)
    file.seek(offset)
    content = file.read(PAGE)
    return View({"text": content.decode("utf-8", "replace"), "offset": offset})
