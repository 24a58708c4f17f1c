"""Markdown → HTML without raw HTML, without images, with links to the web only."""

from typing import BinaryIO

from markdown_it import MarkdownIt

from sandbox_ui.preview.base import Ask, View

_LONGEST = 200_000


def view(file: BinaryIO, _ask: Ask) -> View:
    """The text of a file as HTML."""
    return View({"html": render(file.read(_LONGEST).decode(errors="replace"))})


def render(text: str) -> str:
    """The HTML of a text, of which the first 200,000 characters count.

    HTML in the text is shown as it is written. Images, which would tell their server who
    looks, become links; links lead to ``http`` and ``https`` addresses only.
    """
    html: str = _PARSER.render(text[:_LONGEST])
    return html


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
    ["table", "strikethrough"]
)
_PARSER.disable("image")
_PARSER.validateLink = _is_web  # type: ignore[method-assign]
