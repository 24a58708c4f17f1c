"""What the editor's view says of a file, to a model with and to one without pictures."""

import io
import zipfile
from dataclasses import replace

import pytest
from PIL import Image
from pypdfium2 import PdfDocument

from agent.documents.drawing_error import DrawingError
from agent.models.base import PictureLimits
from agent.vision import draw as draw_module
from agent.vision.draw import draw
from agent.vision.eyes import Eyes, Sight
from agent.vision.tokens import estimate_picture_tokens
from tests.sandbox_ui.preview.documents.pdf_files import PdfPage, make_pdf
from tests.sandbox_ui.preview.documents.test_pptx import make_deck

pytestmark = pytest.mark.contract

PATH = "/workspace/output/{}"


class Kept(dict[str, bytes]):
    def keep(self, data: bytes, media_type: str) -> str:
        name = f"{len(self)}.{media_type.rpartition('/')[2]}"
        self[name] = data
        return name


def seen(
    data: bytes, name: str, view_range: tuple[int, int] | None = None, second: str = ""
) -> Sight:
    eyes = Eyes(lambda: PictureLimits("claude"), Kept().keep)
    sight = eyes.view(data, PATH.format(name), view_range, second)
    assert sight is not None
    return sight


def read(data: bytes, name: str, view_range: tuple[int, int] | None = None) -> Sight:
    sight = Eyes().view(data, PATH.format(name), view_range)
    assert sight is not None
    return sight


def png(size: tuple[int, int] = (750, 600)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "PNG")
    return out.getvalue()


def docx(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
        names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        archive.writestr("word/document.xml", f"<w:document {names}>{body}</w:document>")
    return out.getvalue()


def test_a_picture_comes_with_its_size_source_and_tokens() -> None:
    sight = seen(png(), "chart.png")
    (picture,) = sight.pictures
    assert (picture.source, picture.width, picture.height) == ("output/chart.png", 750, 600)
    assert (picture.media_type, picture.tokens) == ("image/png", 600)
    assert sight.text == (
        "/workspace/output/chart.png: PNG picture, 750 × 600 pixels, RGB.\nThe picture follows."
    )


@pytest.mark.parametrize("name", ["chart.png", "photo.JPG", "paper.pdf", "slides.pptx", "film.mp4"])
def test_an_empty_file_is_said_to_be_empty(name: str) -> None:
    for sight in (seen(b"", name), read(b"", name)):
        assert not sight.ok
        assert sight.text.startswith(
            f"Error: /workspace/output/{name} cannot be viewed. It is empty"
        )
    for text in ("notes.txt", "drawing.svg", "png"):
        assert Eyes().view(b"", PATH.format(text), None) is None


def test_the_first_pages_come_within_a_number_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawing process gives what it can in its time; a damaged page ends them."""
    pdf = make_pdf([PdfPage([f"Page {at}"]) for at in range(1, 7)])
    eyes = Eyes(lambda: PictureLimits("claude", side=300), Kept().keep)
    whole = eyes.show_pages(pdf, "input/a.pdf", 4, 10_000)
    assert [each.source for each in whole.pictures] == [
        f"input/a.pdf, page {at}" for at in range(1, 5)
    ]
    assert (whole.count, whole.why) == (6, "")
    one = whole.pictures[0].tokens
    assert len(eyes.show_pages(pdf, "input/a.pdf", 4, 2 * one).pictures) == 2
    assert eyes.show_pages(pdf, "input/a.pdf", 4, one - 1).pictures == ()
    monkeypatch.setattr("agent.vision.drawing_process.draw_in_process", draw)
    monkeypatch.setattr("agent.vision.draw._SEPARATE_SECONDS", -1.0)  # one page each time
    again = eyes.show_pages(pdf, "input/a.pdf", 4, 10_000)
    assert [replace(each, file="") for each in again.pictures] == [
        replace(each, file="") for each in whole.pictures
    ]
    rendered = draw_module._rendered_page

    def damaged(document: PdfDocument, at: int, side: int) -> Image.Image:
        if at == 2:
            raise DrawingError("This page cannot be read; it is damaged.")
        return rendered(document, at, side)

    monkeypatch.setattr(draw_module, "_rendered_page", damaged)
    part = eyes.show_pages(pdf, "input/a.pdf", 4, 10_000)
    assert (len(part.pictures), part.count) == (2, 6)
    assert part.why == "This page cannot be read; it is damaged."
    with pytest.raises(DrawingError, match="cannot be read"):
        eyes.show_pages(b"%PDF-1.4", "input/b.pdf", 4, 10_000)


def test_without_eyes_it_is_described_and_no_failure() -> None:
    sight = read(png(), "chart.png")
    assert (sight.ok, sight.pictures) == (True, ())
    assert "750 × 600 pixels" in sight.text
    assert "tesseract /workspace/output/chart.png" in sight.text


def test_a_page_of_a_pdf_is_seen_or_read() -> None:
    pdf = make_pdf([PdfPage([f"Page {at}"]) for at in range(1, 41)])
    sight = seen(pdf, "scan.pdf", (37, 37))
    assert [each.source for each in sight.pictures] == ["output/scan.pdf, page 37"]
    assert sight.text.endswith("--- page 37 ---\nPage 37")
    assert read(pdf, "scan.pdf", (37, 37)).text.endswith("--- page 37 ---\nPage 37")
    beyond = seen(pdf, "scan.pdf", (41, 41))
    assert (beyond.ok, beyond.pictures) == (False, ())
    assert "There is no page 41: the file has 40 pages." in beyond.text


def test_a_text_that_is_also_a_drawing_is_read_and_seen() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"/>'
    sight = seen(svg, "drawing.svg")
    assert (sight.adds, len(sight.pictures)) == (True, 1)
    eyes = Eyes(lambda: PictureLimits(), Kept().keep)
    assert eyes.view(svg, PATH.format("drawing.svg"), (1, 1)) is None
    assert Eyes().view(svg, PATH.format("drawing.svg"), None) is None
    damaged = seen(b"<svg", "drawing.svg")
    assert (damaged.ok, damaged.adds, damaged.pictures) == (True, True, ())
    assert eyes.view(b"print()", PATH.format("a.py"), None) is None


def test_documents_are_read_and_the_command_for_their_pages_named() -> None:
    sight = seen(docx("Hello"), "my letter.docx")
    assert "The text of /workspace/output/my letter.docx:\nHello" in sight.text
    assert "--outdir /tmp '/workspace/output/my letter.docx'" in sight.text
    assert "libreoffice-writer" in sight.text
    assert "soffice" not in read(docx("Hello"), "letter.docx").text
    damaged = seen(b"PK\3\4", "letter.docx")
    assert (damaged.ok, damaged.pictures) == (False, ())


def test_slides_are_read_by_their_numbers() -> None:
    deck = make_deck(3)
    sight = seen(deck, "deck.pptx", (3, 4))
    shown = "--- slide 3 ---\nSlide of 0\n--- slide 4 ---\nSlide of 1\nTo see"
    assert f"slides 3 to 4 of 5:\n{shown}" in sight.text
    assert "libreoffice-impress" in sight.text
    beyond = seen(deck, "deck.pptx", (9, 9))
    assert "There is no slide 9: the file has 5 slides." in beyond.text
    assert not beyond.ok


def test_a_video_comes_with_the_commands_that_make_a_picture_of_a_frame() -> None:
    video = seen(b"\0\0\0 ftypisom" + bytes(100), "a film.mp4", second="3.5")
    assert "ffmpeg -ss 3.5 -i '/workspace/output/a film.mp4'" in video.text
    assert "video.seek(int(3.5 * 1e6))" in video.text
    assert video.ok


def test_a_heic_picture_is_refused_with_the_command_that_makes_a_png() -> None:
    heic = b"\0\0\0\x1cftypheic\0\0\0\0mif1heicmiaf" + bytes(100)
    sight = seen(heic, "photo.heic")
    assert (sight.ok, sight.pictures) == (False, ())
    assert "pillow_heif.open_heif(sys.argv[1])" in sight.text
    assert sight.text.endswith(" /workspace/output/photo.heic")
    with pytest.raises(DrawingError, match="save it as JPEG or PNG"):
        Eyes(lambda: PictureLimits(), Kept().keep).show(heic, "input/photo.heic")


def test_a_full_disk_is_said_and_costs_no_run() -> None:
    def keep(_data: bytes, _type: str) -> str:
        raise OSError(28, "No space left on device")

    sight = Eyes(lambda: PictureLimits(), keep).view(png(), "/workspace/a.png", None)
    assert sight is not None
    assert (sight.ok, sight.pictures) == (False, ())
    assert "cannot be stored: No space left on device" in sight.text


@pytest.mark.parametrize(
    ("family", "size", "tokens"),
    [
        ("claude", (1500, 1000), 2000), ("openai", (1024, 1024), 765), ("openai", (512, 512), 255),
        ("gemini", (300, 300), 258), ("gemini", (1568, 800), 1548), ("qwen", (280, 280), 100),
    ],
)  # fmt: skip
def test_tokens_by_the_published_rules(family: str, size: tuple[int, int], tokens: int) -> None:
    assert estimate_picture_tokens(family, *size) == tokens
