"""Markdown of models as safe HTML: raw HTML is escaped, images become links."""

import re

import nh3
from markdown_it import MarkdownIt

from agent.util.text import sanitize

_MARKS = re.compile(
    r"^#{1,6} |^[ \t]*([-*+]|\d+[.)]) |^[ \t]*(```|>|\|)|`[^`]+`|\*\*|__|\]\(|(^|\s)[*_]\S",
    re.MULTILINE,
)
_MAX_LENGTH = 200_000
_TAGS = (
    "p br hr em strong s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th "
    "td a"
)
_CLEANER = nh3.Cleaner(
    tags={*_TAGS.split()},
    attributes={"a": {"href", "title"}, "ol": {"start"}, "th": {"style"}, "td": {"style"}},
    filter_style_properties={"text-align"},
    url_schemes={"http", "https"},
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def render(text: str) -> str:
    """Return a model's text as HTML; empty if it is no Markdown, or too long."""
    if len(text) > _MAX_LENGTH or not _MARKS.search(text):
        return ""
    return _CLEANER.clean(_PARSER.render(sanitize(text)))


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _create_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_web  # type: ignore[method-assign]
    return parser


_PARSER = _create_parser()
