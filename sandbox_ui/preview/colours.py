"""A text's lines as pieces, each with what it is: by its language, or by a terminal's colours.

A piece is a text, or ``[kind, text]``. Kinds are single letters: Keyword, String, Number,
Comment, Function, Variable, Added, Removed, Heading, Error, Warning, Time; or, where a
program has coloured its output, ``t`` and then the terminal's words (``31``, ``bg42``, ``b``).
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

from sandbox_ui.preview.terminal import coloured

Piece = str | list[str]
SECONDS = 0.25
"""Seconds of work after which the rest of a page is left plain."""

_AHEAD = (
    "python bash javascript typescript json yaml toml ini html css xml sql c cpp java rust go r "
    "tex diff markdown make docker ruby perl php lua console pycon julia matlab"
)
_PLAIN = {"Text only", "Text output"}
_PROGRAMS = {"python": "python", "sh": "bash", "bash": "bash", "node": "javascript"} | {
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


class _Late(Exception):
    """The time for colours is over."""


def lexer_for(name: str, head: str = "") -> Lexer | None:
    """What knows the language of a file, by its name or its first line; None for plain text."""
    try:
        found = find_lexer_class_for_filename(name)
        if found is not None:
            return None if found.name in _PLAIN else found(stripnl=False, ensurenl=False)
        shebang = _SHEBANG.match(head)
        program = shebang and (shebang[2] if shebang[1] == "env" else shebang[1])
        if program in _PROGRAMS:
            return get_lexer_by_name(_PROGRAMS[program], stripnl=False, ensurenl=False)
    except (ClassNotFound, ImportError, OSError):
        pass
    return None


def lexer_named(language: str) -> Lexer | None:
    """What knows a language by its name; None where nobody does."""
    try:
        found = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except (ClassNotFound, ImportError, OSError):
        return None
    return None if found.name in _PLAIN else found


def pieces(lines: Sequence[str], lexer: Lexer | None, lead: str = "") -> list[list[Piece]]:
    """The lines of a page in pieces.

    Args:
        lines: The lines, without their ends.
        lexer: What knows their language.
        lead: What comes before them in the file, for the lexer to know where it is.
    """
    if lexer is None:
        rows = coloured(lines) or [[line] for line in lines]
        return [
            _logged(line) if row == [line] else row for row, line in zip(rows, lines, strict=True)
        ]
    text = lead + "\n".join(lines)
    return _by_line(_tokens(text, len(lead), lexer), lines)


def kind_of(token: Token) -> str:
    """The letter of a token; empty for what has no colour."""
    ancestors = token.split()
    return next((letter for kind, letter in _KINDS if kind in ancestors), "")


def _tokens(text: str, begin: int, lexer: Lexer) -> list[tuple[str, str]]:
    """What the text holds from ``begin`` on, each with its kind; plain where time was over."""
    found: list[tuple[str, str]] = []
    known: dict[Token, str] = {}
    at = begin
    try:
        with _in_time():
            for index, token, value in lexer.get_tokens_unprocessed(text):
                end = index + len(value)
                if end <= at:
                    continue
                if token not in known:
                    known[token] = kind_of(token)
                found.append((known[token], value[max(0, at - index) :]))
                at = end
    except _Late:
        pass
    return [*found, ("", text[at:])] if at < len(text) else found


@contextmanager
def _in_time() -> Iterator[None]:
    """Raise ``_Late`` in the block when it takes too long, in a regular expression too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise _Late


def _by_line(tokens: list[tuple[str, str]], lines: Sequence[str]) -> list[list[Piece]]:
    found: list[list[Piece]] = [[]]
    for kind, value in tokens:
        for number, part in enumerate(value.split("\n")):
            if number:
                found.append([])
            if part:
                add(found[-1], kind, part)
    return found if len(found) == len(lines) else [[line] for line in lines]


def add(row: list[Piece], kind: str, text: str) -> None:
    """Put a text at a row's end, into the piece before it where they are of one kind."""
    last = row[-1] if row else None
    if isinstance(last, list) and (last[0] == kind or not text.strip()):
        last[1] += text
    elif kind:
        row.append([kind, text])
    elif isinstance(last, str):
        row[-1] = last + text
    else:
        row.append(text)


def _logged(line: str) -> list[Piece]:
    row: list[Piece] = []
    at = 0
    for match in _LOG.finditer(line[:400]):
        add(row, "", line[at : match.start()]) if at < match.start() else None
        add(row, str(match.lastgroup), match[0])
        at = match.end()
    if at < len(line):
        add(row, "", line[at:])
    return row


for _name in _AHEAD.split():
    get_lexer_by_name(_name)
