"""The page's modules and styles: the bundle is used only while it matches, and cached for good."""

import json
import shutil
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from sandbox_ui.page import modules
from tests.support import httpx
from tests.support.server import call_app

MAIN = 'export * from "./core/a.js";\n'


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few modules and a bundle of them."""
    (tmp_path / "core" / "loading").mkdir(parents=True)
    (tmp_path / "main.js").write_text(MAIN)
    (tmp_path / "page.css").write_text('/* in order */\n@import "core/b.css";\n@import "a.css";\n')
    (tmp_path / "core" / "b.css").write_text("p { color: red }\n")
    (tmp_path / "core" / "a.js").write_text("export const a = 1;\n")
    (tmp_path / "core" / "loading" / "reload_guard.js").write_text("// inlined\n")
    (tmp_path / "preview" / "text").mkdir(parents=True)
    (tmp_path / "preview" / "text" / "text.js").write_text("// later\n")
    monkeypatch.setattr(modules, "STATIC", tmp_path)
    monkeypatch.setattr(modules, "BUNDLE", tmp_path / "bundle")
    write_bundle(tmp_path)
    return tmp_path


def write_bundle(static: Path) -> Path:
    files = [*static.rglob("*.js"), *static.rglob("*.css")]
    paths = sorted(path.relative_to(static).as_posix() for path in files)
    name = modules._hash([path for path in paths if not path.startswith(("bundle", "vendor"))])
    folder = static / "bundle" / name
    (folder / "chunks").mkdir(parents=True)
    (folder / "main.js").write_text("/* bundled */\n")
    manifest = {"hash": name, "modules": ["main.js", "chunks/X.js"]}
    (static / "bundle" / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_bundle_of_the_sources_is_used(static: Path) -> None:
    (folder,) = (path for path in (static / "bundle").iterdir() if path.is_dir())
    head = modules.head()
    assert f'content="ui/bundle/{folder.name}/"' in head
    assert f'href="ui/bundle/{folder.name}/chunks/X.js"' in head
    assert f'<link rel="stylesheet" href="ui/bundle/{folder.name}/page.css">' in head
    assert "core/a.js" not in head
    assert "core/b.css" not in head


def test_an_edited_style_sheet_is_served_instead_of_the_bundle(static: Path) -> None:
    assert "bundle" in modules.head()
    (static / "core" / "b.css").write_text("p { color: blue }\n")
    head = modules.head()
    links = '<link rel="stylesheet" href="ui/core/b.css">\n<link rel="stylesheet" href="ui/a.css">'
    assert links in head
    assert "page.css" not in head


def test_an_edited_module_is_served_instead_of_the_bundle(static: Path) -> None:
    assert "bundle" in modules.head()
    (static / "core" / "a.js").write_text("export const a = 2;\n")
    head = modules.head()
    assert 'content="ui/"' in head
    assert '<link rel="modulepreload" href="ui/core/a.js">' in head
    assert "reload_guard" not in head
    assert "text.js" not in head
    shutil.rmtree(static / "bundle")
    assert 'content="ui/"' in modules.head()
    write_bundle(static)
    assert "bundle" in modules.head()


@pytest.mark.parametrize("name", ["core/new.js", "new/new.js"])
def test_a_new_module_is_noticed(static: Path, name: str) -> None:
    assert "bundle" in modules.head()
    (static / name).parent.mkdir(exist_ok=True)
    (static / name).write_text("// new\n")
    assert name in modules.head()


def request(static: Path, url: str, encoding: str) -> httpx.Response:
    app = Starlette(routes=[Mount("/", modules.PageFiles(directory=static))])
    return call_app(app, "GET", url, headers={"accept-encoding": encoding})


def test_bundled_modules_are_compressed_and_cached(static: Path) -> None:
    (folder,) = (path for path in (static / "bundle").iterdir() if path.is_dir())
    (folder / "main.js.br").write_bytes(brotli.compress(b"/* compressed */\n"))
    url = f"/bundle/{folder.name}/main.js"
    compressed, plain = request(static, url, "br"), request(static, url, "gzip")
    source, missing = request(static, "/main.js", "br"), request(static, "/bundle/no/main.js", "br")
    assert compressed.headers["content-encoding"] == "br"
    assert compressed.text == "/* compressed */\n"
    assert compressed.headers["content-type"].startswith("text/javascript")
    assert "immutable" in compressed.headers["cache-control"]
    assert "content-encoding" not in plain.headers
    assert plain.text == "/* bundled */\n"
    assert "cache-control" not in source.headers
    assert missing.status_code == 404
    assert "cache-control" not in missing.headers
