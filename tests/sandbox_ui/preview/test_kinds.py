"""The table of kinds, and the detection of files whose first bytes could also be text."""

import bz2
import re
from pathlib import Path

import pytest

from sandbox_ui.preview.kinds import HEAD_BYTES, KINDS, RENDERED, kind_of, load_renderer
from tests.sandbox_ui.preview.data.archives import make_zip

ROOT = Path(__file__).parents[3]
OPENDOCUMENT = "application/vnd.oasis.opendocument.text"


@pytest.mark.parametrize(
    "text",
    ["ID3 is a tag format.\n", "OTTO\tHans\n", "ttcf\n", "BZh9 begins a bzip2 file.\r\n",
     "PAR1 of 18 holes", "OggS, the pages", "fLaC", "MThd 6", "GIF89a or PNG?",
     "ID3-Etikett: größer"],
)  # fmt: skip
def test_text_starting_with_a_magic_number_is_text(text: str) -> None:
    assert kind_of("notes.txt", text.encode()) == "text"
    assert kind_of("notes.md", text.encode()) == "markdown"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"ID3\x04\x00\x00\x00\x00\x00\x23TSSE", "audio"),
        (b"ttcf\x00\x01\x00\x00\x00\x00\x00\x02", "font"),
        (b"OTTO\x00\x0b\x00\x80\x00\x03\x000CFF ", "font"),
        (bz2.compress(b"some words " * 500), "archive"),
        (b"PAR1\x15\x04\x15\x10", "table"),
        (b"OggS\x00\x02\x00\x00", "audio"),
        (b"fLaC\x00\x00\x00\x22", "audio"),
        (b"MThd\x00\x00\x00\x06", "midi"),
        (b"GIF89a\x01\x00\x01\x00\x80\x00\x00", "image"),
    ],
)
def test_formats_are_detected_under_any_name(head: bytes, kind: str) -> None:
    assert kind_of("notes.txt", head[:HEAD_BYTES]) == kind


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("book.xlsb", make_zip({"xl/workbook.bin": b"\x83\1"}), "table"),
        ("upload", b"\xef\xbb\xbf%PDF-1.7\n", "pdf"),
        ("t.parquet", b"PARE\x15\4", "table"),
    ],
)
def test_formats_are_detected_in_further_forms(name: str, head: bytes, kind: str) -> None:
    assert kind_of(name, head) == kind


@pytest.mark.parametrize("name", ["a.odt", "a.docx"])
def test_an_opendocument_text_is_a_document(name: str) -> None:
    assert kind_of(name, make_zip({"mimetype": OPENDOCUMENT, "content.xml": "<x/>"})) == "document"


@pytest.mark.parametrize("name", RENDERED)
def test_a_kind_has_a_view_on_the_server_and_a_module_on_the_page(name: str) -> None:
    assert callable(load_renderer(name))
    source = (ROOT / "static" / "preview" / f"{RENDERED[name].page}.js").read_text()
    assert re.search(r"^export (const|(async )?function) open\b", source, re.MULTILINE)


def test_the_extensions_of_all_kinds_are_documented() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "workspace.md").read_text(), re.MULTILINE)
    documented = set(re.findall(r"\w+", " ".join(rows)))
    assert {end for kind in KINDS.values() for end in kind.extensions.split()} <= documented
