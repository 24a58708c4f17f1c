"""What a model gets to see of a file: drawn in another process, hostile files included."""

import base64
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from agent.documents.drawing_error import DrawingError
from agent.vision.draw import find_font
from agent.vision.drawing_process import draw_in_process
from agent.vision.kinds import Kind, kind_of
from agent.vision.request import Drawing, DrawingRequest
from tests.sandbox_ui.preview.documents import pdf_files
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf

pytestmark = pytest.mark.contract
LOCKED = Path(pdf_files.__file__).parents[1] / "files" / "locked.pdf"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" %s>%s</svg>'


def seen(data: bytes, kind: Kind = "image", view_range: tuple[int, int] | None = None) -> Drawing:
    return draw_in_process(data, DrawingRequest(kind, view_range=view_range))


def picture(drawing: Drawing) -> Image.Image:
    (drawn,) = drawing.pictures
    image = Image.open(io.BytesIO(drawn.data))
    assert image.size == (drawn.width, drawn.height)
    assert image.get_format_mimetype() == drawn.media_type
    assert not {"exif", "icc_profile", "comment"} & image.info.keys()
    return image.convert("RGB")


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def halves(mode: str = "RGB", size: tuple[int, int] = (400, 200)) -> Image.Image:
    """A picture whose left half is red and whose right half is blue."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (size[0] // 2, 0, *size))
    return image.convert(mode)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_every_format_is_seen_as_png_or_jpeg(format: str) -> None:
    drawing = seen(encoded(halves(), format))
    image = picture(drawing)
    left, right = image.getpixel((100, 100)), image.getpixel((300, 100))
    assert left[0] > 200 > 60 > left[2]  # type: ignore[index]
    assert right[2] > 200 > 60 > right[0]  # type: ignore[index]
    assert drawing.remark.startswith(f"{format} picture, 400 × 200 pixels")


def test_orientation_is_applied_and_metadata_dropped() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a secret place"
    drawing = seen(encoded(halves(), "JPEG", exif=exif, comment=b"secret"))
    assert picture(drawing).size == (200, 400)
    assert b"secret" not in drawing.pictures[0].data


def test_a_large_picture_is_scaled_down_to_the_limits() -> None:
    noise = Image.effect_noise((3000, 1000), 200)
    drawing = seen(encoded(noise, "PNG"))
    assert max(picture(drawing).size) <= 1568
    assert len(drawing.pictures[0].data) <= 1_000_000
    assert "3,000 × 1,000" in drawing.remark


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 2)])
def test_a_tiny_or_narrow_picture_becomes_large_enough(size: tuple[int, int]) -> None:
    assert min(picture(seen(encoded(Image.new("RGB", size, "red"), "PNG"))).size) >= 64


def odd(mode: str) -> bytes:
    if mode == "CMYK":
        return encoded(Image.new("CMYK", (300, 200), (0, 255, 255, 0)), "JPEG")
    if mode == "16 bit":
        return encoded(Image.new("I", (300, 200), 40_000).convert("I;16"), "PNG")
    image = Image.new("P", (300, 200), 1)
    image.putpalette([0, 0, 0, 255, 0, 0] + [0] * 762)
    image.paste(0, (0, 0, 150, 200))
    return encoded(image, "PNG", transparency=0)


@pytest.mark.parametrize(
    ("mode", "colour"),
    [("CMYK", (255, 0, 0)), ("16 bit", (156, 156, 156)), ("palette with alpha", (255, 0, 0))],
)
def test_odd_colour_modes_are_shown_as_they_look(mode: str, colour: tuple[int, int, int]) -> None:
    image = picture(seen(odd(mode)))
    found = image.getpixel((250, 100))
    assert all(abs(a - b) < 25 for a, b in zip(found, colour, strict=True))  # type: ignore[arg-type]
    if mode == "palette with alpha":
        assert image.getpixel((20, 100)) == (255, 255, 255)


def test_white_on_transparent_is_not_shown_on_white() -> None:
    image = Image.new("RGBA", (300, 200))
    image.paste((255, 255, 255, 255), (100, 50, 200, 150))
    shown = picture(seen(encoded(image, "PNG")))
    assert shown.getpixel((150, 100)) != shown.getpixel((10, 10))


def animation(count: int) -> bytes:
    frames = [Image.new("RGB", (60, 40), (at % 256, at // 2 % 256, 90)) for at in range(count)]
    return encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)


def test_an_animation_is_shown_as_frames_on_one_sheet() -> None:
    drawing = seen(animation(500))
    assert "500 frames" in drawing.remark
    assert "12 frames from 1 to 500 on one sheet" in drawing.remark
    assert drawing.pictures[0].part == "frames 1–500"
    one = seen(animation(500), view_range=(300, 300))
    assert one.pictures[0].part == "frame 300"
    assert picture(one).getpixel((30, 20)) == (299 % 256, 299 // 2 % 256, 90)


def test_what_a_truncated_picture_has_is_shown_and_said() -> None:
    whole = encoded(Image.effect_noise((400, 300), 90), "JPEG")
    assert "truncated" in seen(whole[: len(whole) // 2]).remark


def declared(width: int, height: int) -> bytes:
    """A PNG whose header says that it has so many pixels."""
    header = b"IHDR" + width.to_bytes(4) + height.to_bytes(4) + b"\x08\x02\0\0\0"
    chunk = (13).to_bytes(4) + header + zlib.crc32(header).to_bytes(4)
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IDAT" + bytes(4)


AMPLIFIED = b'<!DOCTYPE svg [<!ENTITY a "%s">%s]>' % (
    b"a" * 100,
    b"".join(b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 20) for at in range(9)),
)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: b"", "image", "The file is empty"),
        (lambda: b"\x89PNG\r\n\x1a\n" + b"x" * 99, "image", "damaged"),
        (lambda: declared(20_000, 20_000), "image", "20,000 × 20,000 pixels; more than 200 mil"),
        (lambda: LOCKED.read_bytes(), "pdf", "protected with a password"),
        (lambda: b"%PDF-1.7 nothing", "pdf", "damaged, truncated or has no pages"),
        (lambda: AMPLIFIED + SVG % (b"", b"<text>&j;</text>"), "svg", "cannot be read"),
        (lambda: SVG % (b"", b"<rect"), "svg", "truncated|cannot be read"),
        (lambda: b"{]", "notebook", "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_a_sentence(
    make: Callable[[], bytes], kind: Kind, message: str
) -> None:
    with pytest.raises(DrawingError, match=message):
        seen(make(), kind)


def test_an_svg_is_drawn_without_what_it_links_to(tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.png"
    secret.write_bytes(encoded(Image.new("RGB", (50, 50), "red"), "PNG"))
    inner = base64.b64encode(SVG % (b"", b'<image href="%b"/>' % bytes(secret)))
    content = b"".join(
        b'<image width="200" height="100" %b="%b"/>' % (name, link)
        for name in (b"href", b"xlink:href")
        for link in (
            bytes(secret),
            b"file://" + bytes(secret),
            b"data:image/svg+xml;base64," + inner,
        )
    )
    script = b"<script>while(1);</script><style>@import url(http://x/y);</style>"
    root = b'xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="100"'
    drawing = seen(
        SVG % (root, content + script + b'<rect x="150" width="50" height="100"/>'), "svg"
    )
    assert "what it links to is not loaded" in drawing.remark
    image = picture(drawing)
    assert image.getpixel((10, 10)) == (255, 255, 255)
    assert image.getpixel((image.width - 10, 10)) == (0, 0, 0)


@pytest.mark.parametrize("family", ["sans-serif", "Arial, Helvetica", "no such font"])
def test_the_text_of_an_svg_is_drawn_in_any_font(family: str) -> None:
    if find_font() is None:
        pytest.skip("this machine has no fonts")
    text = b'<text x="10" y="80" font-size="60" font-family="%s">WWW</text>' % family.encode()
    image = picture(seen(SVG % (b'width="200" height="100"', text), "svg"))
    colours = image.getcolors(1 << 20) or []
    assert max(count for count, colour in colours if colour == (0, 0, 0)) > 500


def pages(count: int) -> bytes:
    return make_pdf([PdfPage([f"Page {at + 1}"]) for at in range(count)])


def test_one_page_of_a_long_pdf_is_seen_and_read() -> None:
    drawing = seen(pages(3000), "pdf", (37, 37))
    assert drawing.remark.startswith("PDF, 3,000 pages. You see page 37")
    assert drawing.text == "--- page 37 ---\nPage 37"
    assert drawing.pictures[0].part == "page 37"
    assert max(picture(drawing).size) == 1568


def test_several_pages_become_a_contact_sheet() -> None:
    drawing = seen(pages(3000), "pdf", (2990, -1))
    assert drawing.pictures[0].part == "pages 2990–3000"
    with pytest.raises(DrawingError, match="no page 4000: the file has 3,000 pages"):
        seen(pages(3000), "pdf", (4000, 4001))
    with pytest.raises(DrawingError, match="ends before it begins"):
        seen(pages(20), "pdf", (9, 3))


def test_pages_with_odd_boxes_are_drawn() -> None:
    for box in ("0 0 1 14400", "0 0 0 0", "500 500 0 0", "-1e9 -1e9 1e9 1e9"):
        data = pages(1).replace(b"/MediaBox [0 0 612 792]", f"/MediaBox [{box}]".encode())
        try:
            assert min(picture(seen(data, "pdf")).size) >= 64
        except DrawingError as error:
            assert str(error)  # noqa: PT017 - either is right, a crash is not


def test_the_pictures_of_a_notebook_are_seen_by_their_cells() -> None:
    shown = base64.b64encode(encoded(halves(), "PNG")).decode()
    cells = [{"outputs": []}, {"outputs": [{"data": {"image/png": [shown]}}]}]
    one = seen(json.dumps({"cells": cells}).encode(), "notebook")
    assert (one.pictures[0].part, one.remark) == (
        "cell 2",
        "You see the picture of cell 2, from 1.",
    )
    damaged = {"outputs": [{"data": {"image/png": "no picture"}}, {"data": {"image/png": shown}}]}
    several = seen(json.dumps({"cells": [*cells, damaged]}).encode(), "notebook")
    assert "2 of 3 pictures" in several.remark


def test_without_eyes_a_picture_is_described_and_a_pdf_read() -> None:
    described = draw_in_process(encoded(halves(), "PNG"), DrawingRequest("image", draws=False))
    assert described.pictures == ()
    assert "400 × 200 pixels" in described.remark
    assert "#ff0000 50 %" in described.remark
    assert "#0000ff 50 %" in described.remark
    read = draw_in_process(pages(3), DrawingRequest("pdf", draws=False))
    assert read.text == "".join(f"--- page {at} ---\nPage {at}\n" for at in (1, 2, 3)).strip()
    scan = draw_in_process(make_pdf([PdfPage([])]), DrawingRequest("pdf", draws=False))
    assert "There is no text on page 1" in scan.remark
    assert "tesseract" in scan.remark


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("chart.png", b"\x89PNG\r\n\x1a\n", "image"), ("chart.txt", b"\xff\xd8\xff\xe0", "image"),
        ("a.pdf", b"%PDF-1.4", "pdf"), ("a.svg", b"<svg", "svg"),
        ("a.ipynb", b'{"cells"', "notebook"),
        ("a.docx", b"PK\3\4", "document"), ("a.mp4", b"\0\0\0 ftypisom", "video"),
        ("a.avif", b"\0\0\0 ftypavif", "image"), ("a.heic", b"\0\0\0 ftypheic", "heif"),
        ("a.avif", b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif", "image"),
        ("a.heic", b"\0\0\0\x1cftypmif1\0\0\0\0mif1heicmiafavif", "heif"),
        ("a.bmp", b"BM\0\1\0\0\0\0\0\0", "image"), ("bmp", b"BM is a text", "other"),
        ("a.bmp", b"BMW is a text", "other"), ("a.py", b"print()", "other"),
        ("a.zip", b"PK\3\4", "other"),
    ],
)  # fmt: skip
def test_the_kind_of_a_file_is_told_by_bytes_and_name(name: str, data: bytes, kind: Kind) -> None:
    assert kind_of(name, data) == kind
