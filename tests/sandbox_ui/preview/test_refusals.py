"""Files that cannot be shown, and what the user is told."""

import gzip
import struct
from collections.abc import Callable

import pytest

from agent.documents.svg import MAX_FILE_BYTES
from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.documents.docx import MAX_XML_BYTES
from sandbox_ui.preview.documents.pptx import MAX_UNPACKED_BYTES
from sandbox_ui.preview.worker import load_renderer
from tests.sandbox_ui.preview.data.archives import change_members, make_zip, zip_bomb
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.documents.test_docx import fill_letter, make_docx
from tests.sandbox_ui.preview.documents.test_pptx import make_deck
from tests.sandbox_ui.preview.media.fonts import font_tables, truetype, woff, woff2
from tests.sandbox_ui.preview.media.test_audio import wav, wav_tone
from tests.sandbox_ui.preview.media.test_image import png_declaring
from tests.sandbox_ui.preview.rendering import render
from tests.sandbox_ui.preview.tables.test_table import fill_sheets, make_workbook
from tests.sandbox_ui.preview.test_kinds import OPENDOCUMENT
from tests.sandbox_ui.preview.text.test_notebook import make_notebook, markdown_cell

DAMAGED = "damaged or truncated"
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
LOCKED_OFFICE = OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")
BEGINNING_OF_WORKBOOK = b"\x09\x08\x10\0\0\x06\x05\0" + bytes(12)
LOCKED_WORKBOOK = OLD_OFFICE + bytes(508) + BEGINNING_OF_WORKBOOK + b"\x2f\0\x36\0"
MANIFEST = "<manifest><encryption-data/></manifest>"
LOCKED_SPREADSHEET = make_zip({"content.xml": b"\x8a\1", "META-INF/manifest.xml": MANIFEST})
LETTER, DECK, BOOK = make_docx(fill_letter), make_deck(), make_workbook(fill_sheets)
XML_MEGABYTES, SLIDES_MEGABYTES = MAX_XML_BYTES // 1024**2, MAX_UNPACKED_BYTES // 1024**2
FONT = font_tables("Cut")
PDF = make_pdf([PdfPage(["x"])])
ENTITIES = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 10))
ENTITY_BOMB = f'<!DOCTYPE d [<!ENTITY e0 "lol">{ENTITIES}]><d>&e9;</d>'.encode()


def bomb_with_false_sizes() -> bytes:
    content = bytearray(zip_bomb("xl/worksheets/sheet1.xml", 420))
    for sign, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(sign) + at, 1000)
    return bytes(content)


REFUSED: list[tuple[str, bytes | Callable[[], bytes], str]] = [
    *((kind, b"", "empty") for kind in ("archive", "audio", "document", "font", "image")),
    *((kind, b"", "empty") for kind in ("midi", "notebook", "pdf", "slides", "svg", "video")),
    ("archive", b"PK\x03\x04", DAMAGED),
    ("archive", b"\x1f\x8b", DAMAGED),
    ("archive", b"nothing of the kind", "not an archive"),
    ("archive", make_zip({"a": b"x" * 100})[:-30], DAMAGED),
    ("archive", gzip.compress(b"a,b\n1,two\n", mtime=0)[:12], DAMAGED),
    ("document", b"plain text", "cannot be unpacked"),
    ("document", LETTER[:4000], DAMAGED),
    ("document", change_members(LETTER, "word/document.xml", lambda part: part[:300]), DAMAGED),
    ("document", change_members(LETTER, "word/document.xml", lambda _: ENTITY_BOMB), "."),
    ("document", OLD_OFFICE + bytes(600), "old format"),
    ("document", LOCKED_OFFICE, "password"),
    ("document", make_zip({"x": "y"}), "not a Word document"),
    ("document", make_zip({"mimetype": OPENDOCUMENT, "content.xml": "<x/>"}), "OpenDocument"),
    ("document", lambda: zip_bomb("word/document.xml", XML_MEGABYTES + 1), "than 24 MB"),
    ("slides", b"plain", "cannot be unpacked"),
    ("slides", DECK[:9000], DAMAGED),
    ("slides", change_members(DECK, "ppt/slides/slide1.xml", lambda part: part[:200]), DAMAGED),
    ("slides", OLD_OFFICE + bytes(600), "old format"),
    ("slides", LOCKED_OFFICE, "password"),
    ("slides", make_zip({"x": "y"}), "not a presentation"),
    ("slides", lambda: zip_bomb("ppt/presentation.xml", SLIDES_MEGABYTES + 1), "than 600 MB"),
    ("table", bytes(range(256)) * 20, "not a workbook"),
    ("table", BOOK[: len(BOOK) // 2], DAMAGED),
    ("table", lambda: zip_bomb("xl/worksheets/sheet1.xml", 420), "unpack to more than 400 MB"),
    ("table", bomb_with_false_sizes, "unpack to more than 400 MB"),
    ("table", LOCKED_OFFICE, "password"),
    ("table", LOCKED_WORKBOOK, "password"),
    ("table", LOCKED_SPREADSHEET, "password"),
    ("table", make_zip({"encrypted-package": b"\x8a\1"}), "password"),
    ("table", make_zip({"x": "y"}), "no workbook"),
    ("table", OLD_OFFICE + bytes(600), "no workbook"),
    ("table", b"<html><table><tr><td>1</td></tr></table></html>", "web page"),
    ("table", b"\x09\0\x04\0\2\0\x10\0" + bytes(99), "not a workbook"),
    ("table", b"PARE" + bytes(99), "encrypted"),
    ("database", b"SQLite format 3\x00" + bytes(200), "cannot be read|not an SQLite database"),
    ("database", b"\x8a\x01" * 3000, "encrypted"),
    ("database", b"no database at all", "not an SQLite database"),
    ("notebook", make_notebook(markdown_cell("x"))[:-9], DAMAGED),
    ("notebook", b'{"a": 1}', "not a notebook"),
    ("notebook", b"[1]", "not a notebook"),
    ("notebook", b"[" * 100_000, "deeply|damaged or truncated"),
    ("pdf", b"%PDF-1.7\nnothing", "damaged, truncated"),
    ("pdf", b"no pdf at all", "damaged, truncated"),
    ("pdf", make_pdf([]), "has no pages"),
    ("pdf", PDF[:200], "damaged, truncated"),
    ("svg", gzip.compress(b" " * (MAX_FILE_BYTES + 1), mtime=0), "larger than 32 MB"),
    ("svg", b"\x1f\x8bxx", "decompressed"),
    ("audio", wav_tone()[:30], "does not state"),
    ("audio", wav_tone()[:20], "does not state"),
    ("audio", wav_tone()[:12], "contains no audio"),
    ("audio", wav_tone()[:44], "ends after its header"),
    ("audio", wav(1, 16, b"")[:-8], "contains no audio"),
    ("image", b"no picture", "no readable image"),
    ("image", png_declaring(0, 0), "no readable image"),
    ("image", b"GIF89a", "no readable image"),
    ("image", b"\0" * 99, "no readable image"),
    ("font", b"no font", "no font"),
    ("font", truetype(FONT)[:-10], DAMAGED),
    ("font", woff(FONT)[:-10], DAMAGED),
    ("font", woff2(FONT)[:70], DAMAGED),
    ("font", b"\0\1\0\0\xff\xff", DAMAGED),
    ("font", b"\0\1\0\0\0\0" + b"\0" * 20, DAMAGED),
    ("font", b"wOF2" + b"\xff" * 60, DAMAGED),
    ("midi", b"MThd", "."),
    ("midi", b"no music at all", "not a MIDI file"),
    ("midi", b"RIFF" + bytes(99), "."),
]
NAMES = {"table": "b.xlsx", "audio": "a.wav"}


@pytest.mark.parametrize(("kind", "content", "message"), REFUSED)
def test_a_file_that_cannot_be_shown_is_refused(
    kind: str, content: bytes | Callable[[], bytes], message: str
) -> None:
    content = content if isinstance(content, bytes) else content()
    with pytest.raises(PreviewError, match=message):
        render(load_renderer(kind), content, NAMES.get(kind, "a.bin"))
