"""The SVG preview: files are shown as images, whatever they contain."""

import gzip
import socket

import pytest
from playwright.sync_api import Locator, expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.media.svg import view
from tests.sandbox_ui.preview.file_viewer import FileViewer, received_bytes
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
GREEN = '<rect width="100%" height="100%" fill="#0a0"/>'


def svg_text(attributes: str = 'width="200" height="100"', body: str = GREEN) -> str:
    return f"<svg {NAMESPACE} {attributes}>{body}</svg>"


def render_svg(content: str | bytes) -> bytes:
    preview = preview_file(view, content, thumb="320")
    assert preview.media_type == "image/svg+xml"
    return preview.content


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
def test_the_size_of_a_drawing_is_read(attributes: str, size: tuple[float, float]) -> None:
    result = preview_data(view, svg_text(attributes))
    assert (result["width"], result["height"]) == pytest.approx(size, abs=0.1)
    assert result["has_size"]


@pytest.mark.parametrize(
    "attributes", ["", 'width="100%"', 'width="-5" height="x"', 'viewBox="0 0 0 0"']
)
def test_a_drawing_without_a_size_has_a_default_size(attributes: str) -> None:
    result = preview_data(view, svg_text(attributes))
    assert (result["width"], result["height"], result["has_size"]) == (800, 600, False)


def test_missing_namespaces_and_view_box_are_added_and_a_complete_drawing_is_unchanged() -> None:
    drawing = '<?xml version="1.0"?><svg width="9" height="9"><use xlink:href="#a"/></svg>'
    assert render_svg(drawing).startswith(
        b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"'
        b' xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" width="9"'
    )
    whole = svg_text('viewBox="0 0 9 9"').encode()
    assert render_svg(whole) == whole
    assert render_svg(gzip.compress(whole)) == whole


def nested_use_bomb(levels: int) -> str:
    """A drawing that grows tenfold at each level, with ``use``."""
    groups = "".join(
        f'<g id="g{level}">' + f'<use href="#g{level - 1}"/>' * 10 + "</g>"
        for level in range(1, levels)
    )
    return svg_text(body=f'<g id="g0">{GREEN}</g>{groups}<use href="#g{levels - 1}"/>')


def nested_pattern_bomb(levels: int) -> str:
    """A drawing that grows tenfold at each level, with patterns and style sheet classes."""
    rules = "".join(f".c{level} {{ fill: url(#p{level - 1}) }}" for level in range(1, levels + 1))
    patterns = "".join(
        f'<pattern id="p{level}">' + f'<rect class="c{level}"/>' * 10 + "</pattern>"
        for level in range(1, levels)
    )
    return svg_text(body=f'<style>{rules}</style>{patterns}<rect class="c{levels}"/>')


ENTITIES = (
    "<!DOCTYPE svg [<!ENTITY a0 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'>"
    + "".join(f"<!ENTITY a{at} '{f'&a{at - 1};' * 10}'>" for at in range(1, 10))
    + f"]>{svg_text(body='<text>&a9;</text>')}"
)


def test_an_exponentially_repeating_drawing_is_rejected_and_ordinary_repetition_accepted() -> None:
    for bomb in (nested_use_bomb(12), nested_pattern_bomb(12)):
        assert "repeats its parts" in preview_data(view, bomb)["error"]
        with pytest.raises(PreviewError, match="repeats its parts"):
            render_svg(bomb)
    loop = '<g id="x"><use href="#x"/></g>'
    for content in (nested_use_bomb(4), nested_pattern_bomb(4), svg_text(body=loop)):
        assert preview_data(view, content)["error"] == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (svg_text()[:-9], "cannot be read from line 1 on"),
        ("<html><body/></html>", "another kind of XML"),
        ("no drawing", "cannot be read from line 1 on: syntax error"),
        (ENTITIES, "amplification"),
    ],
)
def test_an_invalid_drawing_is_reported(content: str, message: str) -> None:
    assert message in preview_data(view, content)["error"]


def test_scripts_and_external_resources_are_reported() -> None:
    result = preview_data(view, HOSTILE.replace("ELSEWHERE", "http://example.org"))
    assert (result["scripts"], result["external_resources"], result["error"]) == (True, True, "")
    harmless = preview_data(view, svg_text(body='<a href="http://example.org"/>'))
    assert (harmless["scripts"], harmless["external_resources"]) == (False, False)


HOSTILE = f"""<svg {NAMESPACE} xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="100"
  onload="window.hacked = 1; parent.hacked = 1">
<script>window.hacked = 1; parent.hacked = 1; fetch("ELSEWHERE/f")</script>
<style>@import url(ELSEWHERE/style.css); rect {{ fill: url(ELSEWHERE/paint.svg#p) }}</style>
<image href="ELSEWHERE/i.png" width="50" height="50"/><use xlink:href="ELSEWHERE/u.svg#x"/>
<foreignObject width="100" height="50"><div xmlns="http://www.w3.org/1999/xhtml">
<img src="ELSEWHERE/h.png"/><iframe src="ELSEWHERE/frame"/><script>parent.hacked = 1</script></div>
</foreignObject><rect x="100" width="100" height="100" fill="#0a0"/></svg>"""


def rendered_image(canvas: Locator, width: int) -> Locator:
    """The image, once it is rendered at this width."""
    image = canvas.locator("img")
    expect(image).to_have_js_property("naturalWidth", width)
    return image


def test_a_drawing_is_shown_as_an_image_or_as_source_and_updated(viewer: FileViewer) -> None:
    canvas = viewer.view("plan.svg", svg_text('width="300" height="120"'))
    rendered_image(canvas, 300)
    expect(viewer.details).to_contain_text("300 × 120 · 2 elements")
    canvas.get_by_role("button", name="Zoom in").click()
    expect(canvas.locator("img")).to_have_css("width", "600px")
    viewer.button("Source").click()
    expect(canvas).to_contain_text('fill="#0a0"')
    viewer.button("Image").click()
    rendered_image(canvas, 300)
    viewer.write("plan.svg", svg_text('width="333" height="100"'))
    rendered_image(canvas, 333)


def test_a_drawing_opened_by_its_url_runs_no_scripts_and_loads_no_resources(
    viewer: FileViewer,
) -> None:
    viewer.open()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        viewer.write("hostile.svg", HOSTILE.replace("ELSEWHERE", server_url))
        page = viewer.page.context.new_page()
        with page.expect_event("console", lambda message: "sandboxed" in message.text):
            page.goto(f"{viewer.stage.run_url}view/output/hostile.svg?as=svg&thumb=320")
        assert page.evaluate("document.documentElement.localName") == "svg"
        assert page.evaluate("window.hacked") is None
        page.close()
        assert received_bytes(listener) == b""
