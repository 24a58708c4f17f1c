"""The page's JavaScript modules: bundled, or one by one while the bundle does not match them."""

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parents[2] / "static"
BUNDLE = STATIC / "bundle"
"""Made by agent/packaging/bundle_page.js; may be missing."""
_GENERATED = {"vendor", "vendor.new", "bundle", "bundle.new"}
_NOT_FIRST = ("core/loading/reload_guard.js", "core/idle.js", "pages", "preview")
_PREVIEW = "preview/preview.js"
_FOREVER = "public, max-age=31536000, immutable"


def head() -> str:
    """Return the tags that say where the modules are, and preload those of the first view.

    A bundle older than the sources is not used: an edited module works after a reload.
    """
    folder, modules = _modules(tuple(_versions()))
    lines = [
        f'<meta name="studio-modules" content="{folder}">',
        *(f'<link rel="modulepreload" href="{folder}{name}">' for name in modules),
    ]
    return "\n".join(lines)


class PageFiles(StaticFiles):
    """The files of ``static/``; bundled modules are sent compressed, and cached for good."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the response for a path below the folder."""
        parts = Path(path).parts
        is_compressed = (
            parts[:1] in (("bundle",), ("vendor",))
            and "br" in Headers(scope=scope).get("accept-encoding", "")
            and (STATIC / f"{path}.br").is_file()
        )
        response = await super().get_response(f"{path}.br" if is_compressed else path, scope)
        if is_compressed:
            response.headers["content-encoding"] = "br"
            response.headers["content-type"] = "text/javascript; charset=utf-8"
        if parts[:1] == ("bundle",) or parts[:2] == ("vendor", "chunks"):
            response.headers["cache-control"] = _FOREVER
        if parts[:1] in (("bundle",), ("vendor",)):
            response.headers["vary"] = "accept-encoding"
        return response


class GradioFiles(StaticFiles):
    """Gradio's modules and styles, which have their hash in their names: cached for good."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the response for a path below the folder."""
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = _FOREVER
        return response


def _versions() -> Iterator[tuple[Path, int]]:
    """Yield every module and its modification time, and the bundle's."""
    folders = [path for path in STATIC.iterdir() if path.is_dir() and path.name not in _GENERATED]
    manifest = BUNDLE / "manifest.json"
    paths = [*STATIC.glob("*.js"), *(path for each in folders for path in each.rglob("*.js"))]
    for path in [*paths, *([manifest] if manifest.is_file() else [])]:
        yield path, path.stat().st_mtime_ns


@lru_cache(maxsize=1)
def _modules(versions: tuple[tuple[Path, int], ...]) -> tuple[str, list[str]]:
    """Return the address of the modules' folder, and the paths of those of the first view."""
    paths = sorted(path.relative_to(STATIC).as_posix() for path, _ in versions)
    sources = [path for path in paths if path != "bundle/manifest.json"]
    if sources != paths:
        manifest = json.loads((BUNDLE / "manifest.json").read_text())
        if manifest["hash"] == _hash(sources):
            return f"ui/bundle/{manifest['hash']}/", manifest["modules"]
    first = [path for path in sources if not path.startswith(_NOT_FIRST)]
    return "ui/", [*first, _PREVIEW]


def _hash(sources: list[str]) -> str:
    """Return the hash of the modules; agent/packaging/bundle_page.js computes the same."""
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.encode() + b"\0" + (STATIC / path).read_bytes() + b"\0")
    return digest.hexdigest()[:16]
