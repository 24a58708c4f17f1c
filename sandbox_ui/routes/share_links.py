"""Routes for shared links to a run, a comparison or an evaluation."""

from contextlib import suppress

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from agent.errors import RunError
from sandbox_ui.auth import share_links
from sandbox_ui.auth.identity import Identities
from sandbox_ui.auth.share_links import Shareable
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.routes.helpers import (
    EXPERIMENT_PATHS,
    RUN_PATH,
    Routes,
    at,
    get_run_id,
    json_response,
)
from sandbox_ui.runs.manager import RunManager

_INVALID_LINK_MESSAGE = "This link is no longer valid. Ask the sender for a new one."
_LINKS = [f"{path}/links" for path in (RUN_PATH, *EXPERIMENT_PATHS)]
_PARAMETERS = {"comparison": "compare", "evaluation": "evaluation"}


class ShareLinkRoutes(Routes):
    """Routes for shared links; the cookies of ``identities`` store those that were opened."""

    def __init__(
        self, runs: RunManager, experiments: ExperimentManager, identities: Identities
    ) -> None:
        self._runs = runs
        self._experiments = experiments
        self._identities = identities

    @at(*_LINKS, method="POST")
    async def create(self, request: Request) -> Response:
        """Create a link, relative to the studio's URL: ``{"path": "shared/…"}``."""
        token = await run_sync(share_links.create, await run_sync(self._folder, request))
        return json_response({"path": f"shared/{token}"}, 201)

    @at(*_LINKS, method="DELETE")
    async def revoke_all(self, request: Request) -> Response:
        """Revoke all links; viewers lose access within seconds."""
        folder = await run_sync(self._folder, request)
        await run_sync(share_links.revoke_all, folder)
        if "run" in request.path_params:
            self._runs.feed(folder.id).notify()
        else:
            self._experiments.registry.get(folder.id).notify()
        return Response(status_code=204)

    @at(*_LINKS, permission="edit")
    async def count(self, request: Request) -> Response:
        """Return the number of links."""
        folder = await run_sync(self._folder, request)
        return json_response({"links": len(folder.share_link_digests)})

    @at("/shared/{token}")
    async def open(self, request: Request) -> Response:
        """Store the link in the browser's cookie, and redirect to what it shows."""
        query = await run_sync(self._query_for, request.path_params["token"])
        if not query:
            return PlainTextResponse(_INVALID_LINK_MESSAGE, 404)
        cookie = self._identities.cookies.link_cookie(request, request.path_params["token"])
        return RedirectResponse(f"../?{query}", 303, {"Set-Cookie": cookie})

    def _folder(self, request: Request) -> Shareable:
        if "run" in request.path_params:
            return self._runs.folder(get_run_id(request))
        return self._experiments.registry.folder(request.path_params["experiment"])

    def _query_for(self, token: str) -> str:
        """Return the page's query for a token; empty if the token is not valid."""
        shared = share_links.id_of(token)
        with suppress(RunError):
            if share_links.is_valid(token, self._runs.folder(shared)):
                return f"run={shared}"
        with suppress(RunError):
            folder = self._experiments.registry.folder(shared)
            if share_links.is_valid(token, folder):
                return f"{_PARAMETERS[folder.kind]}={shared}"
        return ""
