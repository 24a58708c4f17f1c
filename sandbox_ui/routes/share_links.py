"""Routes for shared links to a run."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.errors import RunError
from sandbox_ui.auth import share_links
from sandbox_ui.auth.identity import Identities
from sandbox_ui.routes.helpers import RUN_PATH, get_run_id, json_response, route
from sandbox_ui.runs.manager import RunManager

_INVALID_LINK_MESSAGE = "This link is no longer valid. Ask the sender for a new one."


class ShareLinkRoutes:
    """Routes for shared links.

    Args:
        runs: The live runs.
        identities: The identities of the studio; its cookies store the opened links.
    """

    def __init__(self, runs: RunManager, identities: Identities) -> None:
        self._runs = runs
        self._identities = identities

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN_PATH}/links", self.create, "POST"),
            route(f"{RUN_PATH}/links", self.revoke_all, "DELETE"),
            route(f"{RUN_PATH}/links", self.count, permission="edit"),
            route("/shared/{token}", self.open),
        ]

    async def create(self, request: Request) -> Response:
        """Create a link, relative to the studio's URL: ``{"path": "shared/…"}``."""
        token = await run_sync(share_links.create, self._runs.folder(get_run_id(request)))
        return json_response({"path": f"shared/{token}"}, 201)

    async def revoke_all(self, request: Request) -> Response:
        """Revoke all links of the run; current viewers lose access within seconds."""
        folder = self._runs.folder(get_run_id(request))
        await run_sync(share_links.revoke_all, folder)
        self._runs.feed(folder.id).notify()
        return Response(status_code=204)

    async def count(self, request: Request) -> Response:
        """Return the number of the run's links."""
        return json_response(
            {"links": len(self._runs.folder(get_run_id(request)).share_link_digests)}
        )

    async def open(self, request: Request) -> Response:
        """Store the link in the browser's cookie, and redirect to the run."""
        token = request.path_params["token"]
        run = share_links.run_id_of(token)
        try:
            valid = share_links.is_valid(token, await run_sync(self._runs.folder, run))
        except RunError:
            valid = False
        if not valid:
            return PlainTextResponse(_INVALID_LINK_MESSAGE, 404)
        cookie = self._identities.cookies.link_cookie(request, token)
        return RedirectResponse(f"../?run={run}", 303, {"Set-Cookie": cookie})
