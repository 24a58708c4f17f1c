"""Links that show a run to others."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.errors import RunError
from sandbox_ui.people import links
from sandbox_ui.people.house import House
from sandbox_ui.routes.serving import RUN, as_json, route, run_of
from sandbox_ui.runs import Runs

_GONE = "This link shows nothing any more. Ask whoever sent it for a new one."


class LinkRoutes:
    """The routes of the links.

    Args:
        runs: The runs.
        house: What the browser is given to show.
    """

    def __init__(self, runs: Runs, house: House) -> None:
        self._runs = runs
        self._house = house

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [
            route(f"{RUN}/links", self.make, "POST"),
            route(f"{RUN}/links", self.end, "DELETE"),
            route(f"{RUN}/links", self.count, needs="change"),
            route("/shared/{token}", self.open),
        ]

    async def make(self, request: Request) -> Response:
        """A new link, below the studio's address: ``{"path": "shared/…"}``."""
        token = await run_sync(links.make, self._runs.folder(run_of(request)))
        return as_json({"path": f"shared/{token}"}, 201)

    async def end(self, request: Request) -> Response:
        """Let no link show the run any more; who looks at it now loses it within seconds."""
        folder = self._runs.folder(run_of(request))
        await run_sync(links.end, folder)
        self._runs.feed(folder.id).wake()
        return Response(status_code=204)

    async def count(self, request: Request) -> Response:
        """How many links show the run."""
        return as_json({"links": len(self._runs.folder(run_of(request)).shares)})

    async def open(self, request: Request) -> Response:
        """Remember the link in the browser, and show the run."""
        token = request.path_params["token"]
        run = links.run_of(token)
        try:
            shown = links.opens(token, await run_sync(self._runs.folder, run))
        except RunError:
            shown = False
        if not shown:
            return PlainTextResponse(_GONE, 404)
        cookie = self._house.cookies.link(request, token)
        return RedirectResponse(f"../?run={run}", 303, {"Set-Cookie": cookie})
