"""The slides preview: text, images, tables and notes at their positions."""

import io
from typing import Any

import pytest
from playwright.sync_api import expect
from pptx import Presentation
from pptx.util import Inches

from sandbox_ui.preview.base import BinaryPreview, PreviewError
from sandbox_ui.preview.documents import pptx
from sandbox_ui.preview.kinds import load_renderer
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

HOSTILE = "<img src=x onerror=window.hacked=1>"


PNG = encode_image(stripes(40, 30), "png")


def save_presentation(presentation: Any) -> bytes:
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def make_deck(count: int = 0) -> bytes:
    presentation = Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "The lake"
    text = first.placeholders[1].text_frame
    text.text = HOSTILE
    text.add_paragraph().text = "second"
    text.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    second.shapes.add_picture(io.BytesIO(PNG), Inches(1), Inches(1), Inches(2), Inches(1.5))
    table = second.shapes.add_table(1, 2, Inches(5), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    group = second.shapes.add_group_shape()
    group.shapes.add_picture(io.BytesIO(PNG), Inches(1), Inches(4))
    second._element.set("show", "0")
    for at in range(count):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = f"Slide of {at}"
    return save_presentation(presentation)


def slides_data(content: bytes, **options: str) -> dict[str, Any]:
    return preview_data(load_renderer("slides"), content, **options)


def test_text_boxes_have_positions_and_levels() -> None:
    first = slides_data(make_deck())["slides"][0]
    title, text = first["boxes"]
    assert (first["title"], first["notes"]) == ("The lake", "Say it slowly.")
    assert not first["hidden"]
    assert (title["title"], title["lines"]) == (True, [[0, 0, False, "The lake"]])
    assert [(line[0], line[3]) for line in text["lines"]] == [(0, HOSTILE), (1, "second")]
    assert title["position"][1] < text["position"][1]
    assert all(0 <= part <= 100 for part in text["position"])


def test_images_tables_and_groups_are_read() -> None:
    content = make_deck()
    second = slides_data(content)["slides"][1]
    kinds = [box["kind"] for box in second["boxes"]]
    assert kinds == ["image", "table", "image"]
    assert second["hidden"]
    assert second["boxes"][0]["position"] == [10.0, 13.33, 20.0, 20.0]
    assert second["boxes"][1]["rows"] == [["left", "right"]]
    for box in (second["boxes"][0], second["boxes"][2]):
        image = preview_file(load_renderer("slides"), content, image=box["path"])
        assert image == BinaryPreview(PNG, "image/png")
    for path in ("", "x", "0,0", "1,1", "9,9", "1", "1,0,0"):
        with pytest.raises(PreviewError):
            preview_file(load_renderer("slides"), content, image=path)


def test_many_slides_are_paged() -> None:
    content = make_deck(30)
    data = slides_data(content)
    assert (len(data["slides"]), data["total"]) == (pptx.MAX_PAGE_SLIDES, 32)
    assert slides_data(content, start="31")["slides"][0]["title"] == "Slide of 29"


def test_slides_are_shown_with_their_notes(viewer: FileViewer) -> None:
    canvas = viewer.view("a.pptx", make_deck(30))
    first = canvas.get_by_role("region", name="Slide 1: The lake")
    expect(first).to_contain_text(HOSTILE, timeout=30_000)
    first.get_by_text("Notes").click()
    expect(first.get_by_text("Say it slowly.")).to_be_visible()
    second = canvas.get_by_role("region", name="Slide 2")
    expect(second.first).to_contain_text("hidden")
    second.first.scroll_into_view_if_needed()
    expect(second.first.get_by_role("img").first).to_have_js_property("naturalWidth", 40)
    expect(viewer.details).to_contain_text("32 slides")
    canvas.get_by_role("region", name="Slide 20").scroll_into_view_if_needed()
    last = canvas.get_by_role("region", name="Slide 32: Slide of 29")
    expect(last).to_be_attached(timeout=30_000)
