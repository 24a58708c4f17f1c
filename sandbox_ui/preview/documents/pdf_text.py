"""Text of PDF pages with positions, internal links and search."""

import ctypes
import time
from collections.abc import Callable, Iterator

import pypdfium2
from pypdfium2 import raw

from agent.documents.pdf_pages import open_page

SEARCH_TIMEOUT_SECONDS = 0.8  # per request; the page continues the search
MAX_CHARACTERS = 60_000
MAX_LINKS = 500
MAX_MATCHES = 500
_MAX_QUERY_LENGTH = 200
_REPLACEMENT = "\ufffd"

Box = tuple[float, float, float, float]


def read_text(pdf: pypdfium2.PdfDocument, at: int) -> dict[str, object]:
    """Return a page's ``runs``: box in points, text, whether it ends a line; and ``links``."""
    page = open_page(pdf, at)
    to_box = _box_converter(page)
    text = page.get_textpage()
    runs = [[*_rounded(to_box(*box)), words, ends] for box, words, ends in _runs(text)]
    return {"runs": runs, "links": [[*_rounded(to_box(*box)), to] for box, to in _links(pdf, page)]}


def search_text(
    pdf: pypdfium2.PdfDocument, query: str, first: int, case_sensitive: bool
) -> dict[str, object]:
    """Search from a page on; ``matches`` are ``[page, boxes]``, ``next`` where to continue."""
    query = " ".join(query[:_MAX_QUERY_LENGTH].split())
    matches: list[list[object]] = []
    end = time.monotonic() + SEARCH_TIMEOUT_SECONDS
    at = first
    while query and at < len(pdf) and len(matches) < MAX_MATCHES and time.monotonic() < end:
        matches.extend([at, boxes] for boxes in _search_page(pdf, at, query, case_sensitive))
        at += 1
    return {"matches": matches, "next": at if query and at < len(pdf) else None}


def _search_page(
    pdf: pypdfium2.PdfDocument, at: int, query: str, case_sensitive: bool
) -> Iterator[list[list[float]]]:
    try:
        page = pdf[at]
        to_box = _box_converter(page)
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return
    searcher = text.search(query, match_case=case_sensitive)
    for _ in range(MAX_MATCHES):
        match = searcher.get_next()
        if match is None:
            return
        count = min(text.count_rects(*match), 20)
        yield [_rounded(to_box(*text.get_rect(each))) for each in range(count)]


def _box_converter(page: pypdfium2.PdfPage) -> Callable[[float, float, float, float], Box]:
    """Return a converter from page coordinates to left, top, width and height."""
    left, bottom, right, top = page.get_bbox()
    rotations: dict[int, Callable[[float, float], tuple[float, float]]] = {
        0: lambda x, y: (x - left, top - y),
        90: lambda x, y: (y - bottom, x - left),
        180: lambda x, y: (right - x, y - bottom),
        270: lambda x, y: (top - y, right - x),
    }
    rotate = rotations[page.get_rotation()]

    def to_box(x0: float, y0: float, x1: float, y1: float) -> Box:
        (a, b), (c, d) = rotate(x0, y0), rotate(x1, y1)
        return min(a, c), min(b, d), abs(c - a), abs(d - b)

    return to_box


def _rounded(box: Box) -> list[float]:
    return [round(side, 2) for side in box]


class _TextRun:
    """A word and the space after it, or other adjacent characters of one line."""

    def __init__(self) -> None:
        self.text = ""
        self.box: Box | None = None

    def add(self, character: str, box: Box) -> None:
        self.text += character
        if self.box is None:
            self.box = box
        else:
            left, bottom, right, top = self.box
            self.box = min(left, box[0]), min(bottom, box[1]), max(right, box[2]), max(top, box[3])

    def continues(self, box: Box) -> bool:
        """Return whether a character continues the run on the same line."""
        if self.box is None:
            return True
        _, bottom, right, top = self.box
        height = max(top - bottom, 0.1)
        middle = (box[1] + box[3]) / 2
        return (
            bottom - height * 0.2 <= middle <= top + height * 0.2
            and -height <= box[0] - right < height * 1.5
        )

    def box_up_to(self, box: Box) -> Box:
        """Return its box, extended to the next run so that highlights have no gap."""
        assert self.box is not None
        left, bottom, right, top = self.box
        return (left, bottom, max(right, box[0]), top) if self.continues(box) else self.box


def _runs(text: pypdfium2.PdfTextPage) -> Iterator[tuple[Box, str, bool]]:
    """Yield each word's box and text, and whether it ends a line."""
    run = _TextRun()
    for character, box in _characters(text):
        if character in "\r\n":
            if run.box:
                yield run.box, run.text, True
                run = _TextRun()
        elif box is None:
            run.text += character if run.box else ""
        else:
            if run.box and (run.text.endswith(" ") or not run.continues(box)):
                yield run.box_up_to(box), run.text, False
                run = _TextRun()
            run.add(character, box)
    if run.box:
        yield run.box, run.text, True


def _characters(text: pypdfium2.PdfTextPage) -> Iterator[tuple[str, Box | None]]:
    """Yield characters and boxes; characters implied by the layout have no box."""
    box = raw.FS_RECTF()
    for at in range(min(text.count_chars(), MAX_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(text, at)
        character = _character(code)
        if character in "\r\n" or raw.FPDFText_IsGenerated(text, at) == 1:
            yield character, None
        elif raw.FPDFText_GetLooseCharBox(text, at, ctypes.byref(box)):
            yield character, (box.left, box.bottom, box.right, box.top)


def _character(code: int) -> str:
    if code in (10, 13):
        return "\n"
    if code == 2:  # PDFium's code for a hyphen at a line end
        return "-"
    if code < 32 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return _REPLACEMENT if code >= 32 else " "
    return chr(code)


def _links(pdf: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[tuple[Box, int]]:
    at, link, box = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
    for _ in range(MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page, ctypes.byref(at), ctypes.byref(link)):
            return
        dest = raw.FPDFLink_GetDest(pdf, link)
        if not dest and (action := raw.FPDFLink_GetAction(link)):
            dest = raw.FPDFAction_GetDest(pdf, action)
        to = raw.FPDFDest_GetDestPageIndex(pdf, dest) if dest else -1
        if 0 <= to < len(pdf) and raw.FPDFLink_GetAnnotRect(link, ctypes.byref(box)):
            yield (box.left, box.bottom, box.right, box.top), to
