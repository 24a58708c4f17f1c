"""The PDF preview: rendering, text selection, search, outline and hostile files."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from agent.documents import pdf_pages
from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.documents.pdf import MAX_PIXELS, MAX_SIZES, view
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf, pdf_parts
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.rendering import preview_data, preview_file, process_bytes_read
from tests.support.component.accessibility import violations
from tests.support.component.stage import Look
from tests.support.tab import NARROW

FILES = Path(__file__).parents[1] / "files"
LINES = [f"Line {at} of a page that has some words on it" for at in range(40)]
SQUARE = "1 0 0 rg 0 0 100 100 re f"


def render_image(document: bytes | Path, **options: str) -> Image.Image:
    return Image.open(io.BytesIO(preview_file(view, document, **options).content)).convert("RGB")


def page_text(document: bytes, page: int) -> str:
    return "".join(run[4] for run in preview_data(view, document, text=str(page))["runs"])


def is_red(image: Image.Image, at: tuple[int, int]) -> bool:
    found = image.getpixel(at)
    assert isinstance(found, tuple)
    return found[0] > 240 and max(found[1:]) < 15


def long_pdf(pages: int) -> bytes:
    return make_pdf([PdfPage([f"Page {at + 1}", *LINES]) for at in range(pages)])


def test_the_metadata_of_a_document_and_its_outline_are_read() -> None:
    pages = [PdfPage(["one"]), PdfPage(["two"], (842, 595)), PdfPage(["three"], rotate=90)]
    document = make_pdf(pages, title="On (some) things", outline=[("Begin", 0), ("End", 2)])
    assert preview_data(view, document) == {
        "pages": 3,
        "omitted_pages": 0,
        "sizes": [[595, 842], [842, 595], [842, 595]],
        "title": "On (some) things",
        "outline": True,
        "truncated": False,
    }
    outline = preview_data(view, document, outline="1")["outline"]
    assert outline == [("Begin", 0, 0), ("End", 2, 0)]
    for options in ({"page": "5"}, {"text": "5"}):
        with pytest.raises(PreviewError, match="no such page"):
            preview_data(view, document, **options)


def test_page_sizes_are_paged() -> None:
    document = make_pdf([PdfPage()] * (MAX_SIZES + 3))
    first = preview_data(view, document)
    assert first["pages"] == MAX_SIZES + 3
    assert len(first["sizes"]) == MAX_SIZES
    assert preview_data(view, document, sizes=str(MAX_SIZES))["sizes"] == [[595, 842]] * 3


def test_a_page_its_region_and_a_thumbnail_are_rendered_at_the_requested_width() -> None:
    document = make_pdf([PdfPage(LINES), PdfPage(more=SQUARE)])
    image = render_image(document, page="1", width="595")
    assert image.size == (595, 842)
    assert is_red(image, (50, 800))
    assert image.getpixel((150, 800)) == (255, 255, 255)
    part = render_image(document, page="1", width="5950", clip="900,7500,200,300")
    assert part.size == (200, 300)
    assert is_red(part, (50, 250))
    assert part.getpixel((150, 250)) == (255, 255, 255)
    assert render_image(document, thumb="320").size == (226, 320)


def test_a_rotated_page_has_rotated_text_positions() -> None:
    for rotation in (0, 90, 180, 270):
        content = "BT /F1 100 Tf 100 300 Td (HHH) Tj ET"
        document = make_pdf([PdfPage(size=(600, 800), rotate=rotation, more=content)])
        image = render_image(document, page="0", width="600" if rotation % 180 == 0 else "800")
        runs = preview_data(view, document, text="0")["runs"]
        boxes = [run[:4] for run in runs]
        box = Image.eval(image.convert("L"), lambda value: 255 - value).getbbox()
        assert box
        left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right = max(box[0] + box[2] for box in boxes)
        bottom = max(box[1] + box[3] for box in boxes)
        assert left <= box[0] + 2
        assert top <= box[1] + 2
        assert right >= box[2] - 12
        assert bottom >= box[3] - 12


def test_rendered_images_have_a_pixel_limit() -> None:
    document = make_pdf([PdfPage(size=(14400, 14400)), PdfPage(size=(3, 14400))])
    square = render_image(document, page="0", width="100000")
    line = render_image(document, page="1", width="100000")
    assert square.width * square.height <= MAX_PIXELS * 1.01
    assert max(line.size) <= 16_001


def test_text_positions_match_the_rendering() -> None:
    document = make_pdf([PdfPage(["First line", "Second line"], link_to=1), PdfPage()])
    result = preview_data(view, document, text="0")
    runs = result["runs"]
    first, second = [["First ", False], ["line", True]], [["Second ", False], ["line", True]]
    assert [run[4:] for run in runs] == first + second
    left, top, width, height = (side for side in runs[0][:4])
    assert left == pytest.approx(72, abs=1)
    assert 55 < top < 72 < top + height < 80
    assert left + width == pytest.approx(runs[1][0], abs=0.1)
    assert result["links"] == [[72, 60, 228, 16, 1]]


def test_search_finds_matches_by_page_and_can_be_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    document = long_pdf(30)
    result = preview_data(view, document, find="page 7")
    assert ([match[0] for match in result["matches"]], result["next"]) == ([6], None)
    assert preview_data(view, document, find="page 7", match_case="1")["matches"] == []
    assert preview_data(view, document, find="page", start="29")["next"] is None
    assert preview_data(view, document, find=" ")["matches"] == []
    monkeypatch.setattr("sandbox_ui.preview.documents.pdf_text.MAX_MATCHES", 50)
    result = preview_data(view, document, find="Line")
    assert ({match[0] for match in result["matches"]}, result["next"]) == ({0, 1}, 2)


def test_a_truncated_document_is_read_partially_and_an_empty_password_needs_no_entry() -> None:
    whole = long_pdf(3)
    document = whole[: whole.index(b"startxref")]
    result = preview_data(view, document)
    assert (result["pages"], result["truncated"]) == (3, True)
    assert page_text(document, 2).startswith("Page 3")
    assert page_text((FILES / "empty_password.pdf").read_bytes(), 0) == "open to all"


LOCKED = (FILES / "locked.pdf").read_bytes()


def test_a_document_with_a_password_asks_for_it_and_can_be_copied_without() -> None:
    assert preview_data(view, LOCKED) == {"locked": True, "wrong": False}
    assert preview_data(view, LOCKED, password="no") == {"locked": True, "wrong": True}
    assert preview_data(view, LOCKED, password="secret")["pages"] == 1
    with pytest.raises(PreviewError, match="protected with a password"):
        preview_data(view, LOCKED, text="0")
    copy = preview_file(view, LOCKED, password="secret", unlocked="1").content
    assert page_text(copy, 0) == "x"


def test_a_page_that_renders_too_slowly_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_pages, "RENDERING_TIMEOUT_SECONDS", 0.05)
    slow = "".join(f"{at % 500} 0 m 500 {at % 800} l S\n" for at in range(400_000))
    document = make_pdf([PdfPage(more=slow), PdfPage(["quick"])])
    with pytest.raises(PreviewError, match="takes longer than"):
        render_image(document, page="0", width="1200")
    assert render_image(document, page="1", width="60").width == 60


@pytest.mark.nightly
def test_a_gigabyte_document_is_read_only_partially(tmp_path: Path) -> None:
    document = tmp_path / "large.pdf"
    with document.open("wb") as file:
        for part in pdf_parts([PdfPage(LINES)] * 50, padding=2**30):
            file.write(part)
    before = process_bytes_read()
    assert preview_data(view, document)["pages"] == 50
    assert render_image(document, page="40", width="600").width == 600
    assert process_bytes_read() - before < 2_000_000


def test_a_password_opens_a_document_and_a_copy_without_it_can_be_saved(
    viewer: FileViewer,
) -> None:
    addresses: list[str] = []
    viewer.page.on("request", lambda request: addresses.append(request.url))
    canvas = viewer.view("locked.pdf", LOCKED)
    field = canvas.get_by_label("Password")
    field.fill("s3cret")
    field.press("Enter")
    expect(canvas.get_by_role("alert")).to_have_text("This is not its password.")
    expect(field).to_be_focused()
    for look in (Look(), Look(size=NARROW, theme="dark")):
        viewer.stage.change_look(look)
        assert violations(viewer.page, within=".preview") == [], look
    viewer.stage.change_look(Look())
    field.fill("secret")
    canvas.get_by_role("button", name="Open").click()
    expect(page_of(canvas, 1)).to_contain_text("x")
    expect(page_of(canvas, 1).locator("img").first).to_have_attribute("src", re.compile("^blob:"))
    viewer.button("Save without password").click()
    expect(viewer.details).to_contain_text("saved as “locked (unlocked).pdf”")
    assert page_text(viewer.read("locked (unlocked).pdf"), 0) == "x"
    assert not [each for each in addresses if "secret" in each]


def page_of(canvas: Locator, page: int) -> Locator:
    return canvas.get_by_role("region", name=f"Page {page}", exact=True)


def rendered_page(canvas: Locator, page: int) -> Locator:
    """A page, once its image is rendered."""
    page_view, url = page_of(canvas, page), re.compile(rf"[?&]page={page - 1}&")
    expect(page_view.locator("img").first).to_have_attribute("src", url)
    return page_view


def go_to_page(canvas: Locator, page: int) -> Locator:
    """Enter the number of a page; returns the field."""
    field = canvas.get_by_role("textbox", name="Page")
    field.fill(str(page))
    field.press("Enter")
    return field


def test_only_pages_near_the_viewport_are_rendered(viewer: FileViewer) -> None:
    canvas = viewer.view("long.pdf", long_pdf(1200))
    rendered_page(canvas, 1)
    expect(viewer.details).to_contain_text("1,200 pages")
    expect(canvas.get_by_role("textbox", name="Page")).to_have_value("1")
    field = go_to_page(canvas, 250)
    page_view = rendered_page(canvas, 250)
    expect(page_view).to_be_in_viewport()
    expect(page_view).to_contain_text("Page 250")
    assert canvas.locator(".page").count() < 15
    canvas.locator(".page-list").evaluate("(paper) => paper.scrollTo(0, paper.scrollHeight)")
    rendered_page(canvas, 1200)
    expect(field).to_have_value("1200")
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth")


def test_a_page_is_rendered_at_screen_and_zoom_resolution(viewer: FileViewer) -> None:
    canvas = viewer.view("one.pdf", make_pdf([PdfPage(LINES)]))
    page_view = rendered_page(canvas, 1)
    level = canvas.get_by_role("combobox", name="Zoom")
    for value, width in (("1", 793), ("2", 1587), ("4", 3173)):
        level.select_option(value)
        expect(page_view.locator("img").first).to_have_js_property("naturalWidth", width)
        box = page_view.bounding_box()
        assert box
        assert box["width"] == width
    level.select_option("width")
    pane = canvas.locator(".page-list").bounding_box()
    assert pane
    expect(page_view).to_have_css("width", f"{round(pane['width'] - 24)}px")


def test_text_can_be_selected_in_reading_order(viewer: FileViewer) -> None:
    content = make_pdf([PdfPage(["The first line", "and the second"])])
    runs = preview_data(view, content, text="0")["runs"]
    canvas = viewer.view("one.pdf", content)
    words = rendered_page(canvas, 1).locator(".text-layer")
    expect(words).to_contain_text("and the second")
    chosen = words.evaluate(
        "(words) => { getSelection().selectAllChildren(words); return String(getSelection()); }"
    )
    assert chosen.split() == ["The", "first", "line", "and", "the", "second"]
    assert "\n" in chosen.strip()
    span = words.locator("span").first
    span_box, page_box = span.bounding_box(), canvas.locator(".page").bounding_box()
    assert span_box
    assert page_box
    scale = page_box["width"] / 595
    assert span_box["x"] - page_box["x"] == pytest.approx(72 * scale, abs=2)
    assert span_box["width"] == pytest.approx(runs[0][2] * scale, rel=0.03)


def test_search_covers_all_pages(viewer: FileViewer) -> None:
    canvas = viewer.view("long.pdf", long_pdf(60))
    rendered_page(canvas, 1)
    canvas.locator(".page-list").press("Control+f")
    search = canvas.get_by_role("searchbox", name="Find in this PDF")
    search.fill("page 4")
    tally = canvas.get_by_role("search").get_by_role("status")
    expect(tally).to_have_text("1 of 11")
    expect(canvas.get_by_role("textbox", name="Page")).to_have_value("4")
    expect(rendered_page(canvas, 4).locator(".marks .current")).to_be_in_viewport()
    canvas.get_by_role("button", name="Next match").click()
    expect(tally).to_have_text("2 of 11")
    expect(rendered_page(canvas, 40).locator(".marks .current")).to_be_in_viewport()
    canvas.get_by_role("button", name="Previous match").click()
    canvas.get_by_role("button", name="Previous match").click()
    expect(tally).to_have_text("11 of 11")
    expect(rendered_page(canvas, 49).locator(".marks .current")).to_be_in_viewport()
    search.fill("nowhere at all")
    expect(tally).to_have_text("No matches")
    search.press("Escape")
    expect(canvas.get_by_role("search")).to_be_hidden()
    expect(canvas.locator(".marks i")).to_have_count(0)


def test_outline_entries_and_links_open_their_pages_and_it_opens_at_the_current_one(
    viewer: FileViewer,
) -> None:
    pages = [PdfPage(["To the end"], link_to=199), *[PdfPage(LINES)] * 198, PdfPage(["The end"])]
    outline = [(f"Part {page}", page) for page in range(0, 200, 2)]
    canvas = viewer.view("book.pdf", make_pdf(pages, outline=outline))
    field = go_to_page(canvas, 152)
    canvas.get_by_role("button", name="Contents").click()
    contents = canvas.get_by_role("navigation", name="Contents")
    here = contents.locator("[aria-current=location]")
    expect(here).to_contain_text("Part 150")
    expect(here).to_be_in_viewport(ratio=0.9)
    go_to_page(canvas, 3)
    expect(here).to_contain_text("Part 2")
    expect(here).to_be_in_viewport(ratio=0.9)
    contents.get_by_role("button", name=re.compile(r"^Part 10\b")).click()
    rendered_page(canvas, 11)
    expect(field).to_have_value("11")
    contents.get_by_role("button", name=re.compile(r"^Part 0\b")).click()
    rendered_page(canvas, 1).get_by_role("button", name="Go to page 200").click()
    expect(rendered_page(canvas, 200)).to_contain_text("The end")


def test_a_changed_document_keeps_its_position(viewer: FileViewer) -> None:
    canvas = viewer.view("paper.pdf", long_pdf(40))
    rendered_page(canvas, 1)
    canvas.get_by_role("combobox", name="Zoom").select_option("0.75")
    field = go_to_page(canvas, 20)
    rendered_page(canvas, 20)
    top = "(paper) => paper.scrollTop"
    before = canvas.locator(".page-list").evaluate(top)
    viewer.write("paper.pdf", long_pdf(60))
    expect(viewer.details).to_contain_text("60 pages")
    assert canvas.locator(".page-list").evaluate(top) == pytest.approx(before, abs=2)
    expect(field).to_have_value("20")
    viewer.write("paper.pdf", long_pdf(3))
    expect(viewer.details).to_contain_text("3 pages")
    expect(field).to_have_value("3")
    rendered_page(canvas, 3)


def test_a_damaged_page_is_reported_and_the_others_are_shown(viewer: FileViewer) -> None:
    content = make_pdf([PdfPage(["First"]), PdfPage(["Gone"]), PdfPage(["Third"])])
    damaged = content.replace(b"8 0 obj\n<</Type/Page", b"8 0 obj\nnull  %/Page")
    assert len(damaged) == len(content)
    canvas = viewer.view("odd.pdf", damaged)
    rendered_page(canvas, 1)
    canvas.get_by_role("button", name="Next page").click()
    expect(page_of(canvas, 2)).to_contain_text("This page cannot be read")
    canvas.get_by_role("button", name="Next page").click()
    expect(rendered_page(canvas, 3)).to_contain_text("Third")
