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
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf

pytestmark = pytest.mark.contract


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
