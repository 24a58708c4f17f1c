"""PDF: pages where they are looked at, words that can be taken and found."""

import io
import os
import re
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import BinaryPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.documents import pdf_render
from sandbox_ui.preview.documents.pdf import MAX_SIZES, view
from sandbox_ui.preview.documents.pdf_render import MAX_PIXELS
from tests.sandbox_ui.preview.documents.pdf_files import Sheet, paper, parts_of
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of

LINES = [f"Line {at} of a page that has some words on it" for at in range(40)]
SQUARE = "1 0 0 rg 0 0 100 100 re f"


def written(folder: Path, content: bytes, name: str = "a.pdf") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def picture_of(path: Path, **options: str) -> Image.Image:
    with path.open("rb") as file:
        answer = view(cast(BinaryIO, file), PreviewRequest(path.name, path.stat().st_size, options))
    assert isinstance(answer, BinaryPreview)
    return Image.open(io.BytesIO(answer.content)).convert("RGB")


def text_of(path: Path, page: int) -> str:
    runs = cast(list[list[str]], data_of(view, path, text=str(page))["runs"])
    return "".join(run[4] for run in runs)


def is_red(image: Image.Image, at: tuple[int, int]) -> bool:
    found = image.getpixel(at)
    assert isinstance(found, tuple)
    return found[0] > 240 and max(found[1:]) < 15


def long_paper(pages: int) -> bytes:
    return paper([Sheet([f"Page {at + 1}", *LINES]) for at in range(pages)])


def test_a_document_says_what_it_is(tmp_path: Path) -> None:
    sheets = [Sheet(["one"]), Sheet(["two"], (842, 595)), Sheet(["three"], rotate=90)]
    path = written(tmp_path, paper(sheets, title="On (some) things", outline=[("Begin", 0)]))
    assert data_of(view, path) == {
        "pages": 3,
        "more": 0,
        "sizes": [[595, 842], [842, 595], [842, 595]],
        "title": "On (some) things",
        "outline": True,
        "cut": False,
    }


def test_sizes_of_many_pages_come_in_parts(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet()] * (MAX_SIZES + 3)))
    first = data_of(view, path)
    assert first["pages"] == MAX_SIZES + 3
    assert len(cast(list[object], first["sizes"])) == MAX_SIZES
    assert data_of(view, path, sizes=str(MAX_SIZES))["sizes"] == [[595, 842]] * 3


def test_a_page_is_drawn_as_wide_as_is_asked(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(), Sheet(more=SQUARE)]))
    drawn = picture_of(path, page="1", width="595")
    assert drawn.size == (595, 842)
    assert is_red(drawn, (50, 800))
    assert drawn.getpixel((150, 800)) == (255, 255, 255)


def test_a_turned_page_and_its_words_are_turned_alike(tmp_path: Path) -> None:
    for turned in (0, 90, 180, 270):
        content = "BT /F1 100 Tf 100 300 Td (HHH) Tj ET"
        path = written(tmp_path, paper([Sheet(size=(600, 800), rotate=turned, more=content)]))
        drawn = picture_of(path, page="0", width="600" if turned % 180 == 0 else "800")
        runs = cast(list[list[float]], data_of(view, path, text="0")["runs"])
        boxes = [run[:4] for run in runs]
        box = Image.eval(drawn.convert("L"), lambda value: 255 - value).getbbox()
        assert box
        left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right = max(box[0] + box[2] for box in boxes)
        bottom = max(box[1] + box[3] for box in boxes)
        assert left <= box[0] + 2
        assert top <= box[1] + 2
        assert right >= box[2] - 12
        assert bottom >= box[3] - 12


def test_a_part_of_a_page_is_drawn_on_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(more=SQUARE)]))
    part = picture_of(path, page="0", width="5950", clip="900,7500,200,300")
    assert part.size == (200, 300)
    assert is_red(part, (50, 250))
    assert part.getpixel((150, 250)) == (255, 255, 255)


def test_a_small_picture_stands_for_the_whole(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(LINES)]))
    assert picture_of(path, thumb="320").size == (226, 320)


def test_no_picture_has_more_pixels_than_it_may(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(size=(14400, 14400)), Sheet(size=(3, 14400))]))
    square = picture_of(path, page="0", width="100000")
    line = picture_of(path, page="1", width="100000")
    assert square.width * square.height <= MAX_PIXELS * 1.01
    assert max(line.size) <= 16_001


def test_words_stand_where_they_are_drawn(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(["First line", "Second line"], leads_to=1), Sheet()]))
    seen = data_of(view, path, text="0")
    runs = cast(list[list[object]], seen["runs"])
    assert [run[4:] for run in runs] == [
        ["First ", False],
        ["line", True],
        ["Second ", False],
        ["line", True],
    ]
    left, top, width, height = (float(str(side)) for side in runs[0][:4])
    assert left == pytest.approx(72, abs=1)
    assert 55 < top < 72 < top + height < 80
    assert left + width == pytest.approx(float(str(runs[1][0])), abs=0.1)
    assert seen["links"] == [[72, 60, 228, 16, 1]]


def test_words_are_found_page_after_page(tmp_path: Path) -> None:
    path = written(tmp_path, long_paper(30))
    seen = data_of(view, path, find="page 7")
    assert [place[0] for place in cast(list[list[int]], seen["places"])] == [6]
    assert seen["next"] is None
    assert data_of(view, path, find="page 7", case="1")["places"] == []
    assert data_of(view, path, find="page", **{"from": "29"})["next"] is None
    assert data_of(view, path, find=" ")["places"] == []


def test_finding_ends_after_a_while_and_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_ui.preview.documents.pdf_text.MAX_MATCHES", 50)
    path = written(tmp_path, long_paper(5))
    seen = data_of(view, path, find="Line")
    assert {place[0] for place in cast(list[list[int]], seen["places"])} == {0, 1}
    assert seen["next"] == 2


def test_the_contents_lead_to_pages(tmp_path: Path) -> None:
    outline = [("Begin", 0), ("End", 2)]
    path = written(tmp_path, paper([Sheet()] * 3, outline=outline))
    assert data_of(view, path, outline="1") == {"outline": [("Begin", 0, 0), ("End", 2, 0)]}


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    good = paper([Sheet(["x"])])
    for content, why in (
        (b"", "empty"),
        (b"%PDF-1.7\nnothing", "damaged, truncated"),
        (b"no pdf at all", "damaged, truncated"),
        (paper([]), "has no pages"),
        (good[:200], "damaged, truncated"),
        (paper([Sheet(["x"])], password="secret"), "protected with a password"),
    ):
        with pytest.raises(PreviewError, match=why):
            data_of(view, written(tmp_path, content))


def test_a_lock_without_a_password_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet(["open to all"])], password=""))
    assert text_of(path, 0) == "open to all"


def test_a_document_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = long_paper(3)
    path = written(tmp_path, whole[: whole.index(b"startxref")])
    seen = data_of(view, path)
    assert (seen["pages"], seen["cut"]) == (3, True)
    assert text_of(path, 2).startswith("Page 3")


def test_a_page_that_takes_too_long_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_render, "TIMEOUT_SECONDS", 0.05)
    slow = "".join(f"{at % 500} 0 m 500 {at % 800} l S\n" for at in range(400_000))
    path = written(tmp_path, paper([Sheet(more=slow), Sheet(["quick"])]))
    with pytest.raises(PreviewError, match="takes longer than"):
        picture_of(path, page="0", width="1200")
    assert picture_of(path, page="1", width="60").width == 60


def test_a_page_that_is_none_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, paper([Sheet()]))
    for options in ({"page": "5"}, {"text": "5"}):
        with pytest.raises(PreviewError, match="no such page"):
            data_of(view, path, **options)


@pytest.mark.long
def test_a_paper_of_a_gigabyte_is_read_by_its_places(tmp_path: Path) -> None:
    path = tmp_path / "large.pdf"
    with path.open("wb") as file:
        for part in parts_of([Sheet(LINES)] * 50, ballast=2**30):
            file.write(part)
    descriptor = os.open("/proc/self/io", os.O_RDONLY)
    before = read_so_far(descriptor)
    assert data_of(view, path)["pages"] == 50
    assert picture_of(path, page="40", width="600").width == 600
    assert read_so_far(descriptor) - before < 2_000_000
    os.close(descriptor)


def read_so_far(descriptor: int) -> int:
    """Bytes that this process has read."""
    said = os.pread(descriptor, 1000, 0).decode()
    return int(said.partition("rchar: ")[2].split()[0])


def page_of(canvas: Locator, page: int) -> Locator:
    return canvas.get_by_role("region", name=f"Page {page}", exact=True)


def drawn(canvas: Locator, page: int) -> Locator:
    """A page, once its picture is there."""
    sheet = page_of(canvas, page)
    expect(sheet.locator("img").first).to_have_attribute("src", re_view(page))
    return sheet


def re_view(page: int) -> re.Pattern[str]:
    return re.compile(rf"[?&]page={page - 1}&")


@pytest.mark.browser
def test_a_long_paper_is_scrolled_and_only_what_is_near_is_there(viewer: FileViewer) -> None:
    viewer.upload("long.pdf", long_paper(500))
    viewer.open()
    canvas = viewer.show("long.pdf")
    drawn(canvas, 1)
    expect(viewer.preview.locator(".hd small")).to_contain_text("500 pages")
    field = canvas.get_by_role("textbox", name="Page")
    expect(field).to_have_value("1")
    field.fill("250")
    field.press("Enter")
    sheet = drawn(canvas, 250)
    expect(sheet).to_be_in_viewport()
    expect(sheet).to_contain_text("Page 250")
    assert canvas.locator(".sheet").count() < 15
    canvas.locator(".paper").evaluate("(paper) => paper.scrollTo(0, paper.scrollHeight)")
    drawn(canvas, 500)
    expect(field).to_have_value("500")


@pytest.mark.browser
def test_a_page_is_as_sharp_as_the_screen_and_the_zoom(viewer: FileViewer) -> None:
    viewer.upload("one.pdf", paper([Sheet(LINES)]))
    viewer.open()
    canvas = viewer.show("one.pdf")
    sheet = drawn(canvas, 1)
    level = canvas.get_by_role("combobox", name="Zoom")
    for value, width in (("1", 793), ("2", 1587), ("4", 3173)):
        level.select_option(value)
        expect(sheet.locator("img").first).to_have_js_property("naturalWidth", width)
        box = sheet.bounding_box()
        assert box
        assert box["width"] == width
    level.select_option("width")
    place = canvas.locator(".paper").bounding_box()
    assert place
    expect(sheet).to_have_css("width", f"{round(place['width'] - 24)}px")


@pytest.mark.browser
def test_words_are_marked_and_copied_as_they_stand(viewer: FileViewer, tmp_path: Path) -> None:
    content = paper([Sheet(["The first line", "and the second"])])
    runs = cast(list[list[float]], data_of(view, written(tmp_path, content), text="0")["runs"])
    viewer.upload("one.pdf", content)
    viewer.open()
    canvas = viewer.show("one.pdf")
    words = drawn(canvas, 1).locator(".words")
    expect(words).to_contain_text("and the second")
    chosen = words.evaluate(
        "(words) => { getSelection().selectAllChildren(words); return String(getSelection()); }"
    )
    assert chosen.split() == ["The", "first", "line", "and", "the", "second"]
    assert "\n" in chosen.strip()
    span = words.locator("span").first
    drawn_at, picture = span.bounding_box(), canvas.locator(".sheet").bounding_box()
    assert drawn_at
    assert picture
    scale = picture["width"] / 595
    assert drawn_at["x"] - picture["x"] == pytest.approx(72 * scale, abs=2)
    assert drawn_at["width"] == pytest.approx(runs[0][2] * scale, rel=0.03)


@pytest.mark.browser
def test_words_are_found_over_all_pages(viewer: FileViewer) -> None:
    viewer.upload("long.pdf", long_paper(60))
    viewer.open()
    canvas = viewer.show("long.pdf")
    drawn(canvas, 1)
    canvas.locator(".paper").press("Control+f")
    canvas.get_by_role("searchbox", name="Find in this PDF").fill("page 4")
    tally = canvas.get_by_role("search").get_by_role("status")
    expect(tally).to_have_text("1 of 11")
    expect(canvas.get_by_role("textbox", name="Page")).to_have_value("4")
    expect(drawn(canvas, 4).locator(".marks .now")).to_be_in_viewport()
    canvas.get_by_role("button", name="Next match").click()
    expect(tally).to_have_text("2 of 11")
    expect(drawn(canvas, 40).locator(".marks .now")).to_be_in_viewport()
    canvas.get_by_role("button", name="Previous match").click()
    canvas.get_by_role("button", name="Previous match").click()
    expect(tally).to_have_text("11 of 11")
    expect(drawn(canvas, 49).locator(".marks .now")).to_be_in_viewport()
    canvas.get_by_role("searchbox", name="Find in this PDF").fill("nowhere at all")
    expect(tally).to_have_text("No matches")
    canvas.get_by_role("searchbox", name="Find in this PDF").press("Escape")
    expect(canvas.get_by_role("search")).to_be_hidden()
    expect(canvas.locator(".marks i")).to_have_count(0)


@pytest.mark.browser
def test_contents_and_links_lead_to_their_pages(viewer: FileViewer) -> None:
    sheets = [Sheet(["To the end"], leads_to=19), *[Sheet(LINES)] * 18, Sheet(["The end"])]
    viewer.upload("book.pdf", paper(sheets, outline=[("Begin", 0), ("Middle", 10)]))
    viewer.open()
    canvas = viewer.show("book.pdf")
    canvas.get_by_role("button", name="Contents").click()
    canvas.get_by_role("navigation", name="Contents").get_by_role("button", name="Middle").click()
    drawn(canvas, 11)
    expect(canvas.get_by_role("textbox", name="Page")).to_have_value("11")
    canvas.get_by_role("navigation", name="Contents").get_by_role("button", name="Begin").click()
    drawn(canvas, 1).get_by_role("button", name="Go to page 20").click()
    expect(drawn(canvas, 20)).to_contain_text("The end")


@pytest.mark.browser
def test_the_contents_open_where_one_is(viewer: FileViewer) -> None:
    sheets = [Sheet(LINES)] * 200
    outline = [(f"Part {page}", page) for page in range(0, 200, 2)]
    viewer.upload("book.pdf", paper(sheets, outline=outline))
    viewer.open()
    canvas = viewer.show("book.pdf")
    field = canvas.get_by_role("textbox", name="Page")
    field.fill("152")
    field.press("Enter")
    canvas.get_by_role("button", name="Contents").click()
    contents = canvas.get_by_role("navigation", name="Contents")
    here = contents.locator("[aria-current=location]")
    expect(here).to_contain_text("Part 150")
    expect(here).to_be_in_viewport(ratio=0.9)
    field.fill("3")
    field.press("Enter")
    expect(here).to_contain_text("Part 2")
    expect(here).to_be_in_viewport(ratio=0.9)


@pytest.mark.browser
def test_the_page_field_holds_the_longest_number(viewer: FileViewer) -> None:
    viewer.upload("long.pdf", long_paper(1200))
    viewer.open()
    field = viewer.show("long.pdf").get_by_role("textbox", name="Page")
    field.fill("1200")
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth")


@pytest.mark.browser
def test_a_new_version_keeps_the_place(viewer: FileViewer) -> None:
    viewer.upload("paper.pdf", long_paper(40))
    viewer.open()
    canvas = viewer.show("paper.pdf")
    drawn(canvas, 1)
    canvas.get_by_role("combobox", name="Zoom").select_option("0.75")
    field = canvas.get_by_role("textbox", name="Page")
    field.fill("20")
    field.press("Enter")
    drawn(canvas, 20)
    top = "(paper) => paper.scrollTop"
    before = canvas.locator(".paper").evaluate(top)
    viewer.replace("paper.pdf", long_paper(60))
    expect(viewer.preview.locator(".hd small")).to_contain_text("60 pages")
    assert canvas.locator(".paper").evaluate(top) == pytest.approx(before, abs=2)
    expect(field).to_have_value("20")
    viewer.replace("paper.pdf", long_paper(3))
    expect(viewer.preview.locator(".hd small")).to_contain_text("3 pages")
    expect(field).to_have_value("3")
    drawn(canvas, 3)


@pytest.mark.browser
def test_hostile_and_broken_papers_say_why(viewer: FileViewer) -> None:
    script = "/AA<</O<</S/JavaScript/JS(app.alert\\(1\\); this.submitForm\\('http://127.0.0.1:9/'\\))>>>>"
    viewer.upload("script.pdf", paper([Sheet(["It has scripts"], entries=script)]))
    viewer.upload("locked.pdf", paper([Sheet(["x"])], password="secret"))
    viewer.upload("broken.pdf", b"%PDF-1.7\nnothing at all")
    viewer.upload("empty.pdf", b"")
    whole = long_paper(3)
    viewer.upload("cut.pdf", whole[: whole.index(b"startxref")])
    viewer.open()
    expect(drawn(viewer.show("script.pdf"), 1)).to_contain_text("It has scripts")
    for name, why in (
        ("locked.pdf", "protected with a password"),
        ("broken.pdf", "damaged, truncated"),
        ("empty.pdf", "empty"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(why)
        expect(canvas.get_by_role("link", name="Download")).to_be_visible()
    canvas = viewer.show("cut.pdf")
    drawn(canvas, 1)
    expect(canvas).to_contain_text("truncated")


@pytest.mark.browser
def test_a_page_that_cannot_be_drawn_says_so_and_the_others_are_there(viewer: FileViewer) -> None:
    content = paper([Sheet(["First"]), Sheet(["Gone"]), Sheet(["Third"])])
    gone = content.replace(b"8 0 obj\n<</Type/Page", b"8 0 obj\nnull  %/Page")
    assert len(gone) == len(content)
    viewer.upload("odd.pdf", gone)
    viewer.open()
    canvas = viewer.show("odd.pdf")
    drawn(canvas, 1)
    canvas.get_by_role("button", name="Next page").click()
    expect(page_of(canvas, 2)).to_contain_text("This page cannot be read")
    canvas.get_by_role("button", name="Next page").click()
    expect(drawn(canvas, 3)).to_contain_text("Third")
