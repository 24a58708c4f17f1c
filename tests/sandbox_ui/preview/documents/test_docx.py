"""The Word document preview: documents become readable, harmless HTML."""

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


def png_image(size: int = 20) -> io.BytesIO:
    buffer = io.BytesIO()
    Image.effect_noise((size, size), 50).save(buffer, "png")
    buffer.seek(0)
    return buffer


def make_docx(fill: Callable[[Any], None]) -> bytes:
    document = docx.Document()
    fill(document)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def fill_letter(document: Any) -> None:
    document.add_heading("Report", 0)
    document.add_heading("First part", 1)
    document.add_paragraph("Some ").add_run("bold").bold = True
    document.add_paragraph("item", style="List Bullet")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", HOSTILE
    document.add_picture(png_image())


def fill_long(document: Any) -> None:
    for _ in range(300):
        document.add_paragraph("word " * 200)


def docx_data(content: bytes) -> dict[str, Any]:
    return docx_preview.view(io.BytesIO(content), PreviewRequest("a.docx", len(content))).data


def replace_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The document with one of its parts changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for each in old.namelist():
            new.writestr(each, change(old.read(each)) if each == name else old.read(each))
    return buffer.getvalue()


def test_headings_lists_tables_and_images_are_converted() -> None:
    data = docx_data(make_docx(fill_letter))
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
    assert data["word_count"] == 16


def test_images_over_the_size_limit_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_preview, "MAX_IMAGE_BYTES", 100)
    data = docx_data(make_docx(fill_letter))
    assert data["omitted"] == 1
    assert "data:" not in data["html"]


def test_only_web_links_are_kept() -> None:
    def add_links(document: Any) -> None:
        for url in ("javascript:window.hacked=1", "https://example.org/", "file:///etc/passwd"):
            relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
            at = document.part.relate_to(url, f"{relation}/hyperlink", is_external=True)
            element = parse_xml(
                '<w:hyperlink xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
                f' xmlns:r="{relation}" r:id="{at}"><w:r><w:t>to</w:t></w:r></w:hyperlink>'
            )
            document.add_paragraph()._p.append(element)

    html = docx_data(make_docx(add_links))["html"]
    assert html.count("href=") == 1
    assert 'href="https://example.org/"' in html


def test_an_external_image_is_not_loaded() -> None:
    def link_externally(content: bytes) -> bytes:
        return content.replace(
            b'Target="media/image1.png"', b'TargetMode="External" Target="file:///etc/hostname"'
        )

    content = replace_part(make_docx(fill_letter), "word/_rels/document.xml.rels", link_externally)
    try:
        html = docx_data(content)["html"]
    except PreviewError:
        return
    assert "data:" not in html


def test_an_entity_bomb_is_rejected() -> None:
    lines = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 10))
    bomb = f'<!DOCTYPE d [<!ENTITY e0 "lol">{lines}]><d>&e9;</d>'.encode()
    content = replace_part(make_docx(fill_letter), "word/document.xml", lambda _: bomb)
    with pytest.raises(PreviewError):
        docx_data(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (make_docx(fill_letter)[:4000], "damaged or truncated"),
        (
            replace_part(
                make_docx(fill_letter), "word/document.xml", lambda content: content[:300]
            ),
            "damaged or truncated",
        ),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "old format"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "password"),
        (b"plain text", "cannot be unpacked"),
    ],
)
def test_an_invalid_document_is_reported(content: bytes, message: str) -> None:
    with pytest.raises(PreviewError, match=message):
        docx_data(content)


def test_a_zip_of_other_content_is_rejected() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(PreviewError, match="not a Word document"):
        docx_data(buffer.getvalue())


@pytest.mark.parametrize("name", ["a.odt", "a.docx"])
def test_an_opendocument_text_is_reported(name: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<x/>")
    content = buffer.getvalue()
    assert kind_of(name, content) == "document"
    with pytest.raises(PreviewError, match="OpenDocument"):
        docx_data(content)


def test_a_zip_bomb_is_rejected() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("word/document.xml", bytes(docx_preview.MAX_XML_BYTES + 1))
    with pytest.raises(PreviewError, match="larger than 24 MB"):
        docx_data(buffer.getvalue())


@pytest.mark.browser
def test_a_document_is_shown(viewer: FileViewer) -> None:
    viewer.upload("a.docx", make_docx(fill_letter))
    viewer.open()
    canvas = viewer.show("a.docx")
    expect(canvas.get_by_role("heading", name="Report")).to_be_visible()
    expect(canvas.get_by_role("cell", name=HOSTILE)).to_be_visible()
    expect(canvas.get_by_role("img")).to_have_js_property("naturalWidth", 20)
    expect(viewer.preview.locator(".header small")).to_contain_text("16 words")


@pytest.mark.browser
def test_a_changed_document_is_updated(viewer: FileViewer) -> None:
    viewer.upload("a.docx", make_docx(fill_letter))
    viewer.open()
    canvas = viewer.show("a.docx")
    expect(canvas).to_contain_text("First part")
    viewer.replace("a.docx", make_docx(lambda document: document.add_paragraph("Written anew")))
    expect(canvas).to_contain_text("Written anew", timeout=30_000)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.docx", b"", "empty"),
        ("blank.docx", make_docx(lambda _: None), "no text"),
        ("cut.docx", make_docx(fill_letter)[:4000], "damaged or truncated"),
        ("long.docx", make_docx(fill_long), "word word"),
    ],
)  # fmt: skip
def test_empty_damaged_and_long_documents_are_shown_or_reported(
    viewer: FileViewer, name: str, content: bytes, message: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    expect(viewer.show(name)).to_contain_text(message)
