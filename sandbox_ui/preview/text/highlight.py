"""Syntax highlighting of lines, by language or by the terminal's colours (ANSI)."""

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String
from pygments.token import _TokenType as Token
from pygments.util import ClassNotFound

Piece = str | list[str]
TIMEOUT_SECONDS = 0.25  # of CPU time, for a page; the rest of it stays plain
_PRELOADED_LEXERS = (
    "python bash javascript typescript json yaml toml ini html css xml sql c cpp java rust go r "
    "tex diff markdown make docker ruby perl php lua console pycon julia matlab"
)
_PLAIN_LEXERS = {"Text only", "Text output"}
_INTERPRETERS = {"python": "python", "sh": "bash", "bash": "bash", "node": "javascript"} | {
    each: each for each in ("perl", "ruby", "php", "lua", "zsh", "awk")
}
_SHEBANG = re.compile(r"#!\s*\S*?([a-z]+)[\d.]*(?:\s+([a-z]+))?")
_CLASSES: tuple[tuple[Token, str], ...] = (
    (Comment.Preproc, "syn-variable"), (Comment, "syn-comment"), (Keyword, "syn-keyword"),
    (Operator.Word, "syn-keyword"), (Number, "syn-number"), (Literal.Date, "syn-number"),
    (String, "syn-string"), (Name.Function, "syn-option"), (Name.Class, "syn-option"),
    (Name.Decorator, "syn-variable"), (Name.Tag, "syn-keyword"), (Name.Attribute, "syn-variable"),
    (Name.Variable, "syn-variable"), (Name.Constant, "syn-variable"),
    (Name.Builtin, "syn-keyword"), (Generic.Inserted, "add"), (Generic.Deleted, "del"),
    (Generic.Heading, "heading"), (Generic.Subheading, "heading"), (Generic.Strong, "heading"),
    (Generic.Prompt, "syn-comment"), (Generic.Error, "bad"), (Generic.Traceback, "bad"),
)  # fmt: skip
_LOG = re.compile(
    r"(?P<dim>^\W?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<bad>\b(?:ERROR|FATAL|CRITICAL|FAILED|Error|Traceback)\b)"
    r"|(?P<warn>\bWARN(?:ING)?\b)"
)
_ESCAPE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # colours
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # any other CSI sequence
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles, links, and the like
    r"|\x1b[ -/]*[0-~]"
)
_STYLES = {1: "b", 2: "d", 3: "i", 4: "u", 7: "x", 9: "s"}
_OFF = {22: "bd", 23: "i", 24: "u", 27: "x", 29: "s"}
_BASIC = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0),
    (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
)  # fmt: skip
_CUBE = (0, 95, 135, 175, 215, 255)


class _HighlightTimeout(Exception):
    """The time limit for highlighting is exceeded."""


def lexer_for_file(name: str, head: str = "") -> Lexer | None:
    """Return the lexer for a file name or shebang line; None for plain text."""
    try:
        found = find_lexer_class_for_filename(name)
        if found is not None:
            return None if found.name in _PLAIN_LEXERS else found(stripnl=False, ensurenl=False)
        shebang = _SHEBANG.match(head)
        program = shebang and (shebang[2] if shebang[1] == "env" else shebang[1])
        if program in _INTERPRETERS:
            return get_lexer_by_name(_INTERPRETERS[program], stripnl=False, ensurenl=False)
    except (ClassNotFound, ImportError, OSError):
        pass
    return None


def lexer_for_language(language: str) -> Lexer | None:
    """Return the lexer of a language; None if there is none."""
    try:
        found = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except (ClassNotFound, ImportError, OSError):
        return None
    return None if found.name in _PLAIN_LEXERS else found


def highlight_lines(
    lines: Sequence[str], lexer: Lexer | None, context: str = ""
) -> list[list[Piece]]:
    """Split the lines of a page into highlighted pieces; ``context`` is the text before them."""
    if lexer is None:
        rows = _parse_ansi(lines) or [[line] for line in lines]
        return [
            _highlight_log_line(line) if row == [line] else row
            for row, line in zip(rows, lines, strict=True)
        ]
    text = context + "\n".join(lines)
    return _split_by_line(_tokens(text, len(context), lexer), lines)


def _token_class(token: Token) -> str:
    ancestors = token.split()
    return next((css_class for kind, css_class in _CLASSES if kind in ancestors), "")


def _tokens(text: str, begin: int, lexer: Lexer) -> list[tuple[str, str]]:
    """Return (kind, text) pairs from ``begin`` on; plain text after the time limit."""
    found: list[tuple[str, str]] = []
    known: dict[Token, str] = {}
    at = begin
    try:
        with _time_limit():
            for index, token, value in lexer.get_tokens_unprocessed(text):
                end = index + len(value)
                if end <= at:
                    continue
                if token not in known:
                    known[token] = _token_class(token)
                found.append((known[token], value[max(0, at - index) :]))
                at = end
    except _HighlightTimeout:
        pass
    return [*found, ("", text[at:])] if at < len(text) else found


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise ``_HighlightTimeout`` after the time limit, even inside a regular expression."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_timeout)
    signal.setitimer(signal.ITIMER_VIRTUAL, TIMEOUT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_timeout(_signal: int, _frame: FrameType | None) -> None:
    raise _HighlightTimeout


def _split_by_line(tokens: list[tuple[str, str]], lines: Sequence[str]) -> list[list[Piece]]:
    found: list[list[Piece]] = [[]]
    for kind, value in tokens:
        for number, part in enumerate(value.split("\n")):
            if number:
                found.append([])
            _append_piece(found[-1], kind, part)
    return found if len(found) == len(lines) else [[line] for line in lines]


def _append_piece(row: list[Piece], kind: str, text: str) -> None:
    """Append text to a row; merge it into the last piece if that has the same kind."""
    if not text:
        return
    last = row[-1] if row else None
    if isinstance(last, list) and (last[0] == kind or not text.strip()):
        last[1] += text
    elif kind:
        row.append([kind, text])
    elif isinstance(last, str):
        row[-1] = last + text
    else:
        row.append(text)


def _highlight_log_line(line: str) -> list[Piece]:
    row: list[Piece] = []
    at = 0
    for match in _LOG.finditer(line[:400]):
        _append_piece(row, "", line[at : match.start()])
        _append_piece(row, str(match.lastgroup), match[0])
        at = match.end()
    _append_piece(row, "", line[at:])
    return row


class _TerminalStyle:
    """Current colours and styles of the terminal."""

    def __init__(self) -> None:
        self.colour = self.background = 0
        self.styles: set[str] = set()

    @property
    def classes(self) -> str:
        parts = [str(self.colour)] if self.colour else []
        parts += [f"bg{self.background}"] if self.background else []
        return " ".join(f"term-{part}" for part in (*parts, *sorted(self.styles)))

    def apply(self, codes: list[int]) -> None:
        """Apply the codes of an SGR sequence."""
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                self._set(code == 48, _extended_colour(codes))
            elif code == 0:
                self.colour = self.background = 0
                self.styles.clear()
            elif code in _STYLES:
                self.styles.add(_STYLES[code])
            elif code in _OFF:
                self.styles -= set(_OFF[code])
            elif code % 10 < 8 or code % 10 == 9:
                self._basic(code)

    def _basic(self, code: int) -> None:
        tens, ones = divmod(code, 10)
        if tens in (3, 9, 4, 10):
            self._set(tens in (4, 10), 0 if ones == 9 else 30 + ones)

    def _set(self, background: bool, colour: int) -> None:
        setattr(self, "background" if background else "colour", colour)


def _parse_ansi(lines: Sequence[str]) -> list[list[Piece]] | None:
    """Split lines into coloured pieces; return None if they have no escape sequences."""
    if not any("\x1b" in line for line in lines):
        return None
    style = _TerminalStyle()
    return [_terminal_row(line, style) for line in lines]


def _terminal_row(line: str, style: _TerminalStyle) -> list[Piece]:
    row: list[Piece] = []
    at = 0
    for match in _ESCAPE.finditer(line):
        _append_terminal_piece(row, style, line[at : match.start()])
        if match[1] is not None:
            style.apply([int(code or 0) for code in re.split("[;:]", match[1])])
        at = match.end()
    _append_terminal_piece(row, style, line[at:])
    return row


def _append_terminal_piece(row: list[Piece], style: _TerminalStyle, text: str) -> None:
    if text:
        row.append([style.classes, text] if style.classes else text)


def _extended_colour(codes: list[int]) -> int:
    """Return the basic colour nearest to a 256-colour or RGB one; consume its codes."""
    mode = codes.pop(0) if codes else 0
    if mode == 2:
        wanted = tuple(codes[:3])
        del codes[:3]
        return _nearest_basic_colour(wanted)
    if mode == 5:
        number = codes.pop(0) if codes else 0
        return 30 + number % 8 if number < 16 else _nearest_basic_colour(_rgb(number))
    return 0


def _rgb(number: int) -> tuple[int, ...]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    rest = number - 16
    return tuple(_CUBE[part % 6] for part in (rest // 36, rest // 6, rest))


def _nearest_basic_colour(rgb: tuple[int, ...]) -> int:
    def distance(number: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(_BASIC[number], rgb, strict=False))

    return 30 + min(range(8), key=distance)


for _name in _PRELOADED_LEXERS.split():
    get_lexer_by_name(_name)
