"""Text extraction from office documents, for the process of ``documents.text``."""

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator

from agent.documents.office_xml import (
    Relation,
    TextCollector,
    collect_text,
    read_relations,
    relation_ids,
)
from agent.documents.signatures import OLE_SIGNATURE, is_encrypted_open_document

MAX_PART_BYTES = 256 * 1024**2  # uncompressed bytes of one part of a document
_SLIDE_NAME = re.compile(r"ppt/slides/slide(\d+)\.xml")
_WORD_NAME = re.compile(r"word/document\d*\.xml")
_NOTES_NAME = re.compile(r"word/(?:footnotes|endnotes)\d*\.xml")
TextAndPages = tuple[str, int | None]


class LockedError(Exception):
    """The document needs a password."""


def read_office(raw: bytes) -> TextAndPages:
    """Return an office document's text, and its page count if stated.

    Raises ``LockedError``, ``OverflowError``, or ``ValueError`` for other and damaged formats.
    """
    if raw.startswith(OLE_SIGNATURE):
        return _read_workbook(raw)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = archive.namelist()
        if document := next(filter(_WORD_NAME.fullmatch, names), None):
            return _read_word(archive, document)
        if is_encrypted_open_document(archive):
            raise LockedError
        for part, read in _READERS.items():
            if part in names:
                return read(archive, raw)
    raise ValueError("no office document")


def _read_word(archive: zipfile.ZipFile, document: str) -> TextAndPages:
    main = collect_text(_read_part(archive, document), {"t"})
    text = main.text + "".join(_notes(archive, main))
    if "docProps/app.xml" not in archive.NameToInfo:
        return text, None
    return text, _stated_pages(_read_part(archive, "docProps/app.xml"), len(text.split()))


def _notes(archive: zipfile.ZipFile, main: TextCollector) -> Iterator[str]:
    """Yield the foot- and endnotes that a text refers to, with their numbers."""
    notes: dict[str, str] = {}
    for name in filter(_NOTES_NAME.fullmatch, archive.namelist()):
        notes |= collect_text(_read_part(archive, name), {"t"}).notes
    for key, number in main.references.items():
        yield f"[{number}] {notes.get(key, '').strip()}\n"


def _stated_pages(properties: bytes, words: int) -> int | None:
    """Return the page count; None if the stated word count shows that it is a template's."""
    pages, counted = (
        re.search(rb"<%s>(\d{1,9})</%s>" % (name, name), properties)
        for name in (b"Pages", b"Words")
    )
    if not pages or not counted or not words / 2 <= int(counted[1]) <= words * 2:
        return None
    return int(pages[1]) or None


def _read_presentation(archive: zipfile.ZipFile, _raw: bytes) -> TextAndPages:
    slides = [_slide_text(archive, name) for name in _slide_names(archive)]
    return "\f".join(slides), len(slides)


def _slide_names(archive: zipfile.ZipFile) -> list[str]:
    """Return the parts of the slides in the order in which they are shown."""
    part = "ppt/presentation.xml"
    relations = _relations(archive, part)
    order = relation_ids(_read_part(archive, part), "sldId")
    names = [relations[each].target for each in order if each in relations]
    found = filter(None, map(_SLIDE_NAME.fullmatch, archive.namelist()))
    numbers = {match[0]: int(match[1]) for match in found}
    listed = [name for name in dict.fromkeys(names) if name in numbers]
    return listed or sorted(numbers, key=numbers.__getitem__)


def _slide_text(archive: zipfile.ZipFile, name: str) -> str:
    """Return the text of a slide and its speaker notes."""
    text = collect_text(_read_part(archive, name), {"t"}).text
    for relation in _relations(archive, name).values():
        if relation.kind == "notesSlide" and relation.target in archive.NameToInfo:
            notes = collect_text(_read_part(archive, relation.target), {"t"}).text.strip()
            text += f"Notes: {notes}\n" if notes else ""
    return text


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, Relation]:
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.NameToInfo:
        return {}
    return read_relations(_read_part(archive, relations), folder)


def _read_spreadsheet(_archive: zipfile.ZipFile, raw: bytes) -> TextAndPages:
    return _read_workbook(raw)


def _read_workbook(raw: bytes) -> TextAndPages:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(raw))
    sheets = []
    for name in book.sheet_names:
        rows = book.get_sheet_by_name(name).to_python()
        sheets.append("\n".join([name, *("\t".join(map(str, row)) for row in rows)]))
    return "\f".join(sheets), None


def _read_open_document(archive: zipfile.ZipFile, raw: bytes) -> TextAndPages:
    if b"spreadsheet" in _read_part(archive, "mimetype"):
        return _read_workbook(raw)
    return collect_text(_read_part(archive, "content.xml"), {"p", "h"}).text, None


_READERS: dict[str, Callable[[zipfile.ZipFile, bytes], TextAndPages]] = {
    "ppt/presentation.xml": _read_presentation,
    "xl/workbook.xml": _read_spreadsheet,
    "xl/workbook.bin": _read_spreadsheet,
    "content.xml": _read_open_document,
}


def _read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        content = file.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise OverflowError("too much text")
    return content
