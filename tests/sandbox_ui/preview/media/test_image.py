"""Pictures: seen whole, brought nearer, made small, and never believed."""

import io
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import BinaryPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.media.image import THUMBNAIL_SIZES, view
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of
from tests.sandbox_ui.preview.images import encoded, stripes

RED, BLUE = (255, 0, 0), (0, 0, 255)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def picture_of(path: Path, **options: str) -> Image.Image:
    """The picture that comes of a file with some options."""
    with path.open("rb") as file:
        answer = view(cast(BinaryIO, file), PreviewRequest(path.name, path.stat().st_size, options))
    assert isinstance(answer, BinaryPreview)
    made = Image.open(io.BytesIO(answer.content))
    assert Image.MIME[str(made.format)] == answer.media_type
    return made


def close_to(image: Image.Image, x: float, y: float, colour: tuple[int, int, int]) -> bool:
    found = image.convert("RGB").getpixel((int(x * image.width), int(y * image.height)))
    assert isinstance(found, tuple)
    return all(abs(a - b) < 40 for a, b in zip(found, colour, strict=True))


def png_that_says(width: int, height: int) -> bytes:
    """A png of a few bytes that declares a size."""
    parts = [b"\x89PNG\r\n\x1a\n"]
    head = struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for name, body in ((b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        crc = struct.pack("!I", zlib.crc32(name + body))
        parts.append(struct.pack("!I", len(body)) + name + body + crc)
    return b"".join(parts)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF"])
def test_what_a_browser_shows_it_is_given_itself(tmp_path: Path, form: str) -> None:
    name = f"a.{form.lower()}"
    seen = data_of(view, written(tmp_path, name, encoded(stripes(40, 30), form)))
    assert (seen["width"], seen["height"], seen["format"]) == (40, 30, form)
    assert (seen["source"], seen["cut"]) == ("raw", False)


@pytest.mark.parametrize("form", ["TIFF", "PPM", "TGA", "ICO"])
def test_of_what_it_does_not_show_a_picture_is_made(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, f"a.{form.lower()}", encoded(stripes(48, 48), form))
    assert data_of(view, path)["source"] == "made"
    made = picture_of(path, frame="0")
    assert made.size == (48, 48)
    assert close_to(made, 0.2, 0.5, RED)
    assert close_to(made, 0.8, 0.5, BLUE)


def test_a_picture_under_a_name_that_hides_it_is_given_with_its_type(tmp_path: Path) -> None:
    path = written(tmp_path, "a.dat", encoded(stripes(40, 30), "PNG"))
    assert data_of(view, path)["source"] == "original"
    assert picture_of(path, original="1").size == (40, 30)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_any_mode_becomes_a_small_picture(tmp_path: Path, mode: str) -> None:
    source = Image.new("L", (400, 200), 0)
    source.paste(255, (200, 0, 400, 200))
    if mode == "I;16":
        source = source.convert("I").point(lambda value: value * 257)
    form = "PNG" if mode in ("LA", "P", "RGBA", "I;16") else "TIFF"
    path = written(tmp_path, f"a.{form.lower()}", encoded(source.convert(mode), form))
    made = picture_of(path, thumb="160")
    assert made.size == (160, 80)
    assert close_to(made, 0.2, 0.5, (0, 0, 0))
    assert close_to(made, 0.8, 0.5, (255, 255, 255))


def test_a_small_picture_has_one_of_a_few_sizes(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(stripes(3000, 1500), "PNG"))
    widths = [picture_of(path, thumb=str(asked)).width for asked in (1, 100, 320, 321, 9999)]
    assert widths == [96, 160, 320, 640, 1280]
    assert set(widths) == set(THUMBNAIL_SIZES)


def test_nothing_is_enlarged_and_nothing_vanishes(tmp_path: Path) -> None:
    dot = written(tmp_path, "dot.png", encoded(Image.new("RGB", (1, 1), "red"), "PNG"))
    line = written(tmp_path, "line.png", encoded(Image.new("RGB", (5000, 1), "red"), "PNG"))
    assert picture_of(dot, thumb="320").size == (1, 1)
    assert picture_of(line, thumb="320").size == (320, 1)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_turned_camera_is_allowed_for(tmp_path: Path, form: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    content = encoded(stripes(400, 200), form, exif=exif)
    path = written(tmp_path, f"a.{form.lower()}", content)
    seen = data_of(view, path)
    assert (seen["width"], seen["height"]) == (200, 400)
    made = picture_of(path, thumb="96")
    assert made.size == (48, 96)
    assert close_to(made, 0.5, 0.2, RED)


def test_a_transparent_picture_stays_so(tmp_path: Path) -> None:
    image = Image.new("RGBA", (300, 300), (255, 0, 0, 0))
    path = written(tmp_path, "a.png", encoded(image, "PNG"))
    assert data_of(view, path)["alpha"]
    assert picture_of(path, thumb="96").convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]


def test_pages_and_sizes_are_told_and_made_one_by_one(tmp_path: Path) -> None:
    pages = [stripes(40, 30), stripes(20, 50, "CMYK")]
    tiff = encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    icon = encoded(stripes(64, 64), "ICO", sizes=[(16, 16), (64, 64)])
    tiff_at, icon_at = written(tmp_path, "a.tif", tiff), written(tmp_path, "a.ico", icon)
    assert data_of(view, tiff_at)["pages"] == [[40, 30], [20, 50]]
    assert data_of(view, icon_at)["pages"] == [[64, 64], [16, 16]]
    assert picture_of(tiff_at, frame="1").size == (20, 50)
    assert picture_of(icon_at, frame="1").size == (16, 16)


def test_an_animation_says_its_frames_and_its_first_stands_for_it(tmp_path: Path) -> None:
    more = [stripes(80, 80).rotate(90)]
    content = encoded(stripes(80, 80), "GIF", save_all=True, append_images=more)
    path = written(tmp_path, "a.gif", content)
    assert data_of(view, path)["frames"] == 2
    assert close_to(picture_of(path, thumb="96"), 0.2, 0.5, RED)


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_a_picture_cut_off_is_shown_as_far_as_it_goes(tmp_path: Path, form: str) -> None:
    noise = Image.effect_noise((800, 800), 90).convert("RGB")
    content = encoded(noise, form)
    path = written(tmp_path, f"a.{form.lower()}", content[: len(content) // 2])
    assert data_of(view, path)["cut"]
    assert picture_of(path, thumb="320").size == (320, 320)


def test_what_follows_a_picture_in_its_file_is_no_cut(tmp_path: Path) -> None:
    content = encoded(stripes(80, 80), "JPEG") + b"\0" * 100_000
    assert not data_of(view, written(tmp_path, "a.jpg", content))["cut"]


@pytest.mark.parametrize("options", [{}, {"thumb": "96"}, {"frame": "0"}])
def test_a_bomb_is_refused_by_what_it_says(tmp_path: Path, options: dict[str, str]) -> None:
    path = written(tmp_path, "bomb.png", png_that_says(100_000, 100_000))
    with pytest.raises(PreviewError, match="100,000 × 100,000 pixels; more than 200 million"):
        data_of(view, path, **options)


@pytest.mark.parametrize(
    "content", [b"", b"no picture", png_that_says(0, 0), b"GIF89a", b"\0" * 99]
)
def test_what_is_no_picture_is_said(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PreviewError, match=r"empty|no readable image"):
        data_of(view, written(tmp_path, "a.png", content))


def test_a_large_picture_is_made_smaller_for_the_page(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(Image.new("1", (9000, 7000)), "PNG"))
    assert data_of(view, path)["source"] == "made"
    assert max(picture_of(path, frame="0").size) == 4096


def shown(canvas: Locator) -> Locator:
    picture = canvas.locator("img")
    expect(picture).to_have_js_property("complete", True)
    return picture


@pytest.mark.browser
def test_a_picture_fits_and_comes_nearer(viewer: FileViewer) -> None:
    viewer.upload("photo.png", encoded(stripes(3000, 1500), "PNG"))
    viewer.open()
    canvas = viewer.show("photo.png")
    picture = shown(canvas)
    expect(picture).to_have_js_property("naturalWidth", 3000)
    expect(viewer.preview.locator(".hd small")).to_contain_text("3,000 × 1,500 · PNG · RGB")
    whole, place = picture.bounding_box(), canvas.bounding_box()
    assert whole
    assert place
    assert whole["width"] < place["width"]
    canvas.get_by_role("button", name="show at 100%").click()
    expect(picture).to_have_css("width", "3000px")
    canvas.get_by_role("button", name="Zoom in").click()
    expect(picture).to_have_css("width", "4500px")
    canvas.get_by_role("group").press("-")
    expect(picture).to_have_css("width", "3000px")
    canvas.get_by_role("group").press("0")
    expect(picture).to_have_css("width", f"{whole['width']:g}px")


@pytest.mark.browser
def test_a_near_picture_is_dragged_and_stays_where_the_wheel_points(viewer: FileViewer) -> None:
    viewer.upload("photo.png", encoded(stripes(3000, 3000), "PNG"))
    viewer.open()
    canvas = viewer.show("photo.png")
    shown(canvas)
    stage = canvas.get_by_role("group")
    stage.press("1")
    expect(stage.locator("img")).to_have_css("width", "3000px")
    box = stage.bounding_box()
    assert box
    x, y = box["x"] + 100, box["y"] + 100
    at = "(stage) => [stage.scrollLeft, stage.scrollTop]"
    left, top = stage.evaluate(at)
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(x + 30, y + 20, steps=3)
    viewer.page.mouse.up()
    assert stage.evaluate(at) == pytest.approx([left - 30, top - 20], abs=1)
    viewer.page.mouse.move(x, y)
    under = f"""(stage) => {{
        const box = stage.querySelector('img').getBoundingClientRect();
        return [({x} - box.left) / box.width, ({y} - box.top) / box.height];
    }}"""
    before = stage.evaluate(under)
    viewer.page.keyboard.down("Control")
    viewer.page.mouse.wheel(0, -100)
    viewer.page.keyboard.up("Control")
    expect(stage.locator("img")).not_to_have_css("width", "3000px")
    assert stage.evaluate(under) == pytest.approx(before, abs=0.002)


@pytest.mark.browser
def test_a_new_version_keeps_how_near_it_is(viewer: FileViewer) -> None:
    viewer.upload("chart.png", encoded(Image.new("RGB", (2000, 2000), "red"), "PNG"))
    viewer.open()
    canvas = viewer.show("chart.png")
    shown(canvas)
    stage = canvas.get_by_role("group")
    stage.press("1")
    stage.evaluate("(stage) => stage.scrollTo(300, 400)")
    viewer.replace("chart.png", encoded(Image.new("RGB", (1999, 2000), "blue"), "PNG"))
    expect(stage.locator("img")).to_have_js_property("naturalWidth", 1999)
    assert stage.evaluate("(stage) => [stage.scrollLeft, stage.scrollTop]") == [300, 400]


@pytest.mark.browser
def test_pages_are_turned(viewer: FileViewer) -> None:
    pages = [stripes(40, 30), stripes(20, 50)]
    viewer.upload("scan.tif", encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    viewer.open()
    canvas = viewer.show("scan.tif")
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 40)
    canvas.get_by_role("button", name="Next page").click()
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 20)
    canvas.get_by_role("combobox", name="Page").select_option("1 of 2")
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 40)


@pytest.mark.browser
def test_a_large_photo_is_first_seen_small_and_every_pixel_on_demand(viewer: FileViewer) -> None:
    viewer.upload("large.jpg", encoded(stripes(9000, 7000), "JPEG"))
    viewer.open()
    canvas = viewer.show("large.jpg")
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 4096, timeout=30_000)
    canvas.get_by_role("button", name="Show full size").click()
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 9000, timeout=30_000)


@pytest.mark.browser
def test_what_cannot_be_shown_is_said_with_the_download(viewer: FileViewer) -> None:
    viewer.upload("empty.png", b"")
    viewer.upload("letter.png", b"<script>window.hacked = 1</script>")
    viewer.upload("bomb.png", png_that_says(100_000, 100_000))
    viewer.open()
    for name, why in (
        ("empty.png", "empty"),
        ("letter.png", "no readable image"),
        ("bomb.png", "pixels"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(why)
        expect(canvas.get_by_role("link", name="Download")).to_be_visible()


@pytest.mark.browser
def test_a_picture_cut_off_says_so(viewer: FileViewer) -> None:
    content = encoded(Image.effect_noise((800, 800), 90).convert("RGB"), "JPEG")
    viewer.upload("cut.jpg", content[: len(content) // 2])
    viewer.open()
    canvas = viewer.show("cut.jpg")
    expect(canvas.get_by_role("status")).to_contain_text("The file is truncated")
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 800)
