"""The Markdown preview: rendering, hostile content, and images and links of the workspace."""

from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.text import markdown
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.rendering import preview_data


def view(text: str) -> dict[str, Any]:
    return preview_data(markdown.view, text, "file.md")


def render_html(text: str) -> str:
    return str(view(text)["html"])


def test_tables_tasks_footnotes_and_formulas_are_rendered() -> None:
    html = render_html("| a |\n|--:|\n| 1 |\n\n- [x] done\n\nSee[^1] $x^2$\n\n[^1]: note\n")
    assert "<table>" in html
    assert "text-align:right" in html
    assert 'checked="checked"' in html
    assert '<section class="footnotes">' in html
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in html


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("It is:\n\\[\na^2\n\\]\nand so on.", 1),
        ("- It is:\n  \\[ a^2 \\]\n", 1),
        ("As in \\[1\\] and \\[2\\].", 0),
        ("It is:\n\\[\nnot closed", 0),
    ],
)
def test_a_bracketed_formula_must_start_a_line(text: str, formulas: int) -> None:
    assert markdown.render_model_text(text).count('<math display="block">') == formulas


@pytest.mark.parametrize("text", ["costs $5 and $10", "`$x$`", "a \\$x\\$"])
def test_prices_and_code_are_not_formulas(text: str) -> None:
    assert "<math" not in render_html(text)


@pytest.mark.parametrize("tex", ["\\frac{", "{" * 3000, "\\left( x"])
def test_an_invalid_formula_is_shown_as_source(tex: str) -> None:
    assert f'<code class="tex">{tex}</code>' in render_html(f"$${tex}$$\n")


def test_raw_html_is_escaped_and_that_of_formulas_removed() -> None:
    html = render_html("<script>x</script>\n\n<b onclick=x>bold</b>\n")
    assert "&lt;script&gt;" in html
    assert "&lt;b onclick=x&gt;" in html
    assert "href" not in render_html("[x](javascript:y) [y](data:text/html,<script>z</script>)")
    html = render_html("$\\href{javascript:alert(1)}{x}$ $\\text{<img src=x onerror=y>}$")
    assert "javascript" not in html
    assert "<img" not in html


def test_code_blocks_are_highlighted() -> None:
    html = render_html("```python\nreturn '<b>'\n```\n\n```nosuch\n<i>\n```\n")
    assert '<span class="syn-keyword">return </span>' in html
    assert "&lt;b&gt;" in html
    assert "&lt;i&gt;" in html


def test_a_long_text_is_truncated_and_marked() -> None:
    result = view("a line\n\n" * 40_000)
    assert result["truncated"]
    assert len(result["html"]) < 500_000


def test_model_text_has_only_web_links() -> None:
    html = markdown.render_model_text(
        "![p](https://a.example/x.png) [f](../x.csv) [j](javascript:x) <script>x</script> $x$"
    )
    assert "<img" not in html
    assert "<script" not in html
    assert html.count("<a ") == 1
    assert "<math" in html


# In the browser


def test_images_are_loaded_only_from_the_workspace(viewer: FileViewer) -> None:
    viewer.write("a b.png", encode_image(stripes(40, 20), "png"))
    canvas = viewer.view(
        "notes.md",
        b"![inside](a%20b.png) ![up](../output/./a%20b.png) ![out](../../../etc/x.png)\n"
        b"![far](https://evil.example/x.png) ![gone](no.png)\n",
    )
    for name in ("inside", "up"):
        image = canvas.get_by_role("img", name=name)
        expect(image).to_have_js_property("naturalWidth", 40)
    expect(canvas).to_contain_text("image at evil.example, not loaded")
    expect(canvas).to_contain_text("“out” is outside the workspace")
    expect(canvas).to_contain_text("“gone” not found")
    expect(canvas.get_by_role("img")).to_have_count(2)


def test_the_source_can_be_shown_and_a_link_opens_the_preview_of_its_file(
    viewer: FileViewer,
) -> None:
    viewer.write("data.txt", b"the data\n")
    text = b"# A *title*\n\nsee [the data](data.txt), [that](#end) and [x](javascript:x)\n\n# End\n"
    canvas = viewer.view("notes.md", text)
    expect(canvas.get_by_role("heading", name="A title")).to_be_visible()
    viewer.button("Source").click()
    expect(canvas.locator(".row").first).to_have_text("# A *title*")
    viewer.button("Rendered").click()
    expect(canvas.get_by_role("heading", name="A title")).to_be_visible()
    expect(viewer.button("Edit")).to_have_count(0)
    canvas.get_by_role("link", name="the data").click()
    expect(viewer.preview.locator(".header b")).to_have_text("data.txt")
    expect(viewer.canvas).to_contain_text("the data")


def test_a_changed_file_is_updated_and_keeps_its_scroll_position(viewer: FileViewer) -> None:
    text = b"".join(b"paragraph %d\n\n" % number for number in range(200))
    canvas = viewer.view("notes.md", text)
    expect(canvas).to_contain_text("paragraph 199")
    canvas.evaluate("each => (each.scrollTop = 1500)")
    viewer.write("notes.md", text + b"and more\n")
    expect(canvas).to_contain_text("and more")
    assert canvas.evaluate("each => each.scrollTop") == 1500
