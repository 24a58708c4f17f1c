"""The page's modules and style sheets: bundled, or one by one while the bundle is not of them."""

import hashlib
import json
import re
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
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_STYLES = "page.css"
_IMPORT = re.compile(r'^@import "(.+)";$', re.MULTILINE)
FOREVER = "public, max-age=31536000, immutable"


def head() -> str:
    """Return the tags of style sheets and modules; a bundle older than the sources is not used."""
    folder, modules = _modules(tuple(_versions()))
    is_bundled = folder != "ui/"
    styles = [_STYLES] if is_bundled else _IMPORT.findall((STATIC / _STYLES).read_text())
    lines = [
        *(f'<link rel="stylesheet" href="{folder}{name}">' for name in styles),
        f'<meta name="studio-modules" content="{folder}">',
        *(f'<link rel="modulepreload" href="{folder}{name}">' for name in modules),
    ]
    return "\n".join(lines)


class PageFiles(StaticFiles):
    """The files of ``static/``; bundled ones are sent compressed, and cached for good."""

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
            response.headers["content-type"] = _TYPES[Path(path).suffix]
        if parts[:1] == ("bundle",) or parts[:2] == ("vendor", "chunks"):
            response.headers["cache-control"] = FOREVER
        if parts[:1] in (("bundle",), ("vendor",)):
            response.headers["vary"] = "accept-encoding"
        return response


def _versions() -> Iterator[tuple[Path, int]]:
    """Yield every module and style sheet with its modification time, and the bundle's."""
    folders = [path for path in STATIC.iterdir() if path.is_dir() and path.name not in _GENERATED]
    manifest = BUNDLE / "manifest.json"
    files = [*STATIC.iterdir(), *(path for each in folders for path in each.rglob("*"))]
    paths = [path for path in files if path.suffix in _TYPES]
    for path in [*paths, *([manifest] if manifest.is_file() else [])]:
        yield path, path.stat().st_mtime_ns


@lru_cache(maxsize=1)
def _modules(versions: tuple[tuple[Path, int], ...]) -> tuple[str, list[str]]:
    """Return the address of the files' folder, and the paths of the first view's modules."""
    paths = sorted(path.relative_to(STATIC).as_posix() for path, _ in versions)
    sources = [path for path in paths if path != "bundle/manifest.json"]
    if sources != paths:
        manifest = json.loads((BUNDLE / "manifest.json").read_text())
        if manifest["hash"] == _hash(sources):
            return f"ui/bundle/{manifest['hash']}/", manifest["modules"]
    modules = [path for path in sources if path.endswith(".js")]
    first = [path for path in modules if not path.startswith(_NOT_FIRST)]
    return "ui/", [*first, _PREVIEW]


def _hash(sources: list[str]) -> str:
    """Return the hash of the sources; agent/packaging/bundle_page.js computes the same."""
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.encode() + b"\0" + (STATIC / path).read_bytes() + b"\0")
    return digest.hexdigest()[:16]
