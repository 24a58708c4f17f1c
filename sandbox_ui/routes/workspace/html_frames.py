"""Framed HTML pages of a workspace: opaque origin, access to it only."""

import mimetypes
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from anyio.to_thread import run_sync
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from agent.errors import StudioError, WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.routes.helpers import RUN, as_json, path_of, route, run_of
from sandbox_ui.routes.workspace import frame_confinement
from sandbox_ui.routes.workspace.frame_tokens import Pass, Passes, Scripts
from sandbox_ui.runs.manager import Runs
from sandbox_ui.workspace import file_response

_DOCUMENTS = Path(__file__).parents[3] / "static" / "preview" / "documents"
_HELPER = b"<script>%b</script>" % (_DOCUMENTS / "frame_helper.js").read_bytes()
_HEAD = 64 * 1024
_RECODED = 32 * 1024**2
_PAGES = (".html", ".htm", ".xhtml")
# Content before the doctype stays in place; a script before it would cause quirks mode.
_OPENING = re.compile(
    rb"\s*(?:(?:<!--(?!-?>)(?>(?:(?!--!>).){0,4000}?-->)|<\?[^>]{0,400}>)\s*)*+<!doctype[^>]{0,400}>",
    re.I | re.S,
)
_CHARSET = re.compile(rb"""charset\s*+=\s*+["']?\s*+([\w-]+)""", re.I)
# The helper script is the first element of a page; a stateful encoding could garble it.
_CHARSETS = re.compile(
    r"utf-?8|us-ascii|ascii|latin-?1|iso-8859-\d+|windows-\d+|cp125\d|koi8-[ru]|macintosh"
    r"|shift_jis|euc-(?:jp|kr)|gbk|gb2312|gb18030|big5",
    re.I,
)
# Policy for files other than pages. They have no helper, so they run no scripts when framed.
_STILL = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "geojson": "application/geo+json",
    "svg": "image/svg+xml",
    "wasm": "application/wasm",
    "csv": "text/csv; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
}
# With only a content security policy a browser may resolve and connect before it refuses a
# navigation, and WebRTC is not covered. This header covers all connections, if supported.
_OFFLINE = "(response-origin)"
_SECURE_ONLY = '(response-origin "https://*:*/*")'
_OURS = ("content-disposition", "content-security-policy", "content-type")


class _Wanted(BaseModel):
    path: str
    base: str
    allowed: bool = False
    scripts: Scripts = "off"
    step: int | None = None


class Frames:
    """Routes for framed pages.

    Args:
        runs: The live runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._passes = Passes()

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN}/frames", self.make, "POST", needs="see"),
            *frame_confinement.ROUTES,
            Route("/frames/{token}/{path:any}", self.file, methods=["GET"]),
        ]

    async def make(self, request: Request) -> Response:
        """Create a URL prefix, valid for an hour, for framing a page and its files.

        The body has the page's ``path``, the studio's ``base`` URL in this browser, whether other
        hosts are ``allowed``, the mode of ``scripts``, and the ``step`` after which the files are
        read.
        """
        run = run_of(request)
        self._runs.folder(run)
        try:
            wanted = _Wanted.model_validate_json(await request.body())
        except ValidationError:
            raise WorkspaceError("“path” and “base” are needed.") from None
        page = RelPath.from_url(wanted.path)
        token = self._passes.make(
            run, page, wanted.base,
            allowed=wanted.allowed, scripts=wanted.scripts, step=wanted.step,
        )  # fmt: skip
        return as_json({"prefix": f"frames/{token}/", "path": page.to_url()}, 201)

    async def file(self, request: Request) -> Response:
        """Return a workspace file, if the token in the URL permits it."""
        if request.headers.get("sec-fetch-dest") == "document":
            return _refusal("A page of a run is shown inside the studio only.", 403)
        token = request.path_params["token"]
        try:
            shown = self._passes.read(token)
            path = _path(request, token)
            if not shown.opens(path):
                raise WorkspaceError(
                    f"“{path.shown}” is kept from a page that can reach the outside."
                )
            file = await run_sync(self._runs.open_file, shown.run, path, shown.step)
        except StudioError as error:
            return _refusal(str(error), 404)
        helped = shown.scripts != "off"
        response = await _answer(request, file, RelPath(path.name).shown, helped=helped)
        page = path.lower().endswith(_PAGES)
        response.headers["Content-Security-Policy"] = policy(shown, token) if page else _STILL
        response.headers["Connection-Allowlist"] = _SECURE_ONLY if shown.allowed else _OFFLINE
        response.headers["Access-Control-Allow-Origin"] = "null"
        response.headers["Cache-Control"] = "no-store"
        return response


def policy(shown: Pass, token: str) -> str:
    """Return a page's CSP: load from its own prefix, and from HTTPS if allowed."""
    prefix = f"{shown.base}frames/{token}/"
    sources = f"{prefix} https:" if shown.allowed else prefix
    on = shown.scripts != "off"
    scripts = f"'unsafe-inline' 'unsafe-eval' blob: data: {sources}" if on else "'none'"
    return "; ".join(
        (
            "sandbox allow-scripts" if on else "sandbox",
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src 'unsafe-inline' blob: data: {sources}",
            f"img-src blob: data: {sources}",
            f"media-src blob: data: {sources}",
            f"font-src blob: data: {sources}",
            f"connect-src blob: data: {sources}",
            "worker-src blob: data:",
            f"frame-src {prefix}",
            f"base-uri {prefix}",
            "form-action 'none'",
        )
    )


def _path(request: Request, token: str) -> RelPath:
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    if raw.partition(b"?")[0].endswith(b"/"):
        below = raw.partition(b"?")[0].partition(f"/{token}/".encode())[2]
        return RelPath.from_url(below + b"index.html")
    return path_of(request, f"/{token}/".encode())


async def _answer(request: Request, file: BinaryIO, name: str, *, helped: bool) -> Response:
    ending = name.rpartition(".")[2].lower()
    if name.lower().endswith(_PAGES):
        return await run_sync(_page, file, _HELPER if helped else b"")
    response = await file_response.hand_out(request, file, name, inline=False)
    for header in _OURS:
        del response.headers[header]
    response.headers["Content-Type"] = _type(name, ending)
    return response


def _type(name: str, ending: str) -> str:
    guessed = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "text/plain" if guessed.startswith("text/html") else guessed


def _page(file: BinaryIO, helper: bytes) -> Response:
    """Return a page with the helper inserted at its beginning; the rest is streamed."""
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(_HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        if size > _RECODED:
            file.close()
            return _refusal("This page is too large for its encoding.", 413)
        head, charset, size = _recoded(head + file.read(_RECODED)), "utf-8", len(head)
    else:
        charset = _charset(head)
    bom = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    opening = _OPENING.match(head, bom)
    at = opening.end() if opening else bom
    first = head[:at] + helper + head[at:]
    media = "text/html" + (f"; charset={charset}" if charset else "")
    return StreamingResponse(_whole(first, file), media_type=media)


def _recoded(content: bytes) -> bytes:
    return content.decode("utf-16", "replace").encode("utf-8", "replace")


def _charset(head: bytes) -> str:
    """Return the charset; the helper may move its declaration out of scan range."""
    named = _CHARSET.search(head[:4096])
    if named and not head.startswith(b"\xef\xbb\xbf"):
        charset = named[1].decode()
        return charset if _CHARSETS.fullmatch(charset) else "utf-8"
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return "utf-8" if error.start > len(head) - 4 else ""
    return "utf-8"


async def _whole(first: bytes, file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        yield first
        while chunk := await run_sync(file.read, 256 * 1024):
            yield chunk


def _refusal(sentence: str, status: int) -> Response:
    headers = {
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Connection-Allowlist": _OFFLINE,
        "Access-Control-Allow-Origin": "null",
        "Cache-Control": "no-store",
    }
    return PlainTextResponse(sentence, status, headers)
