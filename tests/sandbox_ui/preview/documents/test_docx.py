"""Word documents become HTML that can be read and do nothing."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from PIL import Image
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.documents import docx as docx_preview
from sandbox_ui.preview.kinds import kind_of
from tests.sandbox_ui.preview.file_viewer import FileViewer

HOSTILE = "<img src=x onerror=window.hacked=1>"


def picture(size: int = 20) -> io.BytesIO:
    written = io.BytesIO()
    Image.effect_noise((size, size), 50).save(written, "png")
    written.seek(0)
    return written


def made(fill: Callable[[Any], None]) -> bytes:
    paper = docx.Document()
    fill(paper)
    written = io.BytesIO()
    paper.save(written)
    return written.getvalue()


def letter(paper: Any) -> None:
    paper.add_heading("Report", 0)
    paper.add_heading("First part", 1)
    paper.add_paragraph("Some ").add_run("bold").bold = True
    paper.add_paragraph("item", style="List Bullet")
    table = paper.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", HOSTILE
    paper.add_picture(picture())


def long(paper: Any) -> None:
    for _ in range(300):
        paper.add_paragraph("word " * 200)


def told(content: bytes) -> dict[str, Any]:
    return docx_preview.view(io.BytesIO(content), PreviewRequest("a.docx", len(content))).data


def changed(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A document with one of its parts changed."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        for each in old.namelist():
            new.writestr(each, change(old.read(each)) if each == name else old.read(each))
    return written.getvalue()


def test_headings_lists_tables_and_pictures() -> None:
    data = told(made(letter))
    for part in (
        "<h1>Report</h1>",
        "<h1>First part</h1>",
        "<strong>bold</strong>",
        "<li>item</li>",
    ):
        assert part in data["html"]
    assert "<td><p>left</p></td>" in data["html"]
    assert 'src="data:image/png;base64,' in data["html"]
    assert "&lt;img src=x" in data["html"]
    assert data["words"] == 16


def test_pictures_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_preview, "MAX_IMAGE_BYTES", 100)
    data = told(made(letter))
    assert data["omitted"] == 1
    assert "data:" not in data["html"]


def test_links_lead_to_the_web_only() -> None:
    def link(paper: Any) -> None:
        for address in ("javascript:window.hacked=1", "https://example.org/", "file:///etc/passwd"):
            relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
            at = paper.part.relate_to(address, f"{relation}/hyperlink", is_external=True)
            element = parse_xml(
                '<w:hyperlink xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
                f' xmlns:r="{relation}" r:id="{at}"><w:r><w:t>to</w:t></w:r></w:hyperlink>'
            )
            paper.add_paragraph()._p.append(element)

    html = told(made(link))["html"]
    assert html.count("href=") == 1
    assert 'href="https://example.org/"' in html


def test_a_picture_elsewhere_is_not_fetched() -> None:
    def outside(content: bytes) -> bytes:
        return content.replace(
            b'Target="media/image1.png"', b'TargetMode="External" Target="file:///etc/hostname"'
        )

    content = changed(made(letter), "word/_rels/document.xml.rels", outside)
    try:
        html = told(content)["html"]
    except PreviewError:
        return
    assert "data:" not in html


def test_entities_do_not_grow() -> None:
    lines = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 10))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "lol">{lines}]><d>&e9;</d>'.encode()
    content = changed(made(letter), "word/document.xml", lambda _: bomb)
    with pytest.raises(PreviewError):
        told(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (made(letter)[:4000], "damaged or truncated"),
        (
            changed(made(letter), "word/document.xml", lambda content: content[:300]),
            "damaged or truncated",
        ),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "old format"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "password"),
        (b"plain text", "cannot be unpacked"),
    ],
)
def test_what_is_no_document_says_so(content: bytes, says: str) -> None:
    with pytest.raises(PreviewError, match=says):
        told(content)


def test_another_zip_is_no_document() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(PreviewError, match="not a Word document"):
        told(written.getvalue())


@pytest.mark.parametrize("name", ["a.odt", "a.docx"])
def test_an_opendocument_text_says_what_it_is(name: str) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<x/>")
    content = written.getvalue()
    assert kind_of(name, content) == "document"
    with pytest.raises(PreviewError, match="OpenDocument"):
        told(content)


def test_a_bomb_is_not_unpacked() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("word/document.xml", bytes(docx_preview.MAX_XML_BYTES + 1))
    with pytest.raises(PreviewError, match="larger than 24 MB"):
        told(written.getvalue())


@pytest.mark.browser
def test_a_document_is_read(viewer: FileViewer) -> None:
    viewer.upload("a.docx", made(letter))
    viewer.open()
    place = viewer.show("a.docx")
    expect(place.get_by_role("heading", name="Report")).to_be_visible()
    expect(place.get_by_role("cell", name=HOSTILE)).to_be_visible()
    expect(place.get_by_role("img")).to_have_js_property("naturalWidth", 20)
    expect(viewer.preview.locator(".hd small")).to_contain_text("16 words")


@pytest.mark.browser
def test_a_change_is_shown_in_place(viewer: FileViewer) -> None:
    viewer.upload("a.docx", made(letter))
    viewer.open()
    place = viewer.show("a.docx")
    expect(place).to_contain_text("First part")
    viewer.replace("a.docx", made(lambda paper: paper.add_paragraph("Written anew")))
    expect(place).to_contain_text("Written anew", timeout=30_000)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.docx", b"", "empty"),
        ("blank.docx", made(lambda _: None), "no text"),
        ("cut.docx", made(letter)[:4000], "damaged or truncated"),
        ("long.docx", made(long), "word word"),
    ],
)  # fmt: skip
def test_something_right_is_shown_of_everything(
    viewer: FileViewer, name: str, content: bytes, says: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    expect(viewer.show(name)).to_contain_text(says)
