"""Routes for previews: a file's kind and its preview data."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import get_access
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.kinds import HEAD_BYTES, KINDS, kind_of
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_path, get_run_id, get_step
from sandbox_ui.runs.manager import RunManager

_PAGE = Path(__file__).parents[3] / "static" / "pages" / "file_tab.html"
_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_CACHEABLE = "private, max-age=3600"
_RESERVED_OPTIONS = {"as", "v", "step", "password", "languages"}
_PASSWORD_HEADER = "x-document-password"
_MAX_PASSWORD_LENGTH = 1000
_MAX_LANGUAGES = 5


@dataclass(frozen=True, slots=True)
class _Preview:
    kind: str
    detected_kind: str
    size: int
    content: bytes = b"null"
    media_type: str = ""
    error: str = ""

    def is_fixed(self, version: str) -> bool:
        """Whether it depends on this version of the file only, and not on a second file."""
        return bool(version) and not self.error and not KINDS[self.kind].companion


@dataclass(frozen=True)
class PreviewRoutes(Routes):
    """Routes for previews."""

    _runs: RunManager
    _previews: PreviewService

    @at("/look")
    async def page(self, _request: Request) -> Response:
        """Return the page that displays a single file."""
        return FileResponse(_PAGE, headers={"Cache-Control": "no-store"})

    @at(f"{RUN_PATH}/view/{{path:any}}")
    async def view(self, request: Request) -> Response:
        """Return a file's preview.

        Query parameters: ``as``: a kind to use instead of the detected one; ``step``: the step
        after which to read the file; ``v``: the file's version as known to the page, which makes
        the response cacheable; others are options of the kind. The header ``X-Document-Password``
        is the percent-encoded password of a document, which an address in a log must not show.
        The response is an image, or JSON with ``kind``, the ``page`` module that shows it, the name
        of the ``rendered`` view beside the source, ``size``, ``view``, and ``error`` (a message) if
        there is no preview.
        """
        path = get_path(request, b"/view/")
        options = dict(request.query_params)
        known = dict(_options_from_headers(request))
        render = partial(self._render, get_run_id(request), path, get_step(request), options, known)
        preview = await self._previews.limiter.run(get_access(request).limiter_key, render)
        headers = {
            "Cache-Control": "no-store"
            if "password" in known or not preview.is_fixed(options.get("v", ""))
            else _CACHEABLE,
            "Content-Security-Policy": _POLICY,
        }
        if preview.media_type:
            return Response(preview.content, headers=headers, media_type=preview.media_type)
        return Response(_to_json(preview), headers=headers, media_type="application/json")

    def _render(
        self,
        run: str,
        path: RelPath,
        step: int | None,
        options: dict[str, str],
        known: dict[str, str],
    ) -> _Preview:
        name = RelPath(path.name).display
        with self._runs.open_file(run, path, step) as file:
            size = file.seek(0, 2)
            file.seek(0)
            detected_kind = kind_of(name, file.read(HEAD_BYTES))
            kind = options.get("as", detected_kind)
            kind = kind if kind in KINDS else detected_kind
            kind_options = {
                key: value for key, value in options.items() if key not in _RESERVED_OPTIONS
            }
            kind_options |= {key: known[key] for key in KINDS[kind].headers if key in known}
            try:
                with ExitStack() as files:
                    second = self._open_companion(run, path, KINDS[kind].companion, step, files)
                    asked = PreviewRequest(name, size, kind_options, second)
                    result = self._previews.render(kind, file, asked)
            except WorkspaceError as error:
                return _Preview(kind, detected_kind, size, error=str(error))
            return _Preview(kind, detected_kind, size, result.content, result.media_type)

    def _open_companion(
        self, run: str, path: RelPath, suffix: str, step: int | None, files: ExitStack
    ) -> BinaryIO | None:
        """Open the second file of a kind; None if there is none."""
        if not suffix:
            return None
        try:
            file = self._runs.open_file(run, RelPath(f"{path}{suffix}"), step)
            return files.enter_context(file)
        except WorkspaceError:
            return None


def _options_from_headers(request: Request) -> Iterator[tuple[str, str]]:
    """Yield options that are not in the address: a password, and the reader's languages."""
    password = request.headers.get(_PASSWORD_HEADER, "")
    if password:
        yield "password", unquote(password)[:_MAX_PASSWORD_LENGTH]
    accepted = request.headers.get("accept-language", "").split(",")[:_MAX_LANGUAGES]
    yield "languages", " ".join(each.partition(";")[0].strip()[:20] for each in accepted)


def _to_json(preview: _Preview) -> bytes:
    """Return the response as JSON; the view is already JSON and is not parsed again."""
    head = {
        "kind": preview.kind,
        "page": KINDS[preview.kind].page,
        "rendered": KINDS[preview.detected_kind].rendered,
        "size": preview.size,
        "error": preview.error,
    }
    return to_json(head)[:-1] + b',"view":' + preview.content + b"}"
