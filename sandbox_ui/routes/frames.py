"""Pages of a workspace in a frame: an origin of nobody's, and a door to the workspace only."""

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
from sandbox_ui import transfers
from sandbox_ui.routes.passes import Pass, Passes
from sandbox_ui.routes.serving import RUN, as_json, path_of, route, run_of
from sandbox_ui.runs import Runs

_HELPER = (Path(__file__).parents[2] / "static" / "preview" / "inside.js").read_bytes()
_HEAD = 64 * 1024
_RECODED = 32 * 1024**2
_PAGES = (".html", ".htm", ".xhtml")
# What stands before the doctype may stay there; a script before it would mean quirks mode.
_OPENING = re.compile(
    rb"\s*(?:(?:<!--(?!-?>)(?>(?:(?!--!>).){0,4000}?-->)|<\?[^>]{0,400}>)\s*)*+<!doctype[^>]{0,400}>",
    re.I | re.S,
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]+)""", re.I)
# Our helper comes first in a page; an encoding with a memory could make it unreadable.
_CHARSETS = re.compile(
    r"utf-?8|us-ascii|ascii|latin-?1|iso-8859-\d+|windows-\d+|cp125\d|koi8-[ru]|macintosh"
    r"|shift_jis|euc-(?:jp|kr)|gbk|gb2312|gb18030|big5",
    re.I,
)
# What is no page runs no script where it is opened as one: it has no helper.
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
_OURS = ("content-disposition", "content-security-policy", "content-type")


class _Wanted(BaseModel):
    path: str
    base: str
    allowed: bool = False
    step: int | None = None


class Frames:
    """The routes of the frames.

    Args:
        runs: The runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._passes = Passes()

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(f"{RUN}/frames", self.make, "POST", needs="see"),
            Route("/frames/{token}/{path:any}", self.file, methods=["GET"]),
        ]

    async def make(self, request: Request) -> Response:
        """An address at which a frame finds a page and what lies beside it, for an hour.

        The body names the page's ``path``, the ``base`` of the studio in this browser,
        whether the outside is ``allowed``, and the ``step`` after which it is looked at.
        """
        run = run_of(request)
        self._runs.folder(run)
        try:
            wanted = _Wanted.model_validate_json(await request.body())
        except ValidationError:
            raise WorkspaceError("“path” and “base” are needed.") from None
        page = RelPath.from_url(wanted.path)
        token = self._passes.make(run, page, wanted.base, allowed=wanted.allowed, step=wanted.step)
        return as_json({"prefix": f"frames/{token}/", "path": page.to_url()}, 201)

    async def file(self, request: Request) -> Response:
        """A file of the workspace, as the pass in the address lets a frame read it."""
        if request.headers.get("sec-fetch-dest") == "document":
            return _refusal("A page of a run is shown inside the studio only.", 403)
        token = request.path_params["token"]
        try:
            shown = self._passes.read(token)
            path = _path(request, token)
            if not shown.opens(path):
                raise WorkspaceError(
                    f"“{path.shown}” is kept from a page that reaches the outside."
                )
            file = await run_sync(self._runs.open_file, shown.run, path, shown.step)
        except StudioError as error:
            return _refusal(str(error), 404)
        response = await _answer(request, file, RelPath(path.name).shown)
        page = path.lower().endswith(_PAGES)
        response.headers["Content-Security-Policy"] = policy(shown, token) if page else _STILL
        response.headers["Access-Control-Allow-Origin"] = "null"
        response.headers["Cache-Control"] = "no-store"
        return response


def policy(shown: Pass, token: str) -> str:
    """What a page may do, run and load: its own prefix, and secure addresses where allowed."""
    prefix = f"{shown.base}frames/{token}/"
    sources = f"{prefix} https:" if shown.allowed else prefix
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            f"script-src 'unsafe-inline' 'unsafe-eval' blob: data: {sources}",
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


async def _answer(request: Request, file: BinaryIO, name: str) -> Response:
    ending = name.rpartition(".")[2].lower()
    if name.lower().endswith(_PAGES):
        return await run_sync(_page, file)
    response = await transfers.hand_out(request, file, name, inline=False)
    for header in _OURS:
        del response.headers[header]
    response.headers["Content-Type"] = _type(name, ending)
    return response


def _type(name: str, ending: str) -> str:
    guessed = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "text/plain" if guessed.startswith("text/html") else guessed


def _page(file: BinaryIO) -> Response:
    """A page with our helper at its beginning; what follows is sent as it is read."""
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
    first = head[:at] + b"<script>" + _HELPER + b"</script>" + head[at:]
    media = "text/html" + (f"; charset={charset}" if charset else "")
    return StreamingResponse(_whole(first, file), media_type=media)


def _recoded(content: bytes) -> bytes:
    return content.decode("utf-16", "replace").encode("utf-8", "replace")


def _charset(head: bytes) -> str:
    """The encoding, which our helper may have pushed out of where a browser looks for it."""
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
        "Access-Control-Allow-Origin": "null",
        "Cache-Control": "no-store",
    }
    return PlainTextResponse(sentence, status, headers)
