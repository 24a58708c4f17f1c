"""Slides are cards with what stands on them, where it stands."""

import io
import zipfile
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect
from pptx import Presentation
from pptx.util import Inches

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.documents import pptx
from tests.sandbox_ui.preview.file_viewer import FileViewer

HOSTILE = "<img src=x onerror=window.hacked=1>"


def picture() -> io.BytesIO:
    written = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(written, "png")
    written.seek(0)
    return written


def saved(deck: Any) -> bytes:
    written = io.BytesIO()
    deck.save(written)
    return written.getvalue()


def deck(count: int = 0) -> bytes:
    made = Presentation()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "The lake"
    text = first.placeholders[1].text_frame
    text.text = HOSTILE
    text.add_paragraph().text = "second"
    text.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = made.slides.add_slide(made.slide_layouts[6])
    second.shapes.add_picture(picture(), Inches(1), Inches(1), Inches(2), Inches(1.5))
    table = second.shapes.add_table(1, 2, Inches(5), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    group = second.shapes.add_group_shape()
    group.shapes.add_picture(picture(), Inches(1), Inches(4))
    second._element.set("show", "0")
    for at in range(count):
        made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = f"Slide of {at}"
    return saved(made)


def asked(content: bytes, **options: str) -> Preview:
    return pptx.view(io.BytesIO(content), PreviewRequest("a.pptx", len(content), options))


def told(content: bytes, **options: str) -> dict[str, Any]:
    answer = asked(content, **options)
    assert isinstance(answer, JsonPreview)
    return answer.data


def test_texts_stand_where_they_stood_with_their_levels() -> None:
    first = told(deck())["slides"][0]
    title, text = first["boxes"]
    assert (first["title"], first["notes"], first["hidden"]) == (
        "The lake",
        "Say it slowly.",
        False,
    )
    assert (title["title"], title["lines"]) == (True, [[0, 0, False, "The lake"]])
    assert [(line[0], line[3]) for line in text["lines"]] == [(0, HOSTILE), (1, "second")]
    assert title["at"][1] < text["at"][1]
    assert all(0 <= part <= 100 for part in text["at"])


def test_pictures_tables_and_groups() -> None:
    content = deck()
    second = told(content)["slides"][1]
    kinds = [box["kind"] for box in second["boxes"]]
    assert kinds == ["picture", "table", "picture"]
    assert second["hidden"]
    assert second["boxes"][0]["at"] == [10.0, 13.33, 20.0, 20.0]
    assert second["boxes"][1]["rows"] == [["left", "right"]]
    for box in (second["boxes"][0], second["boxes"][2]):
        taken = asked(content, image=box["path"])
        assert isinstance(taken, BinaryPreview)
        assert (taken.content, taken.media_type) == (picture().getvalue(), "image/png")


@pytest.mark.parametrize("wrong", ["", "x", "0,0", "1,1", "9,9", "1", "1,0,0"])
def test_a_picture_that_is_not_there(wrong: str) -> None:
    with pytest.raises(PreviewError):
        asked(deck(), image=wrong)


def test_many_slides_come_in_pages() -> None:
    content = deck(30)
    assert (len(told(content)["slides"]), told(content)["total"]) == (pptx.MAX_PAGE_SLIDES, 32)
    assert told(content, start="31")["slides"][0]["title"] == "Slide of 29"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (deck()[:9000], "damaged or truncated"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "old format"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "password"),
        (b"plain", "cannot be unpacked"),
    ],
)
def test_what_is_no_presentation_says_so(content: bytes, says: str) -> None:
    with pytest.raises(PreviewError, match=says):
        told(content)


def test_another_zip_is_no_presentation() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(PreviewError, match="not a presentation"):
        told(written.getvalue())


def test_a_part_that_is_broken_says_so() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(deck())) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[:200] if name == "ppt/slides/slide1.xml" else content)
    with pytest.raises(PreviewError, match="damaged or truncated"):
        told(written.getvalue())


def test_a_bomb_is_not_unpacked() -> None:
    written = io.BytesIO()
    with (
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("ppt/presentation.xml", "w") as member,
    ):
        for _ in range(pptx.MAX_UNPACKED_BYTES // 1024**2 + 1):
            member.write(bytes(1024**2))
    with pytest.raises(PreviewError, match="unpack to more than 600 MB"):
        told(written.getvalue())


@pytest.mark.browser
def test_slides_are_seen_with_their_notes(viewer: FileViewer) -> None:
    viewer.upload("a.pptx", deck(30))
    viewer.open()
    place = viewer.show("a.pptx")
    first = place.get_by_role("region", name="Slide 1: The lake")
    expect(first).to_contain_text(HOSTILE, timeout=30_000)
    first.get_by_text("Notes").click()
    expect(first.get_by_text("Say it slowly.")).to_be_visible()
    second = place.get_by_role("region", name="Slide 2")
    expect(second.first).to_contain_text("hidden")
    second.first.scroll_into_view_if_needed()
    expect(second.first.get_by_role("img").first).to_have_js_property("naturalWidth", 40)
    expect(viewer.preview.locator(".hd small")).to_contain_text("32 slides")
    place.get_by_role("region", name="Slide 20").scroll_into_view_if_needed()
    expect(place.get_by_role("region", name="Slide 32: Slide of 29")).to_be_attached(timeout=30_000)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.pptx", b"", "empty"),
        ("none.pptx", saved(Presentation()), "no slides"),
        ("cut.pptx", deck()[:9000], "damaged or truncated"),
    ],
)
def test_something_right_is_shown_of_everything(
    viewer: FileViewer, name: str, content: bytes, says: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    expect(viewer.show(name)).to_contain_text(says)
