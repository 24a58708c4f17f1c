"""Routes for file versions: changes per step, input and output files, path links."""

import json
from functools import partial

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.auth.access import access_of
from sandbox_ui.preview.kinds import COMPARED
from sandbox_ui.preview.service import Workshop
from sandbox_ui.routes.helpers import RUN, as_json, path_of, route, run_of, step_of
from sandbox_ui.runs.manager import Runs
from sandbox_ui.workspace.outputs import results
from sandbox_ui.workspace.path_links import named
from sandbox_ui.workspace.step_diff import Difference, Differences

_OURS = {"step", "v"}
_LARGEST = 256 * 1024


class VersionRoutes:
    """Routes for file versions; the files route returns a file as of a ``step``.

    Args:
        runs: The live runs.
        workshop: Compares the files.
    """

    def __init__(self, runs: Runs, workshop: Workshop) -> None:
        self._runs = runs
        self._differences = Differences(workshop)
        self._turns = workshop.turns

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN}/difference/{{path:any}}", self.difference),
            route(f"{RUN}/results", self.results),
            route(f"{RUN}/named", self.named, "POST", needs="see"),
        ]

    async def results(self, request: Request) -> Response:
        """Return the run's input and output files; see ``sandbox_ui.workspace.outputs``."""
        run = run_of(request)
        workspace, past = self._runs.workspace(run), self._runs.past(run)
        return as_json(await run_sync(results, workspace, past))

    async def named(self, request: Request) -> Response:
        """Return which words of the body, a JSON list, name files; see ``path_links``."""
        workspace = self._runs.workspace(run_of(request))
        words = _words(await _body(request))
        return as_json({"named": await run_sync(named, workspace, words)})

    async def difference(self, request: Request) -> Response:
        """Return the change to a path by ``step``, or by the last step that changed it.

        The response is like a preview's: ``kind``, ``size``, ``error`` and ``view``. The view has
        the path ``before`` and ``after`` the step, what is displayed (``shows``: ``text``,
        ``pictures`` or ``facts``), the reason ``why`` nothing more is, and the ``text``'s rows as
        described in ``sandbox_ui.preview.diff.text_diff``.
        """
        path = path_of(request, b"/difference/")
        past = await run_sync(self._runs.past, run_of(request))
        options = {key: each for key, each in request.query_params.items() if key not in _OURS}
        look = partial(self._differences.of, past, path, step_of(request), options)
        found = await self._turns.take(access_of(request).who, look)
        headers = {"Cache-Control": "no-store"}
        return Response(_described(found, path), headers=headers, media_type="application/json")


def _described(found: Difference, path: RelPath) -> bytes:
    size = (found.after or found.before or {}).get("size", 0)
    about = {"kind": COMPARED, "named": RelPath(path.name).shown, "size": size, "error": ""}
    names = ("path", "step", "before", "after", "shows", "why")
    view = to_json({name: getattr(found, name) for name in names})
    return to_json(about)[:-1] + b',"view":' + view[:-1] + b',"text":' + found.text + b"}}"


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise WorkspaceError("These are too many words to be looked up at once.")
    return body


def _words(body: bytes) -> list[str]:
    try:
        words = json.loads(body)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise WorkspaceError("A list of words is wanted, as JSON.")
    return words
