"""The font preview: metadata and a specimen."""

import io
import struct
from collections.abc import Callable
from contextlib import nullcontext

import brotli  # type: ignore[import-untyped]
import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import expect

from agent.errors import WorkspaceError
from sandbox_ui.preview.base import PreviewError, PreviewRequest
from sandbox_ui.preview.kinds import load_renderer
from sandbox_ui.preview.service import PreviewService
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.fonts import (
    collection,
    font_tables,
    installed_font,
    truetype,
    woff,
    woff2,
)
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

view = load_renderer("font")


@pytest.mark.parametrize(
    ("pack", "form"), [(truetype, "TrueType"), (woff, "WOFF"), (woff2, "WOFF2")]
)
def test_font_metadata_is_read_from_every_format(
    pack: Callable[[dict[str, bytes]], bytes], form: str
) -> None:
    result = preview_data(view, pack(font_tables("Zeichen", axes=("wght",))))
    assert (result["family"], result["format"], result["glyphs"]) == ("Zeichen", form, 27)
    assert (result["characters"], result["ranges"]) == (26, [(65, 90)])
    assert result["axes"] == [("wght", 100, 400, 900)]


def test_metadata_of_an_installed_font_is_read() -> None:
    result = preview_data(view, installed_font())
    assert result.items() >= {
        "family": "DejaVu Serif", "style": "Book", "weight": "regular", "italic": False,
        "monospaced": False, "axes": [], "version": "Version 2.37",
    }.items()  # fmt: skip


def test_all_character_maps_are_read_and_invalid_table_offsets_ignored() -> None:
    tables = font_tables("Maps")
    trimmed = struct.pack(">HHHHHHH", 6, 14, 0, 0x3B1, 2, 1, 2)
    many = struct.pack(">HHIIIIII", 13, 0, 28, 0, 1, 0x1F600, 0x1F60F, 1)
    table = struct.pack(">HH", 0, 2)
    table += struct.pack(">HHI", 0, 3, 20) + struct.pack(">HHI", 3, 10, 34) + trimmed + many
    font = truetype({**tables, "cmap": table})
    assert preview_data(view, font)["ranges"] == [(0x3B1, 0x3B2), (0x1F600, 0x1F60F)]
    every = preview_data(view, truetype(font_tables("All", first=0, last=0x10FFFF)))
    assert (every["characters"], every["ranges"]) == (0x110000, [(0, 0x10FFFF)])
    tables["name"] = b"\0\0\xff\xff\xff\xff" + b"\xff" * 12
    tables["cmap"] = b"\0\0\0\1\0\3\0\1\xff\xff\xff\xf0"
    tables["fvar"] = b"\xff" * 16
    result = preview_data(view, truetype(tables))
    assert (result["family"], result["characters"], result["axes"]) == ("", 0, [])


def test_every_font_of_a_collection_is_read() -> None:
    fonts = truetype(font_tables("One")), truetype(font_tables("Two", first=97, last=99))
    font = collection(*fonts)
    first, second = (preview_data(view, font, font=number) for number in "01")
    assert (first["format"], first["fonts"]) == ("Collection", ["One", "Two"])
    assert (first["family"], first["ranges"]) == ("One", [(65, 90)])
    assert (second["family"], second["ranges"]) == ("Two", [(97, 99)])
    extracted = preview_file(view, font, font="1", content="1")
    assert TTFont(io.BytesIO(extracted.content))["name"].getDebugName(1) == "Two"
    with pytest.raises(PreviewError, match="damaged"):
        preview_data(view, font, font="2")


def decompression_bomb() -> bytes:
    """A WOFF2 font of less than 1 MB that unpacks to 3 GB."""
    compressor, zeros = brotli.Compressor(quality=1), bytes(16 * 1024**2)
    packed: bytes = b"".join(compressor.process(zeros) for _ in range(192)) + compressor.finish()
    row = b"\x3fname" + b"\x8c\x80\x80\x80\0"
    head = struct.pack(">IIHHII", 0x10000, 48 + len(row) + len(packed), 1, 0, 0, len(packed))
    return b"wOF2" + head + bytes(24) + row + packed


def font_with_overlapping_segments(count: int = 8000) -> bytes:
    """A font whose character map claims the same characters thousands of times."""
    ends = struct.pack(f">{count}H", *[0xFFFE] * (count - 1), 0xFFFF)
    starts = bytes(2 * (count - 1)) + b"\xff\xff"
    body = ends + b"\0\0" + starts + bytes(4 * count)
    subtable = struct.pack(">7H", 4, 14 + len(body), 0, 2 * count, 0, 0, 0) + body
    cmap = struct.pack(">HHHHI", 0, 1, 3, 1, 12) + subtable
    return truetype({**font_tables("Overlapping"), "cmap": cmap})


def font_with_many_names() -> bytes:
    """A font with 65,000 empty names."""
    name = struct.pack(">3H", 0, 65_000, 6) + bytes(12 * 65_000)
    return truetype({**font_tables("Many"), "name": name})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (decompression_bomb, "too much memory"),
        (lambda: b"ttcf\0\1\0\0\xff\xff\xff\xff" + bytes(999), "damaged"),
        (font_with_overlapping_segments, ""),
        (font_with_many_names, ""),
        (lambda: truetype({**font_tables("Huge"), "glyf": bytes(60 * 1024**2)}), ""),
        (lambda: truetype({**font_tables("Huge"), "glyf": bytes(65 * 1024**2)}), "64 MB"),
    ],
)
@pytest.mark.nightly
def test_hostile_and_huge_fonts_stay_within_the_limits(
    make: Callable[[], bytes], message: str, worker: PreviewService
) -> None:
    content = make()
    with pytest.raises(WorkspaceError, match=message) if message else nullcontext():
        worker.render("font", io.BytesIO(content), PreviewRequest("a.ttf", len(content)))


def test_the_specimen_uses_the_font_until_it_is_closed(viewer: FileViewer) -> None:
    viewer.write("thing.xyz", b"\0\1\2")
    canvas = viewer.view("serif.ttf", installed_font())
    expect(canvas.get_by_role("heading", name="DejaVu Serif")).to_be_visible()
    expect(viewer.details).to_contain_text("DejaVu Serif Book · TrueType")
    line = canvas.locator(".line").first
    family = line.evaluate("(line) => getComputedStyle(line).fontFamily.split(',')[0]")
    assert viewer.page.evaluate(f"document.fonts.check('20px ' + {family!r})")
    expect(canvas).to_contain_text("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    expect(canvas).to_contain_text("0123456789")
    canvas.get_by_role("button", name="Show more of 3,447 characters").click()
    expect(canvas.locator(".grid span")).to_have_count(2400)
    field = canvas.get_by_role("textbox", name="Sample text")
    field.fill("Grüße 東")
    expect(canvas.locator(".line")).to_have_text(["Grüße 東"] * 6)
    expect(canvas.get_by_role("status")).to_contain_text("shown in a fallback font: 東")
    viewer.write("serif.ttf", installed_font() + b"\0\0\0\0")
    expect(viewer.details).to_contain_text("just now")
    expect(field).to_have_value("Grüße 東")
    assert viewer.page.evaluate(PREVIEW_FONT_COUNT) == 1
    expect(viewer.show("thing.xyz")).to_contain_text("00 01 02")
    assert viewer.page.evaluate(PREVIEW_FONT_COUNT) == 0


def test_each_font_of_a_collection_is_shown(viewer: FileViewer) -> None:
    both = collection(installed_font(), installed_font("DejaVuSansMono"))
    canvas = viewer.view("both.ttc", both)
    expect(canvas.get_by_role("heading", name="DejaVu Serif")).to_be_visible()
    canvas.get_by_label("Font").select_option("DejaVu Sans Mono")
    expect(canvas.get_by_role("heading", name="DejaVu Sans Mono")).to_be_visible()
    expect(viewer.details).to_contain_text("Book · Collection")
    expect(canvas.get_by_role("definition").first).to_contain_text("monospaced")
    assert viewer.page.evaluate(PREVIEW_FONT_COUNT) == 1
    viewer.write("both.ttc", both + b"\0\0\0\0")
    expect(viewer.details).to_contain_text("just now")
    expect(canvas.get_by_role("heading", name="DejaVu Sans Mono")).to_be_visible()


PREVIEW_FONT_COUNT = (
    "[...document.fonts].filter((face) => face.family.startsWith('preview-font')).length"
)
