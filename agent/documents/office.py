"""Text extraction from office documents, for the process of ``documents.text``."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

MAX_PART_BYTES = 256 * 1024**2
"""Maximum uncompressed bytes of one part of a document."""

_PARAGRAPHS = {"p", "h"}
_SLIDE_NAME = re.compile(r"ppt/slides/slide(\d+)\.xml")
TextAndPages = tuple[str, int | None]


def read_office(raw: bytes) -> TextAndPages:
    """Return the text of a docx, pptx, xlsx, odt or ods, and its page count if stated.

    Raises:
        ValueError: the file has none of these formats, or is damaged.
        OverflowError: a part of the file is too large.
    """
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = set(archive.namelist())
        for part, read in _READERS.items():
            if part in names:
                return read(archive, raw)
    raise ValueError("no office document")


def _read_word(archive: zipfile.ZipFile, _raw: bytes) -> TextAndPages:
    text = "".join(_paragraphs(_read_part(archive, "word/document.xml")))
    if "docProps/app.xml" not in archive.namelist():
        return text, None
    return text, _stated_pages(_read_part(archive, "docProps/app.xml"), len(text.split()))


def _stated_pages(properties: bytes, words: int) -> int | None:
    """Return the page count from a document's properties; None if they are stale.

    A program that writes a document without laying it out keeps its template's properties, whose
    word count differs from that of the text.
    """
    pages, counted = (
        re.search(rb"<%s>(\d{1,9})</%s>" % (name, name), properties)
        for name in (b"Pages", b"Words")
    )
    if not pages or not counted or not words / 2 <= int(counted[1]) <= words * 2:
        return None
    return int(pages[1]) or None


def _read_presentation(archive: zipfile.ZipFile, _raw: bytes) -> TextAndPages:
    found = [
        (int(match[1]), match[0])
        for match in map(_SLIDE_NAME.fullmatch, archive.namelist())
        if match
    ]
    texts = ["".join(_paragraphs(_read_part(archive, name))) for _, name in sorted(found)]
    return "\f".join(texts), len(texts)


def _read_spreadsheet(_archive: zipfile.ZipFile, raw: bytes) -> TextAndPages:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(raw))
    sheets = []
    for name in book.sheet_names:
        rows = book.get_sheet_by_name(name).to_python()
        sheets.append("\n".join([name, *("\t".join(map(str, row)) for row in rows)]))
    return "\f".join(sheets), None


def _read_open_document(archive: zipfile.ZipFile, raw: bytes) -> TextAndPages:
    if b"spreadsheet" in _read_part(archive, "mimetype"):
        return _read_spreadsheet(archive, raw)
    return "".join(_paragraphs(_read_part(archive, "content.xml"))), None


_READERS: dict[str, Callable[[zipfile.ZipFile, bytes], TextAndPages]] = {
    "word/document.xml": _read_word,
    "ppt/presentation.xml": _read_presentation,
    "xl/workbook.xml": _read_spreadsheet,
    "content.xml": _read_open_document,
}


def _read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise OverflowError("too much text")
    return content


def _paragraphs(xml: bytes) -> Iterator[str]:
    """Yield the text of each paragraph, with a line break at its end."""
    for _, element in ElementTree.iterparse(io.BytesIO(xml)):
        if element.tag.rpartition("}")[2] in _PARAGRAPHS:
            yield "".join(element.itertext()) + "\n"
            element.clear()
