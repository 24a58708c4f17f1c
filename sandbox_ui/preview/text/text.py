"""Plain text, read in pages by offset, so that a 2 GB log opens at once.

Options: ``from``, ``before``, ``at`` (an offset) or ``end=1`` select a page; ``find``,
``count`` and ``line`` search the text (see ``search``); ``same`` asks which pages are
unchanged. ``encoding`` and ``ends`` repeat the values that the first page returned.
"""

from typing import Any, BinaryIO

from sandbox_ui.preview.base import Ask, View
from sandbox_ui.preview.kinds import HEAD, kind_of
from sandbox_ui.preview.text.encoding import detect
from sandbox_ui.preview.text.highlight import Piece, lexer_for, pieces
from sandbox_ui.preview.text.paging import FIRST, PAGE, Page, Paper, lines
from sandbox_ui.preview.text.search import count, ends_in, find, line

ROW = 2000
"""Characters after which a line wraps to another row."""

COLOURED = 256 * 1024
"""Bytes of source code highlighted; later code depends on everything before it."""

_ALIKE = {"diff", "udiff", "log", "ini", "properties", "output", "console", "csv"}
_CHECKED = 64


def prepare(ask: Ask) -> None:
    """Import the lexer for the file's language."""
    lexer_for(ask.name)


def view(file: BinaryIO, ask: Ask) -> View:
    """Return a page of the text or a search result."""
    script = detect(
        file, encoding=ask.options.get("encoding", ""), ends=ask.options.get("ends", "")
    )
    paper = Paper(file, script)
    if "same" in ask.options:
        return View({"same": _same(paper, ask.options["same"])})
    if ask.options.keys() & {"find", "count", "line"}:
        return View(_scanned(paper, ask))
    return View(
        {
            **_shown(paper, _asked(paper, ask), ask.name),
            "named": kind_of(ask.name, paper.read(0, HEAD)),
            "size": paper.size,
            "mark": script.mark,
            "encoding": script.encoding,
            "ends": script.ends,
        }
    )


def _asked(paper: Paper, ask: Ask) -> Page:
    options = ask.options
    if "end" in options:
        return paper.before(paper.size)
    if "before" in options:
        return paper.before(ask.number("before", 0))
    if "at" in options:
        return paper.around(ask.number("at", 0))
    if "from" in options:
        return paper.from_(ask.number("from", 0), ask.number("most", PAGE, least=1, most=PAGE))
    return paper.from_(0, FIRST)


def _scanned(paper: Paper, ask: Ask) -> dict[str, Any]:
    unit = paper.script.unit
    start = ask.number("start", paper.script.mark, least=paper.script.mark) // unit * unit
    end = ask.number("stop", paper.size, most=paper.size)
    if "count" in ask.options:
        return count(paper, start, end)
    if "line" in ask.options:
        return line(paper, ask.number("line", 0), start, end)
    return find(
        paper, ask.options["find"], case=ask.options.get("case") == "1", start=start, end=end
    )


def _same(paper: Paper, asked: str) -> list[bool]:
    """Return for each ``start-end-sum`` whether that page is unchanged."""
    found = []
    for each in asked.split(",")[:_CHECKED]:
        start, end, known = (int(part) for part in each.split("-"))
        content = paper.read(start, min(end, start + 2 * PAGE))
        found.append(start + len(content) == end and Page(start, content, False).sum == known)
    return found


def _shown(paper: Paper, page: Page, name: str) -> dict[str, Any]:
    found = lines(page, paper.script)
    rows: list[list[Piece]] = []
    goes_on, offsets = [], []
    for (offset, _), row in zip(found, _coloured(paper, page, name, found), strict=True):
        for number, part in enumerate(_cut(row)):
            if number:
                goes_on.append(len(rows))
                offset += len(_plain(rows[-1]).encode(paper.script.encoding, "replace"))
            rows.append(part)
            offsets.append(offset)
    return {
        "rows": rows,
        "offsets": offsets,
        "goes_on": goes_on,
        "inside": page.inside,
        "start": page.start,
        "end": page.end,
        "breaks": ends_in(paper, page.content),
        "sum": page.sum,
    }


def _coloured(
    paper: Paper, page: Page, name: str, found: list[tuple[int, str]]
) -> list[list[Piece]]:
    script = paper.script
    texts = [text for _, text in found]
    head = script.text(paper.read(script.mark, script.mark + 200))
    lexer = lexer_for(name, head)
    if lexer is None or page.start == script.mark or _ALIKE & set(lexer.aliases):
        return pieces(texts, lexer)
    if page.start > COLOURED:
        return [[text] for text in texts]
    lead = lines(Page(script.mark, paper.read(script.mark, page.start), False), script)
    end = "" if page.inside else "\n"
    return pieces(texts, lexer, "\n".join(text for _, text in lead) + end)


def _cut(row: list[Piece]) -> list[list[Piece]]:
    """Split a row into rows of at most ``ROW`` characters."""
    found: list[list[Piece]] = [[]]
    room = ROW
    for piece in row:
        kind, text = ("", piece) if isinstance(piece, str) else piece
        while text:
            if not room:
                found.append([])
                room = ROW
            part, text = text[:room], text[room:]
            found[-1].append([kind, part] if kind else part)
            room -= len(part)
    return found


def _plain(row: list[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[1] for piece in row)
