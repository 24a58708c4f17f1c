"""Route for usage and limits."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox_ui.auth.access import access_of
from sandbox_ui.history.usage import Usage
from sandbox_ui.routes.helpers import as_json, route


class UsageRoutes:
    """Route for usage and limits.

    Args:
        usage: Reports the usage.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route("/api/usage", self.usage)]

    async def usage(self, request: Request) -> Response:
        """Return the user's usage and limits; for the operator, everything."""
        return as_json(await run_sync(self._usage.of, access_of(request).owner))
