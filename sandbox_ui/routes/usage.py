"""What is used by what, over HTTP."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox_ui.people.access import access_of
from sandbox_ui.routes.serving import as_json, route
from sandbox_ui.usage import Usage


class UsageRoutes:
    """The route of the count.

    Args:
        usage: Who counts.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    @property
    def routes(self) -> list[Route]:
        """The routes, to be put before Gradio's."""
        return [route("/api/usage", self.usage)]

    async def usage(self, request: Request) -> Response:
        """What the person uses and may use; for the operator everybody, and the machine."""
        return as_json(await run_sync(self._usage.of, access_of(request).owner))
