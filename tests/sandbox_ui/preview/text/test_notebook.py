"""Notebooks are read, never run: what a cell put out is text, a picture, or harmless HTML."""

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from sandbox_ui.preview.base import (
    BinaryPreview,
    JsonPreview,
    Preview,
    PreviewError,
    PreviewRequest,
)
from sandbox_ui.preview.text import notebook
from tests.sandbox_ui.preview.file_viewer import FileViewer

HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='window.hacked=1'>"
    "<rect width='9' height='9'/></svg>"
)

Cell = dict[str, Any]


def png() -> str:
    written = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(written, "png")
    return base64.b64encode(written.getvalue()).decode()


def markdown(text: str) -> Cell:
    return {"cell_type": "markdown", "source": [text]}


def code(source: str, *outputs: Cell, count: int | None = 1) -> Cell:
    return {
        "cell_type": "code",
        "source": source,
        "execution_count": count,
        "outputs": list(outputs),
    }


def data(**forms: str) -> Cell:
    named = {name.replace("__", "/"): value for name, value in forms.items()}
    return {"output_type": "display_data", "data": named}


def written(*cells: Cell) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": list(cells)}).encode()


def asked(content: bytes, **options: str) -> Preview:
    return notebook.view(io.BytesIO(content), PreviewRequest("n.ipynb", len(content), options))


def told(content: bytes, **options: str) -> dict[str, Any]:
    answer = asked(content, **options)
    assert isinstance(answer, JsonPreview)
    return answer.data


def output_of(*outputs: Cell) -> Cell:
    found: Cell = told(written(code("x", *outputs)))["cells"][0]["outputs"][0]
    return found


def test_cells_and_outputs_of_version_4() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]}
    cells = told(written(markdown("# Hi"), code("import os", stream)))["cells"]
    assert cells[0]["html"] == "<h1>Hi</h1>\n"
    assert cells[1]["count"] == 1
    assert cells[1]["rows"] == [[["k", "import "], "os"]]
    assert cells[1]["outputs"] == [
        {"kind": "text", "rows": [["a"], ["b"]], "cut": 0, "error": False}
    ]


def test_cells_and_outputs_of_version_3() -> None:
    cell = {
        "cell_type": "code",
        "input": "1",
        "prompt_number": 7,
        "outputs": [{"output_type": "pyout", "png": png()}, {"output_type": "pyerr", "ename": "E"}],
    }
    heading = {"cell_type": "heading", "level": 2, "source": "Part"}
    content = json.dumps({"nbformat": 3, "worksheets": [{"cells": [heading, cell]}]}).encode()
    first, second = told(content)["cells"]
    assert first["html"] == "<h2>Part</h2>\n"
    assert (second["count"], second["outputs"][0]["kind"]) == (7, "picture")
    assert second["outputs"][1]["error"]
    assert isinstance(asked(content, image="1,0,png"), BinaryPreview)


def test_html_loses_what_could_run() -> None:
    html = f"<table><td onclick=x style='color:red'>1</td></table>{HOSTILE}<style>*{{}}</style>"
    shown = output_of(data(text__html=html))["html"]
    assert ">1</td>" in shown
    for word in ("script", "onerror", "onclick", "color", "hacked"):
        assert word not in shown


def test_html_that_is_only_a_script_says_so() -> None:
    shown = output_of(data(text__html="<script>draw()</script><div id=x></div>"))
    assert (shown["kind"], shown["live"]) == ("text", True)


def test_a_progress_bar_shows_its_last_state_and_colours_stay() -> None:
    text = "10%\r50%\r100%\n\x1b[31mred\x1b[0m"
    shown = output_of({"output_type": "stream", "name": "stderr", "text": text})
    assert shown["rows"] == [["100%"], [["t 31", "red"]]]
    assert shown["error"]


def test_a_picture_is_asked_for_by_itself() -> None:
    content = written(code("x", data(image__png=png(), text__plain="<Figure>")))
    picture = asked(content, image="0,0,image/png")
    assert isinstance(picture, BinaryPreview)
    assert picture.content.startswith(b"\x89PNG")
    for wrong in ("9,0,image/png", "0,9,image/png", "0,0,text/plain", "x", ""):
        with pytest.raises(PreviewError):
            asked(content, image=wrong)


def test_latex_becomes_a_formula() -> None:
    assert "<math" in output_of(data(text__latex="$$x^2$$"))["html"]


def test_what_is_long_is_cut_and_said() -> None:
    long = "x" * (notebook.MAX_TEXT_LENGTH + 5)
    cell = told(written(code(long, {"output_type": "stream", "text": long})))["cells"][0]
    assert (cell["cut"], cell["outputs"][0]["cut"]) == (5, 5)


def test_many_cells_come_in_pages() -> None:
    content = written(*[code(str(at)) for at in range(500)])
    first = told(content)
    assert (len(first["cells"]), first["total"]) == (notebook.MAX_PAGE_CELLS, 500)
    assert told(content, start="499")["cells"][0]["rows"] == [[["n", "499"]]]
    large = written(*[code("x" * 50_000) for _ in range(100)])
    assert len(told(large)["cells"]) < 60


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (written(markdown("x"))[:-9], "damaged or truncated"),
        (b'{"a": 1}', "not a notebook"),
        (b"[1]", "not a notebook"),
        (b"[" * 100_000, "deeply|damaged or truncated"),
    ],
)
def test_what_is_no_notebook_says_so(content: bytes, says: str) -> None:
    with pytest.raises(PreviewError, match=says):
        told(content)


@pytest.mark.parametrize(
    "cells", [{}, [None, 3, "x"], [{"cell_type": "code", "outputs": [None, {"data": 3}]}]]
)
def test_odd_values_are_no_harm(cells: Any) -> None:
    assert "cells" in told(json.dumps({"cells": cells}).encode())


@pytest.mark.browser
def test_a_notebook_is_read_and_nothing_in_it_runs(viewer: FileViewer) -> None:
    table = f"<table><tr><th>city</th></tr><tr><td>Berlin</td></tr></table>{HOSTILE}"
    error = {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\x1b[31mE: no"]}
    viewer.upload(
        "n.ipynb",
        written(
            markdown(f"# Title\n\n$x^2$ {HOSTILE}"),
            code("import os", data(text__html=table), error, count=3),
            code("draw()", data(image__png=png()), data(**{"image__svg+xml": SVG})),
            code("w", data(**{"application__vnd.jupyter.widget-view+json": "x"})),
        ),
    )
    viewer.open()
    place = viewer.show("n.ipynb")
    expect(place.get_by_role("heading", name="Title")).to_be_visible()
    expect(place.get_by_role("cell", name="Berlin")).to_be_visible()
    expect(place.locator(".bad")).to_contain_text("E: no")
    expect(place.locator(".no").nth(1)).to_have_text("[3]")
    for image in place.locator("img").all():
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("image => image.naturalWidth") > 0
    expect(place).to_contain_text("needs scripts")
    expect(viewer.preview.locator(".hd small")).to_contain_text("4 cells, python")


@pytest.mark.browser
def test_a_long_notebook_goes_on_where_it_is_scrolled(viewer: FileViewer) -> None:
    viewer.upload("n.ipynb", written(*[code(f"print({at})") for at in range(450)]))
    viewer.open()
    place = viewer.show("n.ipynb")
    for last in (199, 399, 449):
        place.locator(".cell").nth(last).scroll_into_view_if_needed()
    expect(place.locator(".cell").nth(449)).to_contain_text("print(449)")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.ipynb", b"", "empty"),
        ("none.ipynb", written(), "no cells"),
        ("cut.ipynb", written(markdown("x"))[:-5], "damaged or truncated"),
        ("other.ipynb", b'{"a": [1, 2]}', "not a notebook"),
    ],
)
def test_something_right_is_shown_of_everything(
    viewer: FileViewer, name: str, content: bytes, says: str
) -> None:
    viewer.upload(name, content)
    viewer.open()
    expect(viewer.show(name)).to_contain_text(says)
