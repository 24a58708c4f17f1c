"""The notebook preview: cells are never run; outputs are text, images or harmless HTML."""

import base64
import json
from typing import Any

import pytest
from playwright.sync_api import expect

from sandbox_ui.preview.base import PreviewError
from sandbox_ui.preview.text import markdown, notebook
from tests.sandbox_ui.preview.file_viewer import FileViewer
from tests.sandbox_ui.preview.media.images import encode_image, stripes
from tests.sandbox_ui.preview.rendering import preview_data, preview_file

HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='window.hacked=1'>"
    "<rect width='9' height='9'/></svg>"
)

Cell = dict[str, Any]


def png() -> str:
    return base64.b64encode(encode_image(stripes(40, 30), "png")).decode()


def markdown_cell(text: str) -> Cell:
    return {"cell_type": "markdown", "source": [text]}


def code_cell(source: str, *outputs: Cell, count: int | None = 1) -> Cell:
    more = {"execution_count": count, "outputs": list(outputs)}
    return {"cell_type": "code", "source": source, **more}


def display_output(**by_type: str) -> Cell:
    contents = {name.replace("__", "/"): value for name, value in by_type.items()}
    return {"output_type": "display_data", "data": contents}


def make_notebook(*cells: Cell) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": list(cells)}).encode()


def notebook_data(content: bytes, **options: str) -> dict[str, Any]:
    return preview_data(notebook.view, content, **options)


def output_of(*outputs: Cell) -> Cell:
    found: Cell = notebook_data(make_notebook(code_cell("x", *outputs)))["cells"][0]["outputs"][0]
    return found


def test_version_4_cells_and_outputs_are_read() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]}
    content = make_notebook(markdown_cell("# Hi"), code_cell("import os", stream))
    text, code = notebook_data(content)["cells"]
    assert text["html"] == "<h1>Hi</h1>\n"
    assert (code["count"], code["rows"]) == (1, [[["syn-keyword", "import "], "os"]])
    assert code["outputs"] == [
        {"kind": "text", "rows": [["a"], ["b"]], "omitted": 0, "error": False}
    ]


def test_version_3_cells_and_outputs_are_read() -> None:
    outputs = [{"output_type": "pyout", "png": png()}, {"output_type": "pyerr", "ename": "E"}]
    cell = {"cell_type": "code", "input": "1", "prompt_number": 7, "outputs": outputs}
    heading = {"cell_type": "heading", "level": 2, "source": "Part"}
    content = json.dumps({"nbformat": 3, "worksheets": [{"cells": [heading, cell]}]}).encode()
    first, second = notebook_data(content)["cells"]
    assert first["html"] == "<h2>Part</h2>\n"
    assert (second["count"], second["outputs"][0]["kind"]) == (7, "image")
    assert second["outputs"][1]["error"]
    assert preview_file(notebook.view, content, image="1,0,png").content


def test_active_html_is_removed_and_latex_rendered() -> None:
    html = f"<table><td onclick=x style='color:red'>1</td></table>{HOSTILE}<style>*{{}}</style>"
    shown = output_of(display_output(text__html=html))["html"]
    assert ">1</td>" in shown
    for word in ("script", "onerror", "onclick", "color", "hacked"):
        assert word not in shown
    live = output_of(display_output(text__html="<script>draw()</script><div id=x></div>"))
    assert (live["kind"], live["interactive"]) == ("text", True)
    assert "<math" in output_of(display_output(text__latex="$$x^2$$"))["html"]


def test_progress_bars_show_their_last_state_and_colours_are_kept() -> None:
    text = "10%\r50%\r100%\n\x1b[31mred\x1b[0m"
    shown = output_of({"output_type": "stream", "name": "stderr", "text": text})
    assert shown["rows"] == [["100%"], [["term-31", "red"]]]
    assert shown["error"]


def test_images_are_requested_separately() -> None:
    figure = display_output(image__png=png(), text__plain="<Figure>")
    content = make_notebook(code_cell("x", figure))
    image = preview_file(notebook.view, content, image="0,0,image/png")
    assert image.content.startswith(b"\x89PNG")
    for wrong in ("9,0,image/png", "0,9,image/png", "0,0,text/plain", "x", ""):
        with pytest.raises(PreviewError):
            preview_file(notebook.view, content, image=wrong)


def test_images_attached_to_a_cell_are_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "![A *lake*](attachment:my%20lake.png) ![no](attachment:none) ![out](http://x.example/a)"
    attached = {"my lake.png": {"image/png": [png()]}, "": 3, "x": {"text/html": HOSTILE}}
    content = make_notebook({**markdown_cell(text), "attachments": attached})
    image = f'<img src="data:image/png;base64,{png()}" alt="A lake">'
    link = '<a href="http://x.example/a">out</a>'
    (cell,) = notebook_data(content)["cells"]
    assert cell["html"] == f"<p>{image} [no] {link}</p>\n"
    monkeypatch.setattr(markdown, "MAX_IMAGES", 100)
    assert "[A lake]" in notebook_data(content)["cells"][0]["html"]


def test_long_text_is_truncated_and_counted() -> None:
    long_text = "x" * (notebook.MAX_TEXT_LENGTH + 5)
    content = make_notebook(code_cell(long_text, {"output_type": "stream", "text": long_text}))
    (cell,) = notebook_data(content)["cells"]
    assert (cell["omitted"], cell["outputs"][0]["omitted"]) == (5, 5)


def test_many_cells_are_paged() -> None:
    content = make_notebook(*[code_cell(str(at)) for at in range(500)])
    first = notebook_data(content)
    assert (len(first["cells"]), first["total"]) == (notebook.MAX_PAGE_CELLS, 500)
    assert notebook_data(content, start="499")["cells"][0]["rows"] == [[["syn-number", "499"]]]
    large = make_notebook(*[code_cell("x" * 50_000) for _ in range(100)])
    assert len(notebook_data(large)["cells"]) < 60


@pytest.mark.parametrize(
    "cells", [{}, [None, 3, "x"], [{"cell_type": "code", "outputs": [None, {"data": 3}]}]]
)
def test_unexpected_values_are_ignored(cells: Any) -> None:
    assert "cells" in notebook_data(json.dumps({"cells": cells}).encode())


def test_a_notebook_is_shown_without_running_its_content(viewer: FileViewer) -> None:
    table = f"<table><tr><th>city</th></tr><tr><td>Berlin</td></tr></table>{HOSTILE}"
    error = {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\x1b[31mE: no"]}
    images = display_output(image__png=png()), display_output(**{"image__svg+xml": SVG})
    content = make_notebook(
        {
            **markdown_cell(f"# Title\n\n$x^2$ {HOSTILE} ![lake](attachment:a.png)"),
            "attachments": {"a.png": {"image/png": png()}},
        },
        code_cell("import os", display_output(text__html=table), error, count=3),
        code_cell("draw()", *images),
        code_cell("w", display_output(**{"application__vnd.jupyter.widget-view+json": "x"})),
    )
    canvas = viewer.view("n.ipynb", content)
    expect(canvas.get_by_role("heading", name="Title")).to_be_visible()
    expect(canvas.get_by_role("cell", name="Berlin")).to_be_visible()
    expect(canvas.locator(".bad")).to_contain_text("E: no")
    expect(canvas.locator(".execution-count").nth(1)).to_have_text("[3]")
    for image in canvas.locator("img").all():
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("image => image.naturalWidth") > 0
    expect(canvas).to_contain_text("needs scripts")
    expect(viewer.details).to_contain_text("4 cells, python")


def test_more_cells_load_while_scrolling(viewer: FileViewer) -> None:
    content = make_notebook(*[code_cell(f"print({at})") for at in range(450)])
    canvas = viewer.view("n.ipynb", content)
    for last in (199, 399, 449):
        canvas.locator(".cell").nth(last).scroll_into_view_if_needed()
    expect(canvas.locator(".cell").nth(449)).to_contain_text("print(449)")
