"""The image preview: zoom, thumbnails, conversion, and hostile files."""

import io
import struct
import zlib

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.media.image import THUMBNAIL_SIZES, view
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

RED, BLUE = (255, 0, 0), (0, 0, 255)


def render_image(content: bytes, **options: str) -> Image.Image:
    preview = preview_file(view, content, **options)
    image = Image.open(io.BytesIO(preview.content))
    assert Image.MIME[str(image.format)] == preview.media_type
    return image


def pixel_is_close(image: Image.Image, x: float, y: float, colour: tuple[int, int, int]) -> bool:
    found = image.convert("RGB").getpixel((int(x * image.width), int(y * image.height)))
    assert isinstance(found, tuple)
    return all(abs(a - b) < 40 for a, b in zip(found, colour, strict=True))


def png_declaring(width: int, height: int) -> bytes:
    """A tiny PNG file that declares a size."""
    parts = [b"\x89PNG\r\n\x1a\n"]
    head = struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for name, body in ((b"IHDR", head), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")):
        crc = struct.pack("!I", zlib.crc32(name + body))
        parts.append(struct.pack("!I", len(body)) + name + body + crc)
    return b"".join(parts)


@pytest.mark.parametrize("image_format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF"])
def test_a_supported_image_is_served_unchanged(image_format: str) -> None:
    name = f"a.{image_format.lower()}"
    result = preview_data(view, encode_image(stripes(40, 30), image_format), name)
    assert (result["width"], result["height"], result["format"]) == (40, 30, image_format)
    assert (result["source"], result["truncated"]) == ("raw", False)


@pytest.mark.parametrize("image_format", ["TIFF", "PPM", "TGA", "ICO"])
def test_an_unsupported_format_is_converted(image_format: str) -> None:
    picture = encode_image(stripes(48, 48), image_format)
    assert preview_data(view, picture)["source"] == "converted"
    image = render_image(picture, frame="0")
    assert image.size == (48, 48)
    assert pixel_is_close(image, 0.2, 0.5, RED)
    assert pixel_is_close(image, 0.8, 0.5, BLUE)


def test_a_misnamed_image_is_served_and_a_large_one_scaled_down() -> None:
    picture = encode_image(stripes(40, 30), "PNG")
    assert preview_data(view, picture)["source"] == "original"
    assert render_image(picture, original="1").size == (40, 30)
    large = encode_image(Image.new("1", (9000, 7000)), "PNG")
    assert preview_data(view, large)["source"] == "converted"
    assert max(render_image(large, frame="0").size) == 4096


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_colour_mode_has_a_thumbnail(mode: str) -> None:
    source = Image.new("L", (400, 200), 0)
    source.paste(255, (200, 0, 400, 200))
    if mode == "I;16":
        source = source.convert("I").point(lambda value: value * 257)
    image_format = "PNG" if mode in ("LA", "P", "RGBA", "I;16") else "TIFF"
    picture = encode_image(source.convert(mode), image_format)
    image = render_image(picture, thumb="160")
    assert image.size == (160, 80)
    assert pixel_is_close(image, 0.2, 0.5, (0, 0, 0))
    assert pixel_is_close(image, 0.8, 0.5, (255, 255, 255))


def test_thumbnail_sizes_are_fixed_and_not_larger_than_the_image() -> None:
    picture = encode_image(stripes(3000, 1500), "PNG")
    widths = [render_image(picture, thumb=str(asked)).width for asked in (1, 100, 320, 321, 9999)]
    assert widths == [96, 160, 320, 640, 1280]
    assert set(widths) == set(THUMBNAIL_SIZES)
    dot = encode_image(Image.new("RGB", (1, 1), "red"), "PNG")
    line = encode_image(Image.new("RGB", (5000, 1), "red"), "PNG")
    assert render_image(dot, thumb="320").size == (1, 1)
    assert render_image(line, thumb="320").size == (320, 1)


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_orientation_is_applied(image_format: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = encode_image(stripes(400, 200), image_format, exif=exif)
    result = preview_data(view, picture)
    assert (result["width"], result["height"]) == (200, 400)
    image = render_image(picture, thumb="96")
    assert image.size == (48, 96)
    assert pixel_is_close(image, 0.5, 0.2, RED)


def test_transparency_is_kept() -> None:
    image = Image.new("RGBA", (300, 300), (255, 0, 0, 0))
    picture = encode_image(image, "PNG")
    assert preview_data(view, picture)["alpha"]
    assert render_image(picture, thumb="96").convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]


def test_pages_of_an_image_are_listed_and_rendered() -> None:
    pages = [stripes(40, 30), stripes(20, 50, "CMYK")]
    tiff = encode_image(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    icon = encode_image(stripes(64, 64), "ICO", sizes=[(16, 16), (64, 64)])
    assert preview_data(view, tiff)["pages"] == [[40, 30], [20, 50]]
    assert preview_data(view, icon)["pages"] == [[64, 64], [16, 16]]
    assert render_image(tiff, frame="1").size == (20, 50)
    assert render_image(icon, frame="1").size == (16, 16)
    more = [stripes(80, 80).rotate(90)]
    animation = encode_image(stripes(80, 80), "GIF", save_all=True, append_images=more)
    assert preview_data(view, animation)["frames"] == 2
    assert pixel_is_close(render_image(animation, thumb="96"), 0.2, 0.5, RED)


@pytest.mark.parametrize("image_format", ["JPEG", "PNG"])
def test_a_truncated_image_is_rendered_partially(image_format: str) -> None:
    content = encode_image(Image.effect_noise((800, 800), 90).convert("RGB"), image_format)
    cut = content[: len(content) // 2]
    assert preview_data(view, cut)["truncated"]
    assert render_image(cut, thumb="320").size == (320, 320)
    assert not preview_data(view, content + b"\0" * 100_000)["truncated"]


@pytest.mark.parametrize("options", [{}, {"thumb": "96"}, {"frame": "0"}])
def test_a_decompression_bomb_is_rejected_by_its_declared_size(options: dict[str, str]) -> None:
    picture = png_declaring(100_000, 100_000)
    with pytest.raises(PreviewError, match="100,000 × 100,000 pixels; more than 200 million"):
        preview_data(view, picture, **options)


def loaded_image(canvas: Locator) -> Locator:
    image = canvas.locator("img")
    expect(image).to_have_js_property("complete", True)
    return image


def test_an_image_fits_the_pane_and_can_be_zoomed(viewer: FileViewer) -> None:
    canvas = viewer.view("photo.png", encode_image(stripes(3000, 1500), "PNG"))
    image = loaded_image(canvas)
    expect(image).to_have_js_property("naturalWidth", 3000)
    expect(viewer.details).to_contain_text("3,000 × 1,500 · PNG · RGB")
    image_box, canvas_box = image.bounding_box(), canvas.bounding_box()
    assert image_box
    assert canvas_box
    assert image_box["width"] < canvas_box["width"]
    canvas.get_by_role("button", name="show at 100%").click()
    expect(image).to_have_css("width", "3000px")
    canvas.get_by_role("button", name="Zoom in").click()
    expect(image).to_have_css("width", "4500px")
    canvas.get_by_role("group").press("-")
    expect(image).to_have_css("width", "3000px")
    canvas.get_by_role("group").press("0")
    expect(image).to_have_css("width", f"{image_box['width']:g}px")


def test_a_zoomed_image_is_panned_and_zooms_at_the_pointer(viewer: FileViewer) -> None:
    canvas = viewer.view("photo.png", encode_image(stripes(3000, 3000), "PNG"))
    loaded_image(canvas)
    container = canvas.get_by_role("group")
    container.press("1")
    expect(container.locator("img")).to_have_css("width", "3000px")
    box = container.bounding_box()
    assert box
    x, y = box["x"] + 100, box["y"] + 100
    at = "(stage) => [stage.scrollLeft, stage.scrollTop]"
    left, top = container.evaluate(at)
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(x + 30, y + 20, steps=3)
    viewer.page.mouse.up()
    assert container.evaluate(at) == pytest.approx([left - 30, top - 20], abs=1)
    viewer.page.mouse.move(x, y)
    under = f"""(stage) => {{
        const box = stage.querySelector('img').getBoundingClientRect();
        return [({x} - box.left) / box.width, ({y} - box.top) / box.height];
    }}"""
    before = container.evaluate(under)
    viewer.page.keyboard.down("Control")
    viewer.page.mouse.wheel(0, -100)
    viewer.page.keyboard.up("Control")
    expect(container.locator("img")).not_to_have_css("width", "3000px")
    assert container.evaluate(under) == pytest.approx(before, abs=0.002)


def test_a_changed_image_keeps_zoom_and_scroll_position_and_pages_can_be_selected(
    viewer: FileViewer,
) -> None:
    canvas = viewer.view("chart.tif", encode_image(Image.new("RGB", (2000, 2000), "red"), "TIFF"))
    image = loaded_image(canvas)
    container = canvas.get_by_role("group")
    container.press("1")
    container.evaluate("(stage) => stage.scrollTo(300, 400)")
    pages = [Image.new("RGB", (1999, 2000), "blue"), stripes(20, 50)]
    content = encode_image(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    viewer.write("chart.tif", content)
    expect(image).to_have_js_property("naturalWidth", 1999)
    assert container.evaluate("(stage) => [stage.scrollLeft, stage.scrollTop]") == [300, 400]
    canvas.get_by_role("button", name="Next page").click()
    expect(image).to_have_js_property("naturalWidth", 20)
    canvas.get_by_role("combobox", name="Page").select_option("1 of 2")
    expect(image).to_have_js_property("naturalWidth", 1999)


def test_a_large_photo_is_scaled_down_until_full_size_is_requested(
    viewer: FileViewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_ui.preview.media.image.MAX_ORIGINAL_PIXELS", 1_000_000)
    canvas = viewer.view("large.jpg", encode_image(stripes(5000, 400), "JPEG"))
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 4096)
    canvas.get_by_role("button", name="Show full size").click()
    expect(canvas.locator("img")).to_have_js_property("naturalWidth", 5000)
