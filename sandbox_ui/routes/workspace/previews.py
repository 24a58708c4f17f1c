"""Routes for previews: a file's kind and its preview data."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import access_of
from sandbox_ui.preview.base import Ask
from sandbox_ui.preview.kinds import HEAD, KINDS, kind_of
from sandbox_ui.preview.service import Workshop
from sandbox_ui.routes.helpers import RUN, path_of, route, run_of, step_of
from sandbox_ui.runs.manager import Runs

_PAGE = Path(__file__).parents[3] / "static" / "pages" / "file_tab.html"
_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_KEPT = "private, max-age=3600"
_OURS = {"as", "v", "step"}


@dataclass(frozen=True, slots=True)
class _Seen:
    kind: str
    named: str
    size: int
    content: bytes = b"null"
    media: str = ""
    error: str = ""


class Views:
    """Routes for previews.

    Args:
        runs: The live runs.
        workshop: Creates the previews.
    """

    def __init__(self, runs: Runs, workshop: Workshop) -> None:
        self._runs = runs
        self._workshop = workshop

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route(f"{RUN}/view/{{path:any}}", self.view), route("/look", self.page)]

    async def page(self, _request: Request) -> Response:
        """Return the page that displays a single file."""
        return FileResponse(_PAGE, headers={"Cache-Control": "no-store"})

    async def view(self, request: Request) -> Response:
        """Return a file's preview.

        Query parameters: ``as``: a kind to use instead of the detected one; ``step``: the step
        after which to read the file; ``v``: the file's version as known to the page, which makes
        the response cacheable; others are options of the kind.
        The response is an image, or JSON with ``kind``, ``size``, ``view``, and ``error`` (a
        message) if there is no preview.
        """
        path = path_of(request, b"/view/")
        options = dict(request.query_params)
        look = partial(self._seen, run_of(request), path, step_of(request), options)
        seen = await self._workshop.turns.take(access_of(request).who, look)
        headers = {
            "Cache-Control": _KEPT if options.get("v") and not seen.error else "no-store",
            "Content-Security-Policy": _POLICY,
        }
        if seen.media:
            return Response(seen.content, headers=headers, media_type=seen.media)
        return Response(_described(seen), headers=headers, media_type="application/json")

    def _seen(self, run: str, path: RelPath, step: int | None, options: dict[str, str]) -> _Seen:
        name = RelPath(path.name).shown
        with self._runs.open_file(run, path, step) as file:
            size = file.seek(0, 2)
            file.seek(0)
            named = kind_of(name, file.read(HEAD))
            kind = options.get("as", named)
            kind = kind if kind in KINDS else named
            asked = {key: value for key, value in options.items() if key not in _OURS}
            try:
                look = self._workshop.look(kind, file, Ask(name, size, asked))
            except WorkspaceError as error:
                return _Seen(kind, named, size, error=str(error))
            return _Seen(kind, named, size, look.content, look.media)


def _described(seen: _Seen) -> bytes:
    """Return the response as JSON; the view is already JSON and is not parsed again."""
    about = {"kind": seen.kind, "named": seen.named, "size": seen.size, "error": seen.error}
    return to_json(about)[:-1] + b',"view":' + seen.content + b"}"
