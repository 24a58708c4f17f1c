"""Fonts: what they say of themselves, and a specimen in their own letters."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.media.font import view
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of
from tests.sandbox_ui.preview.media.fonts import named, plain, serif, woff, woff2


def written(folder: Path, content: bytes) -> Path:
    path = folder / "a.ttf"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("pack", "form"), [(plain, "TrueType"), (woff, "WOFF"), (woff2, "WOFF2")])
def test_a_font_says_what_it_is_however_it_is_packed(
    tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes], form: str
) -> None:
    seen = data_of(view, written(tmp_path, pack(named("Zeichen", axes=("wght",)))))
    assert (seen["family"], seen["form"], seen["glyphs"]) == ("Zeichen", form, 27)
    assert (seen["characters"], seen["ranges"]) == (26, [(65, 90)])
    assert seen["axes"] == [("wght", 100, 400, 900)]


def test_an_ordinary_font(tmp_path: Path) -> None:
    seen = data_of(view, written(tmp_path, serif()))
    assert (seen["family"], seen["style"], seen["weight"]) == ("DejaVu Serif", "Book", "regular")
    assert (seen["italic"], seen["monospaced"], seen["axes"]) == (False, False, [])
    assert seen["version"] == "Version 2.37"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"no font", "no font"),
        (plain(named("Cut"))[:-10], "damaged or truncated"),
        (woff(named("Cut"))[:-10], "damaged or truncated"),
        (woff2(named("Cut"))[:70], "damaged or truncated"),
        (b"\0\1\0\0\xff\xff", "damaged or truncated"),
        (b"\0\1\0\0\0\0" + b"\0" * 20, "damaged or truncated"),
        (b"wOF2" + b"\xff" * 60, "damaged or truncated"),
    ],
)
def test_what_is_no_font_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(PreviewError, match=why):
        data_of(view, written(tmp_path, content))


def test_tables_that_point_anywhere_are_read_without_harm(tmp_path: Path) -> None:
    tables = named("Odd")
    tables["name"] = b"\0\0\xff\xff\xff\xff" + b"\xff" * 12
    tables["cmap"] = b"\0\0\0\1\0\3\0\1\xff\xff\xff\xf0"
    tables["fvar"] = b"\xff" * 16
    seen = data_of(view, written(tmp_path, plain(tables)))
    assert (seen["family"], seen["characters"], seen["axes"]) == ("", 0, [])


def test_a_font_that_claims_every_character_is_counted_not_listed(tmp_path: Path) -> None:
    seen = data_of(view, written(tmp_path, plain(named("All", first=0, last=0x10FFFF))))
    assert (seen["characters"], seen["ranges"]) == (0x110000, [(0, 0x10FFFF)])


@pytest.mark.browser
def test_a_specimen_is_in_the_fonts_own_letters(viewer: FileViewer) -> None:
    viewer.upload("serif.ttf", serif())
    viewer.open()
    canvas = viewer.show("serif.ttf")
    expect(canvas.get_by_role("heading", name="DejaVu Serif")).to_be_visible()
    expect(viewer.preview.locator(".hd small")).to_contain_text("DejaVu Serif Book · TrueType")
    drawn = canvas.locator(".line").first
    family = drawn.evaluate("(line) => getComputedStyle(line).fontFamily.split(',')[0]")
    assert viewer.page.evaluate(f"document.fonts.check('20px ' + {family!r})")
    expect(canvas).to_contain_text("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    expect(canvas).to_contain_text("0123456789")
    canvas.get_by_role("button", name="Show more of 3,515 characters").click()
    expect(canvas.locator(".grid span")).to_have_count(2400)


@pytest.mark.browser
def test_a_text_of_ones_own_is_tried(viewer: FileViewer) -> None:
    viewer.upload("serif.ttf", serif())
    viewer.open()
    canvas = viewer.show("serif.ttf")
    field = canvas.get_by_role("textbox", name="Sample text")
    field.fill("Grüße 東")
    expect(canvas.locator(".line")).to_have_text(["Grüße 東"] * 6)
    expect(canvas.get_by_role("status")).to_contain_text("shown in a fallback font: 東")
    viewer.replace("serif.ttf", serif() + b"\0\0\0\0")
    expect(viewer.preview.locator(".hd small")).to_contain_text("just now")
    expect(field).to_have_value("Grüße 東")


@pytest.mark.browser
def test_a_font_that_is_left_is_forgotten(viewer: FileViewer) -> None:
    viewer.upload("serif.ttf", serif())
    viewer.upload("thing.xyz", b"\0\1\2")
    viewer.open()
    expect(viewer.show("serif.ttf").get_by_role("heading")).to_be_visible()
    assert viewer.page.evaluate(OURS) == 1
    expect(viewer.show("thing.xyz")).to_contain_text("00 01 02")
    assert viewer.page.evaluate(OURS) == 0


OURS = "[...document.fonts].filter((face) => face.family.startsWith('preview-font')).length"


@pytest.mark.browser
def test_what_the_browser_refuses_says_so(viewer: FileViewer) -> None:
    viewer.upload("shapeless.ttf", plain(named("Shapeless")))
    viewer.upload("cut.ttf", serif()[:-1000])
    viewer.upload("empty.otf", b"")
    viewer.upload("letter.woff2", b"<script>window.hacked = 1</script>")
    viewer.open()
    canvas = viewer.show("shapeless.ttf")
    expect(canvas.get_by_role("alert")).to_contain_text("cannot display this font")
    for name, why in (
        ("cut.ttf", "damaged or truncated"),
        ("empty.otf", "empty"),
        ("letter.woff2", "no font"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(why)
        expect(canvas.get_by_role("link", name="Download")).to_be_visible()
