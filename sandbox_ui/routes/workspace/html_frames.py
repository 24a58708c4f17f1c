"""Framed HTML pages of a workspace: opaque origin, access to it only."""

import mimetypes
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from anyio.to_thread import run_sync
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from agent.errors import StudioError, WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.limits.body_limit import parse_body
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_path, get_run_id, json_response
from sandbox_ui.routes.workspace import frame_confinement
from sandbox_ui.routes.workspace.frame_tokens import FrameToken, FrameTokens, Scripts
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace import file_response

_DOCUMENTS = Path(__file__).parents[3] / "static" / "preview" / "documents"
_HELPER = b"<script>%b</script>" % (_DOCUMENTS / "frame_helper.js").read_bytes()
_HEAD = 64 * 1024
_MAX_RECODED_BYTES = 32 * 1024**2
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
# Content before the doctype stays in place; a script before it would cause quirks mode.
_DOCTYPE = re.compile(
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
_RESOURCE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
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
_REPLACED_HEADERS = ("content-disposition", "content-security-policy", "content-type")


class _FrameRequest(BaseModel):
    path: str
    base: str
    allow_external: bool = False
    scripts: Scripts = "off"
    step: int | None = None


class FrameRoutes(Routes):
    """Routes for framed pages."""

    def __init__(self, runs: RunManager) -> None:
        self._runs = runs
        self._tokens = FrameTokens()

    @property
    def routes(self) -> list[Route]:
        """Return the routes; a file's has the form of its own for errors."""
        file = Route("/frames/{token}/{path:any}", self.file, methods=["GET"])
        return [*super().routes, *frame_confinement.ROUTES, file]

    @at(f"{RUN_PATH}/frames", method="POST", permission="view")
    async def create(self, request: Request) -> Response:
        """Create a URL prefix, valid for an hour, for framing a page and its files.

        The body has the page's ``path``, the studio's ``base`` URL in this browser,
        ``allow_external``: whether other hosts are allowed, the mode of ``scripts``, and the
        ``step`` after which the files are read.
        """
        run = get_run_id(request)
        self._runs.folder(run)
        try:
            parse = partial(_FrameRequest.model_validate_json, await request.body())
            body = await parse_body(request, parse)
        except ValidationError:
            raise WorkspaceError("“path” and “base” are required.") from None
        page = RelPath.from_url(body.path)
        token = self._tokens.create(
            run, page, body.base,
            allow_external=body.allow_external, scripts=body.scripts, step=body.step,
        )  # fmt: skip
        return json_response({"prefix": f"frames/{token}/", "path": page.to_url()}, 201)

    async def file(self, request: Request) -> Response:
        """Return a workspace file, if the token in the URL permits it."""
        if request.headers.get("sec-fetch-dest") == "document":
            return _refusal("HTML files of a run are shown only inside the studio.", 403)
        token = request.path_params["token"]
        try:
            frame_token = self._tokens.verify(token)
            path = _path(request, token)
            if not frame_token.allows(path):
                raise WorkspaceError(
                    f"“{path.display}” is not available to an HTML file with access to other hosts."
                )
            file = await run_sync(self._runs.open_file, frame_token.run, path, frame_token.step)
        except StudioError as error:
            return _refusal(str(error), 404)
        with_helper = frame_token.scripts != "off"
        response = await _frame_response(
            request, file, RelPath(path.name).display, with_helper=with_helper
        )
        page = path.lower().endswith(_PAGE_SUFFIXES)
        response.headers["Content-Security-Policy"] = (
            frame_policy(frame_token, token) if page else _RESOURCE_POLICY
        )
        response.headers["Connection-Allowlist"] = (
            _SECURE_ONLY if frame_token.allow_external else _OFFLINE
        )
        response.headers["Access-Control-Allow-Origin"] = "null"
        response.headers["Cache-Control"] = "no-store"
        return response


def frame_policy(frame_token: FrameToken, token: str) -> str:
    """Return a page's CSP: load from its own prefix, and from HTTPS if allowed."""
    prefix = f"{frame_token.base}frames/{token}/"
    sources = f"{prefix} https:" if frame_token.allow_external else prefix
    scripts_on = frame_token.scripts != "off"
    scripts = f"'unsafe-inline' 'unsafe-eval' blob: data: {sources}" if scripts_on else "'none'"
    return "; ".join(
        (
            "sandbox allow-scripts" if scripts_on else "sandbox",
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
        path = raw.partition(b"?")[0].partition(f"/{token}/".encode())[2]
        return RelPath.from_url(path + b"index.html")
    return get_path(request, f"/{token}/".encode())


async def _frame_response(
    request: Request, file: BinaryIO, name: str, *, with_helper: bool
) -> Response:
    ending = name.rpartition(".")[2].lower()
    if name.lower().endswith(_PAGE_SUFFIXES):
        return await run_sync(_page_response, file, _HELPER if with_helper else b"")
    response = await file_response.serve_file(request, file, name, inline=False)
    for header in _REPLACED_HEADERS:
        del response.headers[header]
    response.headers["Content-Type"] = _media_type(name, ending)
    return response


def _media_type(name: str, ending: str) -> str:
    guessed = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "text/plain" if guessed.startswith("text/html") else guessed


def _page_response(file: BinaryIO, helper: bytes) -> Response:
    """Return a page with the helper inserted at its beginning; the rest is streamed."""
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(_HEAD)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        if size > _MAX_RECODED_BYTES:
            file.close()
            return _refusal("This page is too large to be converted to UTF-8.", 413)
        head, charset, size = _to_utf8(head + file.read(_MAX_RECODED_BYTES)), "utf-8", len(head)
    else:
        charset = _charset(head)
    bom = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    doctype = _DOCTYPE.match(head, bom)
    position = doctype.end() if doctype else bom
    first = head[:position] + helper + head[position:]
    media = "text/html" + (f"; charset={charset}" if charset else "")
    return StreamingResponse(_stream(first, file), media_type=media)


def _to_utf8(content: bytes) -> bytes:
    return content.decode("utf-16", "replace").encode("utf-8", "replace")


def _charset(head: bytes) -> str:
    """Return the charset; the helper may move its declaration out of scan range."""
    declaration = _CHARSET.search(head[:4096])
    if declaration and not head.startswith(b"\xef\xbb\xbf"):
        charset = declaration[1].decode()
        return charset if _CHARSETS.fullmatch(charset) else "utf-8"
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return "utf-8" if error.start > len(head) - 4 else ""
    return "utf-8"


async def _stream(first: bytes, file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        yield first
        while chunk := await run_sync(file.read, 256 * 1024):
            yield chunk


def _refusal(message: str, status: int) -> Response:
    headers = {
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Connection-Allowlist": _OFFLINE,
        "Access-Control-Allow-Origin": "null",
        "Cache-Control": "no-store",
    }
    return PlainTextResponse(message, status, headers)
