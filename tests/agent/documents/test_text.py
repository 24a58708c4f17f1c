"""Extraction of a document's text, and its size in tokens."""

import io
import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from agent.documents import text as document_text
from agent.documents.text import extract_text
from agent.errors import WorkspaceError
from tests.sandbox_ui.preview.data.archives import make_zip
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf

pytestmark = pytest.mark.contract

PREVIEW_FILES = Path(__file__).parents[2] / "sandbox_ui" / "preview" / "files"
OLD_OFFICE = b"\xd0\xcf\x11\xe0" + bytes(26) + b"\x09\x00" + bytes(16) + b"\x02" + bytes(463)
LOCKED_OFFICE = OLD_OFFICE + bytes(1024) + bytes(80) + "EncryptedPackage".encode("utf-16-le")
"""An encrypted document, the directory of which is in the third sector."""


def create_pdf(pages: list[str]) -> bytes:
    return make_pdf([PdfPage([text]) for text in pages])


@pytest.mark.parametrize(
    "raw",
    [
        "Größe → 5 µm\n".encode(),
        b"\xef\xbb\xbf" + "Größe → 5 µm\n".encode(),
        "Größe → 5 µm\n".encode("utf-16"),
        b"\xfe\xff" + "Größe → 5 µm\n".encode("utf-16-be"),
        "Größe → 5 µm\n".encode("utf-32"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16 big", "utf-32"],
)
def test_text_is_read_in_its_encoding(raw: bytes) -> None:
    document = extract_text(io.BytesIO(raw), "a.txt")
    assert document.text == "Größe → 5 µm\n"
    assert (document.words, document.tokens, document.pages) == (4, 4, None)


def test_undecodable_text_is_read_as_latin_1(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Größe".encode("latin-1"))
    document = extract_text(tmp_path / "old.txt")
    assert (document.name, document.text) == ("old.txt", "Größe")


def test_an_empty_file_has_no_tokens() -> None:
    assert extract_text(io.BytesIO(b""), "empty").tokens == 0


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "“a” contains no text"),
        (bytes(range(256)), "“a” contains no text"),
        (b"\xff\xfe\x00", "“a” contains no text"),
        (b"PK\x03\x04\0", "“a” contains no text"),
        (create_pdf(["", ""]), "2 pages but contains no text"),
        *[(create_pdf(["text"])[:length], "damaged|no text") for length in (6, 40, 200)],
        ((PREVIEW_FILES / "locked.pdf").read_bytes(), "“a” is protected with a password"),
        (LOCKED_OFFICE, "“a” is protected with a password"),
        (OLD_OFFICE, "“a” is in an old format"),
    ],
)
def test_a_file_without_readable_text_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(WorkspaceError, match=reason):
        extract_text(io.BytesIO(raw), "a")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be read"):
        extract_text(tmp_path / "missing")


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "MAX_TEXT", 10)
    with pytest.raises(WorkspaceError, match="larger than"):
        extract_text(io.BytesIO(b"x" * 11), "long.txt")


def test_pdf_text_is_extracted_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(create_pdf(["The first page.", "The second page."]))
    document = extract_text(tmp_path / "paper.pdf")
    assert document.text == "The first page.\fThe second page."
    assert (document.pages, document.words) == (2, 6)


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"Content-Type: application/pdf\r\n\r\n"])
def test_bytes_before_the_header_of_a_pdf_are_skipped(before: bytes) -> None:
    assert extract_text(io.BytesIO(before + create_pdf(["text"])), "a.pdf").text == "text"


def test_a_text_about_pdf_files_is_a_text() -> None:
    text = "A file begins with\n%PDF-1.7\n"
    assert extract_text(io.BytesIO(text.encode()), "a.md").text == text


def test_extraction_of_a_pdf_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "PDF_SECONDS", 0.001)
    with pytest.raises(WorkspaceError, match="too long"):
        extract_text(io.BytesIO(create_pdf(["text"])), "slow.pdf")


def test_the_reader_process_does_not_inherit_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A script in place of the interpreter prints its environment."""
    fake_python = tmp_path / "python"
    fake_python.write_text(
        "#!/bin/sh\ncat >/dev/null\n"
        'printf \'{"pages": 1, "text": "%s"}\' "$(env | tr \'\\n\' \' \')"'
    )
    fake_python.chmod(0o755)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    monkeypatch.setattr("sys.executable", os.fspath(fake_python))
    shown = extract_text(io.BytesIO(b"%PDF-1.7"), "a.pdf").text
    assert "PATH=" in shown
    assert "sk-private" not in shown


TRY_ACCESS = """
import json, os, socket, sys
from agent.documents import text

def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"

def try_access(raw):
    port, secret = json.loads(raw)
    network = attempt(lambda: socket.create_connection(("127.0.0.1", port), 2))
    file = attempt(lambda: os.open(secret, os.O_RDONLY))
    return json.dumps([os.getresuid(), os.getgroups(), network, file]), 1

text._READERS[sys.argv[1]] = try_access
text.main()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave its user and its network")
@pytest.mark.parametrize("kind", ["PDF", "document"])
def test_the_reader_process_has_no_network_and_no_file_access(kind: str, tmp_path: Path) -> None:
    """A reader function that tries to use the network and a file reports the errors."""
    secret = tmp_path / "secret"
    secret.write_text("the key")
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        request = json.dumps([server.getsockname()[1], str(secret)])
        response = subprocess.check_output(
            [sys.executable, "-c", TRY_ACCESS, kind], input=request.encode()
        )
    attempts = json.loads(json.loads(response)["text"])
    assert attempts == [[65534] * 3, [], "OSError", "PermissionError"]


# Office documents


def write_docx(path: Path) -> None:
    document = docx.Document()
    document.add_heading("A title", 1)
    document.add_paragraph("Four words in it.")
    document.save(str(path))


def write_pptx(path: Path) -> None:
    presentation = pptx.Presentation()
    for text in ("First slide", "Second slide"):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = text
    presentation.save(str(path))


def write_xlsx(path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["lake", 12.5])
    workbook.save(path)


@pytest.mark.parametrize(
    ("name", "make", "text", "pages"),
    [
        ("a.docx", write_docx, "A title\nFour words in it.\n", None),
        ("a.pptx", write_pptx, "First slide\n\fSecond slide\n", 2),
        ("a.xlsx", write_xlsx, "Sheet\nlake\t12.5", None),
    ],
)
def test_text_of_office_documents_is_extracted(
    tmp_path: Path, name: str, make: Callable[[Path], None], text: str, pages: int | None
) -> None:
    make(tmp_path / name)
    document = extract_text(tmp_path / name)
    assert (document.text, document.pages) == (text, pages)


ROOT = 'xmlns:w="w" xmlns:a="a" xmlns:mc="mc" xmlns:wp="wp" xmlns:text="t"'
BOX = "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
DRAWING = f"""<mc:AlternateContent><mc:Choice><w:drawing><wp:posOffset>704850</wp:posOffset>
    {BOX}</w:drawing></mc:Choice><mc:Fallback><w:pict>{BOX}</w:pict></mc:Fallback>
    </mc:AlternateContent>"""
WORD = {
    "word/document2.xml": f"""<d {ROOT}><w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>
        <w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:endnoteReference w:id="2"/></w:r>
        <w:r><w:footnoteReference w:id="2"/><w:instrText>PAGE</w:instrText></w:r></w:p>
        <w:p><w:r><w:t>a</w:t>{DRAWING}<w:t>b</w:t></w:r></w:p></d>""",
    "word/footnotes2.xml": f"""<d {ROOT}><w:footnote w:id="0"><w:p><w:r><w:t>---</w:t></w:r></w:p>
        </w:footnote><w:footnote w:id="2"><w:p><w:r><w:t> low</w:t></w:r></w:p></w:footnote></d>""",
    "word/endnotes.xml": f"""<d {ROOT}><w:endnote w:id="2"><w:p><w:r><w:t>last</w:t></w:r></w:p>
        </w:endnote></d>""",
}
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SLIDES = {
    "ppt/presentation.xml": f"""<p xmlns:r="{RELATIONS}"><sldId id="1" r:id="b"/>
        <sldId id="2" r:id="a"/><sldId id="3" r:id="b"/></p>""",
    "ppt/_rels/presentation.xml.rels": """<r><r Id="a" Target="slides/slide1.xml"/>
        <r Id="b" Target="/ppt/slides/slide2.xml"/></r>""",
    "ppt/slides/slide1.xml": f"<d {ROOT}><a:p><a:t>one</a:t><a:fld><a:t>7</a:t></a:fld></a:p></d>",
    "ppt/slides/slide2.xml": f"<d {ROOT}><a:p><a:t>two</a:t></a:p></d>",
    "ppt/slides/_rels/slide1.xml.rels": """<r><r Id="n" Type="…/notesSlide"
        Target="../notesSlides/notesSlide4.xml"/></r>""",
    "ppt/notesSlides/notesSlide4.xml": f"<d {ROOT}><a:p><a:t>spoken</a:t></a:p></d>",
}
OPEN_TEXT = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": f"""<d {ROOT}><text:tracked-changes><text:p>old</text:p></text:tracked-changes>
        <text:p>a<text:s/>b<text:tab/>c</text:p></d>""",
}


@pytest.mark.parametrize(
    ("name", "parts", "text"),
    [
        ("a.docx", WORD, "one\ttwo[1][2]\na\nboxed\nb\n[1] last\n[2] low\n"),
        ("a.pptx", SLIDES, "two\n\fone\nNotes: spoken\n"),
        ("a.odt", OPEN_TEXT, "a b\tc\n"),
    ],
)
def test_text_of_a_document_is_complete_once_and_in_order(
    name: str, parts: dict[str, str], text: str
) -> None:
    assert extract_text(io.BytesIO(make_zip(parts)), name).text == text


def test_an_encrypted_open_document_is_locked() -> None:
    parts = {**OPEN_TEXT, "META-INF/manifest.xml": "<m><encryption-data/></m>"}
    with pytest.raises(WorkspaceError, match="password"):
        extract_text(io.BytesIO(make_zip(parts)), "a.odt")


@pytest.mark.parametrize(("words", "pages"), [(6, 12), (5, 12), (0, None), (40, None)])
def test_a_page_count_is_used_only_if_the_word_count_matches(
    tmp_path: Path, words: int, pages: int | None
) -> None:
    write_docx(tmp_path / "template.docx")
    with (
        zipfile.ZipFile(tmp_path / "template.docx") as template,
        zipfile.ZipFile(tmp_path / "a.docx", "w") as output,
    ):
        for name in template.namelist():
            content = template.read(name)
            if name == "docProps/app.xml":
                content = content.replace(b"<Pages>1<", b"<Pages>12<")
                content = content.replace(b"<Words>0<", b"<Words>%d<" % words)
            output.writestr(name, content)
    assert extract_text(tmp_path / "a.docx").pages == pages


def test_a_hostile_office_document_is_reported_as_damaged(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "lol">{entities}]><d><p>&e11;</p></d>'
    for name, content in (("bomb.docx", bomb.encode()), ("cut.docx", b"<d><p>")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("word/document.xml", content)
        with pytest.raises(WorkspaceError, match="damaged"):
            extract_text(tmp_path / name)
    (tmp_path / "none.xlsx").write_bytes(b"PK\3\4" + bytes(100))
    with pytest.raises(WorkspaceError, match="damaged"):
        extract_text(tmp_path / "none.xlsx")
