"""Routes for shared links to a run."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.errors import RunError
from sandbox_ui.auth import share_links
from sandbox_ui.auth.identity import House
from sandbox_ui.routes.helpers import RUN, as_json, route, run_of
from sandbox_ui.runs.manager import Runs

_GONE = "This link shows nothing any more. Ask whoever sent it for a new one."


class LinkRoutes:
    """Routes for shared links.

    Args:
        runs: The live runs.
        house: The identities of the studio; its cookies store the opened links.
    """

    def __init__(self, runs: Runs, house: House) -> None:
        self._runs = runs
        self._house = house

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route(f"{RUN}/links", self.make, "POST"),
            route(f"{RUN}/links", self.end, "DELETE"),
            route(f"{RUN}/links", self.count, needs="change"),
            route("/shared/{token}", self.open),
        ]

    async def make(self, request: Request) -> Response:
        """Create a link, relative to the studio's URL: ``{"path": "shared/…"}``."""
        token = await run_sync(share_links.make, self._runs.folder(run_of(request)))
        return as_json({"path": f"shared/{token}"}, 201)

    async def end(self, request: Request) -> Response:
        """Revoke all links of the run; current viewers lose access within seconds."""
        folder = self._runs.folder(run_of(request))
        await run_sync(share_links.end, folder)
        self._runs.feed(folder.id).wake()
        return Response(status_code=204)

    async def count(self, request: Request) -> Response:
        """Return the number of the run's links."""
        return as_json({"links": len(self._runs.folder(run_of(request)).shares)})

    async def open(self, request: Request) -> Response:
        """Store the link in the browser's cookie, and redirect to the run."""
        token = request.path_params["token"]
        run = share_links.run_of(token)
        try:
            shown = share_links.opens(token, await run_sync(self._runs.folder, run))
        except RunError:
            shown = False
        if not shown:
            return PlainTextResponse(_GONE, 404)
        cookie = self._house.cookies.link(request, token)
        return RedirectResponse(f"../?run={run}", 303, {"Set-Cookie": cookie})
