"""The Word document preview: documents become readable, harmless HTML."""

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.documents import docx as docx_preview
from sandbox_ui.preview.kinds import load_renderer
from tests.sandbox_ui.preview.data.archives import change_members
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.rendering import preview_data

HOSTILE = "<img src=x onerror=window.hacked=1>"


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
    document.add_picture(io.BytesIO(encode_image(stripes(20, 20), "png")))


def fill_long(document: Any) -> None:
    for _ in range(300):
        document.add_paragraph("word " * 200)


def docx_data(content: bytes) -> dict[str, Any]:
    return preview_data(load_renderer("document"), content)


def test_headings_lists_tables_and_images_up_to_a_size_are_converted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = make_docx(fill_letter)
    data = docx_data(content)
    headings = ("<h1>Report</h1>", "<h1>First part</h1>")
    text = ("<strong>bold</strong>", "<li>item</li>", "<td><p>left</p></td>", "&lt;img src=x")
    for part in (*headings, *text, 'src="data:image/png;base64,'):
        assert part in data["html"]
    assert data["word_count"] == 16
    monkeypatch.setattr(docx_preview, "MAX_IMAGE_BYTES", 10)
    data = docx_data(content)
    assert (data["omitted"], "data:" in data["html"]) == (1, False)


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
        target = b'TargetMode="External" Target="file:///etc/hostname"'
        return content.replace(b'Target="media/image1.png"', target)

    letter = make_docx(fill_letter)
    content = change_members(letter, "word/_rels/document.xml.rels", link_externally)
    with suppress(PreviewError):
        assert "data:" not in docx_data(content)["html"]


def test_a_document_is_shown_and_updated(viewer: FileViewer) -> None:
    canvas = viewer.view("a.docx", make_docx(fill_letter))
    expect(canvas.get_by_role("heading", name="Report")).to_be_visible()
    expect(canvas.get_by_role("cell", name=HOSTILE)).to_be_visible()
    expect(canvas.get_by_role("img")).to_have_js_property("naturalWidth", 20)
    expect(viewer.details).to_contain_text("16 words")
    viewer.write("a.docx", make_docx(lambda document: document.add_paragraph("Written anew")))
    expect(canvas).to_contain_text("Written anew", timeout=30_000)
