"""Markdown to HTML.

Supports tables, task lists, footnotes, formulas and highlighted code. Raw HTML is escaped.
Markdown files may show images and link to other files of the workspace; the page resolves
those. Text from a model links to web addresses only.
"""

from collections.abc import Callable
from typing import Any, BinaryIO

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.tasklists import tasklists_plugin
from mdit_py_plugins.texmath import texmath_plugin

from sandbox_ui.preview.base import Ask, View
from sandbox_ui.preview.text.encoding import detect
from sandbox_ui.preview.text.highlight import lexer_named, pieces
from sandbox_ui.preview.text.math import ATTRIBUTES, TAGS, formula
from sandbox_ui.preview.text.math import LONGEST as LONGEST_FORMULA

LONGEST = 200_000
"""Maximum number of characters rendered."""

_COLOURED = 100_000
_CLASSES = {
    "k": "syn-keyword", "s": "syn-string", "n": "syn-number", "c": "syn-comment",
    "f": "syn-option", "v": "syn-variable", "a": "add", "r": "del", "h": "syn-keyword",
}  # fmt: skip
_TAGS = (
    "p br hr em strong s del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody "
    "tr th td a img input sup section span"
)
_CLEANER = nh3.Cleaner(
    tags={*_TAGS.split(), *TAGS},
    attributes={
        "*": {"id"},
        "a": {"href", "title"},
        "img": {"src", "alt", "title"},
        "input": {"type", "checked", "disabled"},
        "ol": {"start"},
        "span": {"class"},
        "code": {"class"},
        "section": {"class"},
        "th": {"style"},
        "td": {"style"},
        **{tag: set(ATTRIBUTES) for tag in TAGS},
    },
    filter_style_properties={"text-align"},
    url_schemes={"http", "https", "data"},
    link_rel=None,
)


def view(file: BinaryIO, ask: Ask) -> View:
    """Render a file as HTML; ``said=1`` uses ``render``. ``cut``: truncated."""
    script = detect(file)
    file.seek(script.mark)
    text = script.text(file.read(4 * LONGEST))
    shown = text[:LONGEST]
    if "said" in ask.options:
        return View({"html": render(shown)})
    cut = len(text) > LONGEST
    if cut:
        shown = shown[: shown.rfind("\n") + 1 or LONGEST]
    return View({"html": _html(_FILES, shown), "cut": cut, "empty": not text.strip()})


def render(text: str) -> str:
    """Render text from a model, limited to its first 200,000 characters.

    HTML in the text is escaped. Images become links, because loading them would reveal the
    user to a third-party server. Only ``http`` and ``https`` links are kept.
    """
    return _html(_SAID, text[:LONGEST])


def _html(parser: MarkdownIt, text: str) -> str:
    return _CLEANER.clean(parser.render(text.replace("\r\n", "\n")))


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _highlighter() -> Callable[[str, str, str], str]:
    """Return a highlighter for fenced code."""

    def highlight(code: str, language: str, _attributes: str) -> str:
        lexer = lexer_named(language) if len(code) <= _COLOURED else None
        if lexer is None:
            return escapeHtml(code)
        rows = pieces(code.split("\n"), lexer)
        return "\n".join("".join(map(_piece, row)) for row in rows)

    return highlight


def _piece(piece: str | list[str]) -> str:
    if isinstance(piece, str):
        return escapeHtml(piece)
    kind, text = piece
    known = _CLASSES.get(kind)
    return f'<span class="{known}">{escapeHtml(text)}</span>' if known else escapeHtml(text)


def _mathematical(parser: MarkdownIt) -> MarkdownIt:
    """Add formulas between dollar signs or LaTeX brackets to a parser."""
    texmath_plugin(parser, delimiters="brackets")
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)

    def rule(*, block: bool) -> Callable[..., str]:
        def shown(_self: Any, tokens: Any, at: int, _options: Any, _environment: Any) -> str:
            html = formula(tokens[at].content, block=block)
            return f"<p>{html}</p>\n" if block and tokens[at].block else html

        return shown

    for name in ("math_block", "math_block_label", "math_block_eqno", "math_inline_double"):
        parser.add_render_rule(name, rule(block=True))
    parser.add_render_rule("math_inline", rule(block=False))
    return parser


def _displayed_formula(state: StateInline, silent: bool) -> bool:
    r"""Parse ``\[ … \]`` at a line start in a paragraph, where no block rule runs."""
    begins_line = state.src[state.pos - 1 : state.pos] in ("", "\n")
    if not begins_line or not state.src.startswith("\\[", state.pos):
        return False
    start = state.pos + 2
    end = state.src.find("\\]", start, start + LONGEST_FORMULA)
    if end < 0:
        return False
    if not silent:
        state.push("math_inline_double", "math", 0).content = state.src[start:end]
    state.pos = end + 2
    return True


def _parser(**options: bool) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _highlighter(), **options})
    made.enable(["table", "strikethrough"])
    made.use(footnote_plugin).use(tasklists_plugin)
    return _mathematical(made)


_SAID = _parser(breaks=True).disable("image")
_SAID.inline.ruler.before("escape", "displayed_formula", _displayed_formula)
_SAID.validateLink = _is_web  # type: ignore[method-assign]
_FILES = _parser().use(front_matter_plugin)
