"""What the page sees of a file: its kind, and what the kind's preview says of it."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.people.access import access_of
from sandbox_ui.preview.base import Ask
from sandbox_ui.preview.kinds import HEAD, KINDS, kind_of
from sandbox_ui.preview.workshop import Workshop
from sandbox_ui.routes.serving import RUN, path_of, route, run_of, step_of
from sandbox_ui.runs import Runs

_PAGE = Path(__file__).parents[2] / "static" / "look.html"
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
    """The routes of the previews.

    Args:
        runs: The runs.
        workshop: What looks at the files.
    """

    def __init__(self, runs: Runs, workshop: Workshop) -> None:
        self._runs = runs
        self._workshop = workshop

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [route(f"{RUN}/view/{{path:any}}", self.view), route("/look", self.page)]

    async def page(self, _request: Request) -> Response:
        """A page with nothing but one file on it."""
        return FileResponse(_PAGE, headers={"Cache-Control": "no-store"})

    async def view(self, request: Request) -> Response:
        """A look at a file.

        ``as`` asks for a kind instead of the one found; ``step`` for the file as it was after
        that step; ``v`` is the file's version as the page knows it, and lets the browser keep
        the answer; the rest are the kind's options.
        The answer is a picture, or JSON: ``kind``, ``size``, ``view``, and ``error`` (a
        sentence) where there is nothing to be shown.
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
    """The answer as JSON; what a kind said is JSON already and is not read again."""
    about = {"kind": seen.kind, "named": seen.named, "size": seen.size, "error": seen.error}
    return to_json(about)[:-1] + b',"view":' + seen.content + b"}"
