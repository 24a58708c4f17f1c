"""Route for document statistics: pages, words, tokens when used in a prompt."""

from collections import OrderedDict
from functools import partial
from typing import Any, BinaryIO

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent.documents.text import NoText, extract_text
from agent.errors import WorkspaceError
from agent.util.charset.guess import encoding_label
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import get_access
from sandbox_ui.routes.helpers import RUN_PATH, Routes, at, get_path, get_run_id
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.limiter import PerUserLimiter
from sandbox_ui.workspace.file_response import etag_of

_MAX_CACHED = 512
_PREFIX = "/document-info/"
_MAX_CONCURRENT, _MAX_PER_USER = 3, 2


class DocumentInfoRoutes(Routes):
    """Route for document statistics."""

    def __init__(self, runs: RunManager) -> None:
        self._runs = runs
        self._cache: OrderedDict[tuple[str, ...], dict[str, Any]] = OrderedDict()
        self._limiter = PerUserLimiter(_MAX_CONCURRENT, _MAX_PER_USER)

    @at(f"{RUN_PATH}{_PREFIX}{{path:any}}")
    async def statistics(self, request: Request) -> Response:
        """Return ``pages``, ``words``, ``tokens``, ``characters``; null and a ``reason``.

        A scan has ``pages``, too.

        ``assumed_encoding`` is that of a text too short to tell it, else empty.

        A missing file is not an error, since the page may request one that was just deleted.
        """
        run, path = get_run_id(request), get_path(request, _PREFIX.encode())
        count = partial(self._cached_statistics, run, path)
        return JSONResponse(await self._limiter.run(get_access(request).limiter_key, count))

    def _cached_statistics(self, run: str, path: RelPath) -> dict[str, Any]:
        try:
            document = self._runs.workspace(run).open_read(path)
        except WorkspaceError as error:
            return _no_statistics(error)
        with document as file:
            key = (run, path, etag_of(file))
            if key not in self._cache:
                self._cache[key] = document_statistics(file, RelPath(path.name).display)
                while len(self._cache) > _MAX_CACHED:
                    self._cache.popitem(last=False)
            return self._cache[key]


def document_statistics(file: BinaryIO, name: str) -> dict[str, Any]:
    """Return the statistics of an open document."""
    try:
        document = extract_text(file, name)
    except NoText as error:
        return _no_statistics(error) | {"pages": error.pages}
    except WorkspaceError as error:
        return _no_statistics(error)
    return {
        "pages": document.pages,
        "words": document.words,
        "tokens": document.tokens,
        "characters": len(document.text),
        "assumed_encoding": encoding_label(document.assumed_encoding).upper(),
        "reason": "",
    }


def _no_statistics(error: WorkspaceError) -> dict[str, Any]:
    return {**dict.fromkeys(("pages", "words", "tokens", "characters")), "reason": str(error)}
