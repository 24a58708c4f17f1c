"""Gradio's files: the listed styles are one, listed modules load at once, all are compressed."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.routing import Mount

from sandbox_ui.page import gradio_files
from sandbox_ui.page.gradio_files import GradioFiles
from tests.support import httpx
from tests.support.browser.gradio_files import loaded_files
from tests.support.server import call_app, serve_studio

STYLES = {"a.css": "a { color: red }", "b.css": "b { color: blue }"}
JOINED = "\n".join(STYLES.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two style sheets and a module, all of them listed."""
    for name, text in {**STYLES, "m.js": "export {};"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "list.json").write_text(json.dumps({"modules": ["m.js"], "styles": [*STYLES]}))
    monkeypatch.setattr(gradio_files, "LIST", tmp_path / "list.json")
    return tmp_path


def request(folder: Path, name: str, encoding: str) -> httpx.Response:
    app = Starlette(routes=[Mount("/assets", GradioFiles(folder))])
    return call_app(app, "GET", f"/assets/{name}", headers={"accept-encoding": encoding})


def test_listed_styles_are_one_sheet_and_their_links_load_nothing(folder: Path) -> None:
    joined, *links = GradioFiles(folder).tags().splitlines()
    assert links == [
        '<link rel="stylesheet" href="assets/a.css" disabled>',
        '<link rel="stylesheet" href="assets/b.css" disabled>',
        '<link rel="modulepreload" href="assets/m.js">',
    ]
    name = joined.split('"')[3].removeprefix("assets/")
    for encoding in ("br", "gzip"):
        response = request(folder, name, encoding)
        assert response.text == JOINED
        assert response.headers["content-type"] == "text/css; charset=utf-8"
        assert "immutable" in response.headers["cache-control"]


def test_a_list_of_another_version_is_not_used(folder: Path) -> None:
    (folder / "b.css").unlink()
    assert GradioFiles(folder).tags() == ""
    assert request(folder, "a.css", "br").text == STYLES["a.css"]


def test_files_are_compressed_where_the_browser_takes_it(folder: Path) -> None:
    compressed, plain = request(folder, "m.js", "gzip, br"), request(folder, "m.js", "gzip")
    assert compressed.headers["content-encoding"] == "br"
    assert "content-encoding" not in plain.headers
    assert compressed.text == plain.text == "export {};"
    for response in (compressed, plain):
        assert response.headers["content-type"].split(";")[0].endswith("/javascript")
        assert response.headers["vary"] == "accept-encoding"
        assert "immutable" in response.headers["cache-control"]
    assert request(folder, "missing.js", "br").status_code == 404


@pytest.mark.nightly
@pytest.mark.browser
def test_the_list_is_what_the_page_loads(browser: Browser, tmp_path: Path) -> None:
    listed = json.loads(gradio_files.LIST.read_text())
    with serve_studio(tmp_path) as url, browser.new_context() as context:
        loaded = loaded_files(context.new_page(), url)
    assert sorted(loaded["modules"]) == sorted(listed["modules"])
    assert [name.split("-")[0] for name in loaded["styles"]] == ["studio"]
