"""Markdown to HTML with escaped raw HTML; text from a model links to web addresses only."""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO
from urllib.parse import unquote

import nh3
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.tasklists import tasklists_plugin
from mdit_py_plugins.texmath import texmath_plugin

from sandbox_ui.preview.base import Preview, PreviewRequest
from sandbox_ui.preview.text.encoding import detect_format
from sandbox_ui.preview.text.highlight import highlight_lines, lexer_for_language

MAX_LENGTH = 200_000
MAX_TEX_LENGTH = 4000
MAX_IMAGES = 8_000_000
"""Maximum characters of the images of a notebook's cell as data URLs."""

_ATTACHMENT = "attachment:"
_MAX_HIGHLIGHTED_LENGTH = 100_000
_TAGS = (
    "p br hr em strong s del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody "
    "tr th td a img input sup section span"
)
_MATH_TAGS = (
    "math mrow mi mo mn ms mtext mspace msup msub msubsup mfrac msqrt mroot mover munder "
    "munderover mtable mtr mtd mstyle mpadded mphantom menclose mmultiscripts mprescripts none"
)
_MATH_ATTRIBUTES = (
    "display displaystyle scriptlevel mathvariant mathcolor mathsize stretchy fence separator "
    "form accent accentunder largeop movablelimits symmetric lspace rspace minsize maxsize "
    "linethickness columnalign columnspacing columnlines rowspacing rowlines notation width "
    "height depth voffset"
)
_CLEANER = nh3.Cleaner(
    tags={*_TAGS.split(), *_MATH_TAGS.split()},
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
        **{tag: set(_MATH_ATTRIBUTES.split()) for tag in _MATH_TAGS.split()},
    },
    filter_style_properties={"text-align"},
    url_schemes={"http", "https", "data"},
    link_rel=None,
)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Render the start of a file as HTML; ``model_text=1`` uses ``render_model_text``."""
    text_format = detect_format(file, languages=request.languages)
    file.seek(text_format.bom_length)
    text = text_format.decode(file.read(4 * MAX_LENGTH))
    shown = text[:MAX_LENGTH]
    if "model_text" in request.options:
        return {"html": render_model_text(shown)}
    truncated = len(text) > MAX_LENGTH
    if truncated:
        shown = shown[: shown.rfind("\n") + 1 or MAX_LENGTH]
    html = _html(_FILE_PARSER, shown)
    return {"html": html, "truncated": truncated, "empty": not text.strip()}


def render_model_text(text: str) -> str:
    """Render text from a model; images become links, as loading one reveals the user to others."""
    return _html(_MODEL_TEXT_PARSER, text[:MAX_LENGTH])


def render_cell(text: str, attachments: Mapping[str, str]) -> str:
    """Render a notebook's cell like text from a model, with attached images as data URLs."""
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


def _highlight_code(code: str, language: str, _attributes: str) -> str:
    lexer = lexer_for_language(language) if len(code) <= _MAX_HIGHLIGHTED_LENGTH else None
    if lexer is None:
        return escapeHtml(code)
    rows = highlight_lines(code.split("\n"), lexer)
    return "\n".join("".join(map(_piece_html, row)) for row in rows)


def _piece_html(piece: str | list[str]) -> str:
    if isinstance(piece, str):
        return escapeHtml(piece)
    css_class, text = piece[0].replace("heading", "syn-keyword"), escapeHtml(piece[1])
    return f'<span class="{css_class}">{text}</span>'


def _add_math(parser: MarkdownIt) -> MarkdownIt:
    """Add formulas between dollar signs or LaTeX brackets to a parser."""
    texmath_plugin(parser, delimiters="brackets")
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)

    def rule(*, block: bool) -> Callable[..., str]:
        def shown(_self: Any, tokens: Any, at: int, _options: Any, _environment: Any) -> str:
            html = _render_formula(tokens[at].content, block=block)
            return f"<p>{html}</p>\n" if block and tokens[at].block else html

        return shown

    for name in ("math_block", "math_block_label", "math_block_eqno", "math_inline_double"):
        parser.add_render_rule(name, rule(block=True))
    parser.add_render_rule("math_inline", rule(block=False))
    return parser


def _render_formula(tex: str, *, block: bool) -> str:
    """Render a TeX formula without delimiters as HTML, in display style if ``block``."""
    plain = tex.strip()
    if len(plain) <= MAX_TEX_LENGTH:
        try:
            return convert(plain, display="block" if block else "inline")
        except Exception:  # noqa: BLE001 - the boundary: a library that fails in its own ways
            pass
    return f'<code class="tex">{escapeHtml(plain)}</code>'


def _display_math_rule(state: StateInline, silent: bool) -> bool:
    r"""Parse ``\[ … \]`` at a line start in a paragraph, where no block rule runs."""
    begins_line = state.src[state.pos - 1 : state.pos] in ("", "\n")
    if not begins_line or not state.src.startswith("\\[", state.pos):
        return False
    start = state.pos + 2
    end = state.src.find("\\]", start, start + MAX_TEX_LENGTH)
    if end < 0:
        return False
    if not silent:
        state.push("math_inline_double", "math", 0).content = state.src[start:end]
    state.pos = end + 2
    return True


def _create_parser(**options: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight_code, **options})
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
