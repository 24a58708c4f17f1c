"""Syntax highlighting of lines, by language or by terminal colours.

A piece is plain text or ``[kind, text]``. A kind is the first letter of Keyword, String,
Number, Comment, Function, Variable, Added, Removed, Heading, Error, Warning or Time; for
coloured terminal output, it is ``t`` followed by styles (``31``, ``bg42``, ``b``).
"""

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

from sandbox_ui.preview.text.ansi import parse_ansi

Piece = str | list[str]
TIMEOUT_SECONDS = 0.25
"""CPU time for highlighting a page, in seconds; the rest of the page stays plain."""

_PRELOADED_LEXERS = (
    "python bash javascript typescript json yaml toml ini html css xml sql c cpp java rust go r "
    "tex diff markdown make docker ruby perl php lua console pycon julia matlab"
)
_PLAIN_LEXERS = {"Text only", "Text output"}
_INTERPRETERS = {"python": "python", "sh": "bash", "bash": "bash", "node": "javascript"} | {
    each: each for each in ("perl", "ruby", "php", "lua", "zsh", "awk")
}
_SHEBANG = re.compile(r"#!\s*\S*?([a-z]+)[\d.]*(?:\s+([a-z]+))?")
_KINDS: tuple[tuple[Token, str], ...] = (
    (Comment.Preproc, "v"), (Comment, "c"), (Keyword, "k"), (Operator.Word, "k"),
    (Number, "n"), (Literal.Date, "n"), (String, "s"),
    (Name.Function, "f"), (Name.Class, "f"), (Name.Decorator, "v"), (Name.Tag, "k"),
    (Name.Attribute, "v"), (Name.Variable, "v"), (Name.Constant, "v"), (Name.Builtin, "k"),
    (Generic.Inserted, "a"), (Generic.Deleted, "r"), (Generic.Heading, "h"),
    (Generic.Subheading, "h"), (Generic.Prompt, "c"), (Generic.Strong, "h"),
    (Generic.Error, "e"), (Generic.Traceback, "e"),
)  # fmt: skip
_LOG = re.compile(
    r"(?P<t>^\W?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<e>\b(?:ERROR|FATAL|CRITICAL|FAILED|Error|Traceback)\b)"
    r"|(?P<w>\bWARN(?:ING)?\b)"
)


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
        rows = parse_ansi(lines) or [[line] for line in lines]
        return [
            _highlight_log_line(line) if row == [line] else row
            for row, line in zip(rows, lines, strict=True)
        ]
    text = context + "\n".join(lines)
    return _split_by_line(_tokens(text, len(context), lexer), lines)


def token_kind(token: Token) -> str:
    """Return the letter of a token type; empty if it has no colour."""
    ancestors = token.split()
    return next((letter for kind, letter in _KINDS if kind in ancestors), "")


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
                    known[token] = token_kind(token)
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
            if part:
                append_piece(found[-1], kind, part)
    return found if len(found) == len(lines) else [[line] for line in lines]


def append_piece(row: list[Piece], kind: str, text: str) -> None:
    """Append text to a row; merge it into the last piece if that has the same kind."""
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
        append_piece(row, "", line[at : match.start()]) if at < match.start() else None
        append_piece(row, str(match.lastgroup), match[0])
        at = match.end()
    if at < len(line):
        append_piece(row, "", line[at:])
    return row


for _name in _PRELOADED_LEXERS.split():
    get_lexer_by_name(_name)
