"""Route for document statistics: pages, words, tokens when used in a prompt."""

from collections import OrderedDict
from functools import partial
from typing import Any, BinaryIO

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.documents.text import text_of
from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import access_of
from sandbox_ui.routes.helpers import RUN, path_of, route, run_of
from sandbox_ui.runs.manager import Runs
from sandbox_ui.scheduling.limiter import Turns
from sandbox_ui.workspace.file_response import etag_of

_KEPT = 512
_AT_ONCE, _EACH = 3, 2


class About:
    """Route for document statistics.

    Args:
        runs: The live runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._known: OrderedDict[tuple[str, ...], dict[str, Any]] = OrderedDict()
        self._turns = Turns(_AT_ONCE, _EACH)

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route(f"{RUN}/about/{{path:any}}", self.about)]

    async def about(self, request: Request) -> Response:
        """Return ``pages``, ``words``, ``tokens``, ``characters``; null and a ``why``.

        A missing file is not an error, since the page may request one that was just deleted.
        """
        run, path = run_of(request), path_of(request, b"/about/")
        count = partial(self._of, run, path)
        return JSONResponse(await self._turns.take(access_of(request).who, count))

    def _of(self, run: str, path: RelPath) -> dict[str, Any]:
        try:
            opened = self._runs.workspace(run).open_read(path)
        except WorkspaceError as error:
            return _nothing(error)
        with opened as file:
            key = (run, path, etag_of(file))
            if key not in self._known:
                self._known[key] = counted(file, RelPath(path.name).shown)
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return self._known[key]


def counted(file: BinaryIO, name: str) -> dict[str, Any]:
    """Return the statistics of an open document."""
    try:
        document = text_of(file, name)
    except WorkspaceError as error:
        return _nothing(error)
    return {
        "pages": document.pages,
        "words": document.words,
        "tokens": document.tokens,
        "characters": len(document.text),
        "why": "",
    }


def _nothing(error: WorkspaceError) -> dict[str, Any]:
    return {**dict.fromkeys(("pages", "words", "tokens", "characters")), "why": str(error)}
