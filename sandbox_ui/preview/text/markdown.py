"""Markdown to HTML.

Supports tables, task lists, footnotes, formulas and highlighted code. Raw HTML is escaped.
Markdown files may show images and link to other files of the workspace; the page resolves
those. Text from a model links to web addresses only.
"""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.tasklists import tasklists_plugin
from mdit_py_plugins.texmath import texmath_plugin

from sandbox_ui.preview.base import JsonPreview, PreviewRequest
from sandbox_ui.preview.text.encoding import detect_format
from sandbox_ui.preview.text.highlight import highlight_lines, lexer_for_language
from sandbox_ui.preview.text.math import ATTRIBUTES, TAGS, render_formula
from sandbox_ui.preview.text.math import MAX_TEX_LENGTH as LONGEST_FORMULA

MAX_LENGTH = 200_000
"""Maximum number of characters rendered."""

MAX_IMAGES = 8_000_000
"""Maximum characters of the images of a notebook's cell as data URLs."""

_ATTACHMENT = "attachment:"
_MAX_HIGHLIGHTED_LENGTH = 100_000
_CSS_CLASSES = {
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


def view(file: BinaryIO, request: PreviewRequest) -> JsonPreview:
    """Render the start of a file as HTML; ``model_text=1`` uses ``render_model_text``."""
    text_format = detect_format(file, languages=request.languages)
    file.seek(text_format.bom_length)
    text = text_format.decode(file.read(4 * MAX_LENGTH))
    shown = text[:MAX_LENGTH]
    if "model_text" in request.options:
        return JsonPreview({"html": render_model_text(shown)})
    truncated = len(text) > MAX_LENGTH
    if truncated:
        shown = shown[: shown.rfind("\n") + 1 or MAX_LENGTH]
    return JsonPreview(
        {"html": _html(_FILE_PARSER, shown), "truncated": truncated, "empty": not text.strip()}
    )


def render_model_text(text: str) -> str:
    """Render text from a model, limited to its first 200,000 characters.

    HTML in the text is escaped. Images become links, because loading them would reveal the
    user to a third-party server. Only ``http`` and ``https`` links are kept.
    """
    return _html(_MODEL_TEXT_PARSER, text[:MAX_LENGTH])


def render_cell(text: str, attachments: Mapping[str, str]) -> str:
    """Render a cell of a notebook like text from a model, with attached images as data URLs."""
    return _html(_CELL_PARSER, text[:MAX_LENGTH], {"attachments": attachments, "left": MAX_IMAGES})


def _html(parser: MarkdownIt, text: str, environment: dict[str, Any] | None = None) -> str:
    return _CLEANER.clean(parser.render(text.replace("\r\n", "\n"), environment))


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _is_web_or_attached(url: str) -> bool:
    return _is_web(url) or url.startswith(_ATTACHMENT)


def _cell_image(parser: Any, tokens: Any, at: int, options: Any, environment: Any) -> str:
    """Return an attached image; of another one, a link, and of what is too large, its text."""
    address = str(tokens[at].attrGet("src"))
    alt = escapeHtml(parser.renderInlineAsText(tokens[at].children, options, environment))
    if _is_web(address):
        return f'<a href="{escapeHtml(address)}">{alt or escapeHtml(address)}</a>'
    image = environment["attachments"].get(unquote(address.removeprefix(_ATTACHMENT)), "")
    environment["left"] -= len(image)
    if not image or environment["left"] < 0:
        return f"[{alt or 'image'}]"
    return f'<img src="{escapeHtml(image)}" alt="{alt}">'


def _highlighter() -> Callable[[str, str, str], str]:
    """Return a highlighter for fenced code."""

    def highlight(code: str, language: str, _attributes: str) -> str:
        lexer = lexer_for_language(language) if len(code) <= _MAX_HIGHLIGHTED_LENGTH else None
        if lexer is None:
            return escapeHtml(code)
        rows = highlight_lines(code.split("\n"), lexer)
        return "\n".join("".join(map(_piece_html, row)) for row in rows)

    return highlight


def _piece_html(piece: str | list[str]) -> str:
    if isinstance(piece, str):
        return escapeHtml(piece)
    kind, text = piece
    css_class = _CSS_CLASSES.get(kind)
    return f'<span class="{css_class}">{escapeHtml(text)}</span>' if css_class else escapeHtml(text)


def _add_math(parser: MarkdownIt) -> MarkdownIt:
    """Add formulas between dollar signs or LaTeX brackets to a parser."""
    texmath_plugin(parser, delimiters="brackets")
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)

    def rule(*, block: bool) -> Callable[..., str]:
        def shown(_self: Any, tokens: Any, at: int, _options: Any, _environment: Any) -> str:
            html = render_formula(tokens[at].content, block=block)
            return f"<p>{html}</p>\n" if block and tokens[at].block else html

        return shown

    for name in ("math_block", "math_block_label", "math_block_eqno", "math_inline_double"):
        parser.add_render_rule(name, rule(block=True))
    parser.add_render_rule("math_inline", rule(block=False))
    return parser


def _display_math_rule(state: StateInline, silent: bool) -> bool:
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


def _create_parser(**options: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlighter(), **options})
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(tasklists_plugin)
    return _add_math(parser)


_MODEL_TEXT_PARSER = _create_parser(breaks=True).disable("image")
_MODEL_TEXT_PARSER.inline.ruler.before("escape", "displayed_formula", _display_math_rule)
_MODEL_TEXT_PARSER.validateLink = _is_web  # type: ignore[method-assign]
_CELL_PARSER = _create_parser(breaks=True)
_CELL_PARSER.inline.ruler.before("escape", "displayed_formula", _display_math_rule)
_CELL_PARSER.validateLink = _is_web_or_attached  # type: ignore[method-assign]
_CELL_PARSER.add_render_rule("image", _cell_image)
_FILE_PARSER = _create_parser().use(front_matter_plugin)
