"""Plain text, read in pages by offset, so that a 2 GB log opens at once.

Options: ``start``, ``before``, ``around`` (offsets) or ``end=1`` select a page; ``find``,
``count`` and ``line`` search; ``unchanged`` asks which pages are unchanged; ``encoding`` and
``line_ending`` repeat the values of the first page.
"""

from typing import Any, BinaryIO

from sandbox_ui.preview.base import Preview, PreviewRequest
from sandbox_ui.preview.text.encoding import detect_format
from sandbox_ui.preview.text.highlight import Piece, highlight_lines, lexer_for_file
from sandbox_ui.preview.text.paging import (
    FIRST_PAGE_BYTES,
    MAX_PAGE_BYTES,
    TextPage,
    TextPager,
    split_lines,
)
from sandbox_ui.preview.text.search import count_line_ends, count_lines, find_line, find_matches

MAX_ROW_LENGTH = 2000  # characters, after which a line wraps to another row
MAX_HIGHLIGHTED_BYTES = 256 * 1024
"""Bytes of source code highlighted; later code depends on everything before it."""

_LINE_BASED_LEXERS = {"diff", "udiff", "log", "ini", "properties", "output", "console", "csv"}
_MAX_CHECKED_PAGES = 64


def prepare(request: PreviewRequest) -> None:
    """Import the lexer for the file's language."""
    lexer_for_file(request.name)


def view(file: BinaryIO, request: PreviewRequest) -> Preview:
    """Return a page of the text or a search result."""
    text_format = detect_format(
        file,
        encoding=request.options.get("encoding", ""),
        line_ending=request.options.get("line_ending", ""),
        languages=request.languages,
    )
    pager = TextPager(file, text_format)
    if "unchanged" in request.options:
        return {"unchanged": _unchanged_pages(pager, request.options["unchanged"])}
    if request.options.keys() & {"find", "count", "line"}:
        return _search_response(pager, request)
    return {
        **_page_response(pager, _requested_page(pager, request), request.name),
        "size": pager.size,
        "bom_length": text_format.bom_length,
        "encoding": text_format.encoding,
        "encoding_is_assumed": text_format.assumed,
        "line_ending": text_format.line_ending,
    }


def _requested_page(pager: TextPager, request: PreviewRequest) -> TextPage:
    options = request.options
    if "end" in options:
        return pager.page_before(pager.size)
    if "before" in options:
        return pager.page_before(request.int_option("before"))
    if "around" in options:
        return pager.page_around(request.int_option("around"))
    if "start" in options:
        most = request.int_option("max_bytes", MAX_PAGE_BYTES, minimum=1, maximum=MAX_PAGE_BYTES)
        return pager.page_from(request.int_option("start"), most)
    return pager.page_from(0, FIRST_PAGE_BYTES)


def _search_response(pager: TextPager, request: PreviewRequest) -> dict[str, Any]:
    unit, begin = pager.text_format.unit_size, pager.text_format.bom_length
    start = request.int_option("start", begin, minimum=begin) // unit * unit
    end = request.int_option("stop", pager.size, maximum=pager.size)
    if "count" in request.options:
        return count_lines(pager, start, end)
    if "line" in request.options:
        return find_line(pager, request.int_option("line"), start, end)
    match_case = request.options.get("match_case") == "1"
    return find_matches(pager, request.options["find"], match_case=match_case, start=start, end=end)


def _unchanged_pages(pager: TextPager, pages: str) -> list[bool]:
    """Return for each ``start-end-checksum`` whether that page is unchanged."""
    found = []
    for each in pages.split(",")[:_MAX_CHECKED_PAGES]:
        start, end, checksum = (int(part) for part in each.split("-"))
        page = TextPage(start, pager.read(start, min(end, start + 2 * MAX_PAGE_BYTES)), False)
        found.append((page.end, page.checksum) == (end, checksum))
    return found


def _page_response(pager: TextPager, page: TextPage, name: str) -> dict[str, Any]:
    found = split_lines(page, pager.text_format)
    rows: list[list[Piece]] = []
    continued, offsets = [], []
    for (offset, _), row in zip(found, _highlight_page(pager, page, name, found), strict=True):
        for number, part in enumerate(_wrap_row(row)):
            if number:
                continued.append(len(rows))
                offset += len(_row_text(rows[-1]).encode(pager.text_format.encoding, "replace"))
            rows.append(part)
            offsets.append(offset)
    return {
        "rows": rows,
        "offsets": offsets,
        "continued": continued,
        "starts_within_line": page.starts_within_line,
        "start": page.start,
        "end": page.end,
        "line_ends": count_line_ends(pager, page.content),
        "checksum": page.checksum,
    }


def _highlight_page(
    pager: TextPager, page: TextPage, name: str, found: list[tuple[int, str]]
) -> list[list[Piece]]:
    text_format = pager.text_format
    texts = [text for _, text in found]
    head = text_format.decode(pager.read(text_format.bom_length, text_format.bom_length + 200))
    lexer = lexer_for_file(name, head)
    if (
        lexer is None
        or page.start == text_format.bom_length
        or _LINE_BASED_LEXERS & set(lexer.aliases)
    ):
        return highlight_lines(texts, lexer)
    if page.start > MAX_HIGHLIGHTED_BYTES:
        return [[text] for text in texts]
    begin = text_format.bom_length
    context = split_lines(TextPage(begin, pager.read(begin, page.start), False), text_format)
    end = "" if page.starts_within_line else "\n"
    return highlight_lines(texts, lexer, "\n".join(text for _, text in context) + end)


def _wrap_row(row: list[Piece]) -> list[list[Piece]]:
    """Split a row into rows of at most ``MAX_ROW_LENGTH`` characters."""
    found: list[list[Piece]] = [[]]
    remaining = MAX_ROW_LENGTH
    for piece in row:
        kind, text = ("", piece) if isinstance(piece, str) else piece
        while text:
            if not remaining:
                found.append([])
                remaining = MAX_ROW_LENGTH
            part, text = text[:remaining], text[remaining:]
            found[-1].append([kind, part] if kind else part)
            remaining -= len(part)
    return found


def _row_text(row: list[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[1] for piece in row)
