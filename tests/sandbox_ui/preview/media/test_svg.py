"""Drawings: pictures to the browser, whatever is written in them."""

import gzip
import socket
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect

from sandbox_ui.preview.base import BinaryPreview, PreviewError, PreviewRequest
from sandbox_ui.preview.media.svg import MAX_FILE_BYTES, view
from tests.sandbox_ui.preview.file_viewer import FileViewer, data_of

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
GREEN = '<rect width="100%" height="100%" fill="#0a0"/>'


def drawing(attributes: str = 'width="200" height="100"', inside: str = GREEN) -> str:
    return f"<svg {NAMESPACE} {attributes}>{inside}</svg>"


def written(folder: Path, content: str | bytes, name: str = "a.svg") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def picture_of(path: Path) -> bytes:
    with path.open("rb") as file:
        answer = view(
            cast(BinaryIO, file), PreviewRequest(path.name, path.stat().st_size, {"thumb": "320"})
        )
    assert isinstance(answer, BinaryPreview)
    assert answer.media_type == "image/svg+xml"
    return answer.content


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="200" height="100"', (200, 100)),
        ('width="1in" height="2.54cm"', (96, 96)),
        ('width="72pt" height="10mm"', (96, 37.8)),
        ('viewBox="0 0 30 60"', (30, 60)),
        ('viewBox="5,5,30,60" width="100%"', (30, 60)),
        ('viewBox="0 0 30 60" width="90"', (90, 180)),
        ('width="1e7" height="1e7"', (16384, 16384)),
    ],
)
def test_a_drawing_has_a_size(tmp_path: Path, attributes: str, size: tuple[float, float]) -> None:
    seen = data_of(view, written(tmp_path, drawing(attributes)))
    assert (seen["width"], seen["height"]) == pytest.approx(size, abs=0.1)
    assert seen["sized"]


@pytest.mark.parametrize(
    "attributes", ["", 'width="100%"', 'width="-5" height="x"', 'viewBox="0 0 0 0"']
)
def test_a_drawing_without_a_size_is_given_one(tmp_path: Path, attributes: str) -> None:
    path = written(tmp_path, drawing(attributes))
    seen = data_of(view, path)
    assert (seen["width"], seen["height"], seen["sized"]) == (800, 600, False)


def test_what_a_browser_needs_and_the_author_left_out_is_added(tmp_path: Path) -> None:
    path = written(
        tmp_path, '<?xml version="1.0"?><svg width="9" height="9"><use xlink:href="#a"/></svg>'
    )
    assert picture_of(path).startswith(
        b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"'
        b' xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" width="9"'
    )


def test_a_complete_drawing_stays_as_it_is(tmp_path: Path) -> None:
    whole = drawing('viewBox="0 0 9 9"').encode()
    assert picture_of(written(tmp_path, whole)) == whole
    assert picture_of(written(tmp_path, gzip.compress(whole), "a.svgz")) == whole


def repeated(levels: int) -> str:
    """Ten times ten times ten …, by ``use``."""
    groups = "".join(
        f'<g id="g{level}">' + f'<use href="#g{level - 1}"/>' * 10 + "</g>"
        for level in range(1, levels)
    )
    return drawing(inside=f'<g id="g0">{GREEN}</g>{groups}<use href="#g{levels - 1}"/>')


def painted(levels: int) -> str:
    """The same by patterns, named in a style sheet's classes."""
    rules = "".join(f".c{level} {{ fill: url(#p{level - 1}) }}" for level in range(1, levels + 1))
    patterns = "".join(
        f'<pattern id="p{level}">' + f'<rect class="c{level}"/>' * 10 + "</pattern>"
        for level in range(1, levels)
    )
    return drawing(inside=f'<style>{rules}</style>{patterns}<rect class="c{levels}"/>')


ENTITIES = (
    "<!DOCTYPE svg [<!ENTITY a0 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'>"
    + "".join(f"<!ENTITY a{at} '{f'&a{at - 1};' * 10}'>" for at in range(1, 10))
    + f"]>{drawing(inside='<text>&a9;</text>')}"
)


@pytest.mark.parametrize("bomb", [repeated(12), painted(12)], ids=["use", "pattern"])
def test_a_drawing_that_repeats_itself_without_end_is_found(tmp_path: Path, bomb: str) -> None:
    path = written(tmp_path, bomb)
    assert "repeats its parts" in str(data_of(view, path)["wrong"])
    with pytest.raises(PreviewError, match="repeats its parts"):
        picture_of(path)


def test_ordinary_repetition_is_drawn(tmp_path: Path) -> None:
    loop = '<g id="x"><use href="#x"/></g>'
    for ordinary in (repeated(4), painted(4), drawing(inside=loop)):
        assert data_of(view, written(tmp_path, ordinary))["wrong"] == ""


def test_entities_that_grow_are_refused(tmp_path: Path) -> None:
    seen = data_of(view, written(tmp_path, ENTITIES))
    assert "amplification" in str(seen["wrong"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (drawing()[:-9], "cannot be read from line 1 on"),
        ("<html><body/></html>", "another kind of XML"),
        ("no drawing", "cannot be read from line 1 on: syntax error"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str, why: str) -> None:
    assert why in str(data_of(view, written(tmp_path, content))["wrong"])


def test_what_is_empty_too_much_or_packed_wrongly_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b" " * (MAX_FILE_BYTES + 1))
    for content, why in (
        (b"", "empty"),
        (packed, "larger than 32 MB"),
        (b"\x1f\x8bxx", "decompressed"),
    ):
        with pytest.raises(PreviewError, match=why):
            data_of(view, written(tmp_path, content))


def test_what_a_drawing_would_like_to_do_is_told(tmp_path: Path) -> None:
    seen = data_of(view, written(tmp_path, HOSTILE.replace("ELSEWHERE", "http://example.org")))
    assert (seen["scripts"], seen["outside"], seen["wrong"]) == (True, True, "")
    tame = data_of(view, written(tmp_path, drawing(inside='<a href="http://example.org"/>')))
    assert (tame["scripts"], tame["outside"]) == (False, False)


HOSTILE = f"""<svg {NAMESPACE} xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="100"
  onload="window.hacked = 1; parent.hacked = 1">
<script>window.hacked = 1; parent.hacked = 1; fetch("ELSEWHERE/f")</script>
<style>@import url(ELSEWHERE/style.css); rect {{ fill: url(ELSEWHERE/paint.svg#p) }}</style>
<image href="ELSEWHERE/i.png" width="50" height="50"/><use xlink:href="ELSEWHERE/u.svg#x"/>
<foreignObject width="100" height="50"><div xmlns="http://www.w3.org/1999/xhtml">
<img src="ELSEWHERE/h.png"/><iframe src="ELSEWHERE/frame"/><script>parent.hacked = 1</script></div>
</foreignObject><rect x="100" width="100" height="100" fill="#0a0"/></svg>"""


def drawn(canvas: Locator, width: int) -> Locator:
    """The picture, once it is drawn so wide."""
    picture = canvas.locator("img")
    expect(picture).to_have_js_property("naturalWidth", width)
    return picture


@pytest.mark.browser
def test_a_drawing_is_a_picture_with_its_source_a_click_away(viewer: FileViewer) -> None:
    viewer.upload("plan.svg", drawing('width="300" height="120"').encode())
    viewer.open()
    canvas = viewer.show("plan.svg")
    drawn(canvas, 300)
    expect(viewer.preview.locator(".hd small")).to_contain_text("300 × 120 · 2 elements")
    canvas.get_by_role("button", name="Zoom in").click()
    expect(canvas.locator("img")).to_have_css("width", "600px")
    viewer.preview.get_by_role("button", name="Source").click()
    expect(canvas).to_contain_text('fill="#0a0"')
    viewer.preview.get_by_role("button", name="Image").click()
    drawn(canvas, 300)


@pytest.mark.browser
def test_a_drawing_runs_nothing_and_loads_nothing(viewer: FileViewer) -> None:
    viewer.upload("hostile.svg", HOSTILE.replace("ELSEWHERE", "http://127.0.0.1:9").encode())
    viewer.open()
    canvas = viewer.show("hostile.svg")
    drawn(canvas, 200)
    expect(canvas.get_by_role("status")).to_contain_text("Scripts are disabled")
    expect(canvas.get_by_role("status")).to_contain_text("not loaded")


def heard(listener: socket.socket) -> bytes:
    """What reached a server; a connection that a browser opens ahead of time says nothing."""
    listener.setblocking(False)
    said = b""
    with suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(BlockingIOError):
                connection.setblocking(False)
                said += connection.recv(1000)
    return said


@pytest.mark.browser
def test_opened_by_its_address_it_reaches_nothing_either(browser: Browser, studio_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
        run = httpx.post(f"{studio_url}/api/runs").json()["run"]
        file = f"{studio_url}/api/runs/{run}/files/output/hostile.svg"
        httpx.put(file, content=HOSTILE.replace("ELSEWHERE", elsewhere)).raise_for_status()
        page = browser.new_page()
        with page.expect_event("console", lambda said: "sandboxed" in said.text):
            page.goto(f"{studio_url}/api/runs/{run}/view/output/hostile.svg?as=drawing&thumb=320")
        assert page.evaluate("document.documentElement.localName") == "svg"
        assert page.evaluate("window.hacked") is None
        page.close()
        assert heard(listener) == b""


@pytest.mark.browser
def test_what_is_not_drawn_says_why(viewer: FileViewer) -> None:
    viewer.upload("cut.svg", drawing()[:-9].encode())
    viewer.upload("bomb.svg", repeated(12).encode())
    viewer.upload("packed.svgz", gzip.compress(drawing().encode()))
    viewer.upload("prefix.svg", drawing(inside='<g who:knows="1"/>').encode())
    viewer.upload("empty.svg", b"")
    viewer.open()
    for name, why in (
        ("cut.svg", "cannot be read from line 1"),
        ("bomb.svg", "repeats its parts"),
        ("prefix.svg", "browser cannot display this drawing"),
        ("empty.svg", "empty"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(why)
        expect(canvas.get_by_role("link", name="Download")).to_be_visible()
    drawn(viewer.show("packed.svgz"), 200)


@pytest.mark.browser
def test_a_new_version_is_drawn_in_its_place(viewer: FileViewer) -> None:
    viewer.upload("plan.svg", drawing().encode())
    viewer.open()
    canvas = viewer.show("plan.svg")
    drawn(canvas, 200)
    viewer.replace("plan.svg", drawing('width="333" height="100"').encode())
    drawn(canvas, 333)
