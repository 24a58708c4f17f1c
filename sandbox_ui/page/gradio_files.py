"""Gradio's modules and style sheets that each page needs, loaded at once, the styles as one.

gradio_files.json lists them (``python -m tests.support.browser.gradio_files``), by names with
hashes: a list of another version is not used.
"""

import hashlib
import json
from functools import cache
from pathlib import Path

import brotli  # type: ignore[import-untyped]
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from sandbox_ui.page.modules import FOREVER

LIST = Path(__file__).with_suffix(".json")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_QUALITY = 7  # 1 MB takes 0.1 s, once


class GradioFiles(StaticFiles):
    """The folder of Gradio's files: compressed, and cached for good by their hashed names."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory)
        names: dict[str, list[str]] = json.loads(LIST.read_text())
        is_current = all((directory / name).is_file() for each in names.values() for name in each)
        self._modules = names["modules"] if is_current else []
        self._styles = names["styles"] if is_current else []
        self._joined = b"\n".join((directory / name).read_bytes() for name in self._styles)
        self._joined_name = f"studio-{hashlib.sha256(self._joined).hexdigest()[:16]}.css"
        self._compressed = cache(_compress)

    def tags(self) -> str:
        """Return the links for the HTML head; disabled ones keep Gradio from adding its own."""
        lines = [
            *(f'<link rel="stylesheet" href="assets/{name}" disabled>' for name in self._styles),
            *(f'<link rel="modulepreload" href="assets/{name}">' for name in self._modules),
        ]
        if self._styles:
            lines.insert(0, f'<link rel="stylesheet" href="assets/{self._joined_name}">')
        return "\n".join(lines)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the response for a path below the folder."""
        suffix = Path(path).suffix
        content: bytes | Path
        if path == self._joined_name:
            response = Response(self._joined, media_type="text/css")
            content = self._joined
        else:
            response = await super().get_response(path, scope)
            content = Path(response.path) if isinstance(response, FileResponse) else b""
        if content and suffix in _TYPES and "br" in Headers(scope=scope).get("accept-encoding", ""):
            body = await run_in_threadpool(self._compressed, content)
            headers = {"content-encoding": "br", "content-type": _TYPES[suffix]}
            response = Response(body, headers=headers)
        response.headers["cache-control"] = FOREVER
        response.headers["vary"] = "accept-encoding"
        return response


def _compress(content: bytes | Path) -> bytes:
    body = content if isinstance(content, bytes) else content.read_bytes()
    return bytes(brotli.compress(body, quality=_QUALITY))
