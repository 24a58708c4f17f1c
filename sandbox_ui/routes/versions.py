"""What the steps did to the files, and which of them there are to show, over HTTP."""

import json
from functools import partial

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import WorkspaceError
from agent.workspace.paths import RelPath
from sandbox_ui.differences import Difference, Differences
from sandbox_ui.naming import named
from sandbox_ui.people.access import access_of
from sandbox_ui.preview.kinds import COMPARED
from sandbox_ui.preview.workshop import Workshop
from sandbox_ui.results import results
from sandbox_ui.routes.serving import RUN, as_json, path_of, route, run_of, step_of
from sandbox_ui.runs import Runs

_OURS = {"step", "v"}
_LARGEST = 256 * 1024


class VersionRoutes:
    """The routes of the files' versions; a file as it was is had by ``step`` of its own.

    Args:
        runs: The runs.
        workshop: What looks at the files.
    """

    def __init__(self, runs: Runs, workshop: Workshop) -> None:
        self._runs = runs
        self._differences = Differences(workshop)
        self._turns = workshop.turns

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(f"{RUN}/difference/{{path:any}}", self.difference),
            route(f"{RUN}/results", self.results),
            route(f"{RUN}/named", self.named, "POST", needs="see"),
        ]

    async def results(self, request: Request) -> Response:
        """What the run made and was given; see ``sandbox_ui.results``."""
        run = run_of(request)
        workspace, past = self._runs.workspace(run), self._runs.past(run)
        return as_json(await run_sync(results, workspace, past))

    async def named(self, request: Request) -> Response:
        """Which of the words in the body, a JSON list, name files; see ``sandbox_ui.naming``."""
        workspace = self._runs.workspace(run_of(request))
        words = _words(await _body(request))
        return as_json({"named": await run_sync(named, workspace, words)})

    async def difference(self, request: Request) -> Response:
        """How ``step``, or else the last step that did, changed a path.

        The answer is that of a view: ``kind``, ``size``, ``error`` and ``view``, which holds
        the path ``before`` and ``after`` the step, what is shown (``shows``: ``text``,
        ``pictures`` or ``facts``), ``why`` no more is, and the ``text``'s rows, as
        ``sandbox_ui.preview.difference`` describes them.
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
