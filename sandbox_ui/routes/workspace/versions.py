"""Routes for file versions: changes per step, input and output files, path links."""

import json
from dataclasses import dataclass
from functools import partial

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from agent.errors import WorkspaceError
from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.body_limit import parse_body
from sandbox_ui.preview.kinds import DIFFERENCE, RENDERED
from sandbox_ui.preview.service import PreviewService
from sandbox_ui.routes.helpers import (
    RUN_PATH,
    Routes,
    at,
    get_path,
    get_run_id,
    get_step,
    json_response,
)
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.workspace.outputs import list_results
from sandbox_ui.workspace.past_listing import version_rows
from sandbox_ui.workspace.path_links import find_linked_files
from sandbox_ui.workspace.pictures import list_pictures
from sandbox_ui.workspace.step_diff import Difference, compare


@dataclass(frozen=True)
class VersionRoutes(Routes):
    """Routes for file versions; the files route returns a file as of a ``step``."""

    _runs: RunManager
    _previews: PreviewService

    @at(f"{RUN_PATH}/versions/{{path:any}}")
    def versions(self, request: Request) -> Response:
        """Return the versions of a path, newest first; see ``past_listing.version_rows``."""
        path = get_path(request, b"/versions/")
        return json_response(version_rows(self._runs.file_versions(get_run_id(request)), path))

    @at(f"{RUN_PATH}/results")
    def results(self, request: Request) -> Response:
        """Return the run's input and output files; see ``sandbox_ui.workspace.outputs``."""
        run = get_run_id(request)
        versions = self._runs.file_versions(run)
        return json_response(list_results(self._runs.workspace(run), versions))

    @at(f"{RUN_PATH}/pictures")
    def pictures(self, request: Request) -> Response:
        """Return the pictures among the run's files; see ``sandbox_ui.workspace.pictures``."""
        return json_response(list_pictures(self._runs.file_versions(get_run_id(request))))

    @at(f"{RUN_PATH}/file-links", method="POST", permission="view")
    async def file_links(self, request: Request) -> Response:
        """Return the paths of the files that words name; the body is a JSON list of words."""
        workspace = self._runs.workspace(get_run_id(request))
        words = await parse_body(request, partial(_parse_words, await request.body()))
        return json_response({"paths": await run_sync(find_linked_files, workspace, words)})

    @at(f"{RUN_PATH}/difference/{{path:any}}")
    async def difference(self, request: Request) -> Response:
        """Return the change to a path by ``step``, or by the last step that changed it.

        With ``base``, return the change from the version after that earlier step.

        The response is like a preview's: ``kind``, ``size``, ``error`` and ``view``. The view has
        the path ``before`` and ``after`` the step, what to ``display`` (``text``,
        ``images`` or ``metadata``), the ``reason`` if that is only metadata, and the ``text``
        ``before`` and ``after``, as described in ``sandbox_ui.preview.text.versions``.
        """
        path = get_path(request, b"/difference/")
        versions = await run_sync(self._runs.file_versions, get_run_id(request))
        base = get_step(request, "base")
        job = partial(compare, self._previews, versions, path, get_step(request), base)
        difference = await self._previews.limiter.run(get_access(request).limiter_key, job)
        headers = {"Cache-Control": "no-store"}
        return Response(_to_json(difference), headers=headers, media_type="application/json")


def _to_json(difference: Difference) -> bytes:
    size = (difference.after or difference.before or {}).get("size", 0)
    head = {"kind": DIFFERENCE, "page": RENDERED[DIFFERENCE].page, "size": size, "error": ""}
    names = ("path", "step", "base", "before", "after", "display", "reason")
    view = to_json({name: getattr(difference, name) for name in names})
    return to_json(head)[:-1] + b',"view":' + view[:-1] + b',"text":' + difference.text + b"}}"


def _parse_words(body: bytes) -> list[str]:
    try:
        words = json.loads(body)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise WorkspaceError("The request body must be a JSON list of words.")
    return words
