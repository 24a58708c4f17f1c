"""Route for usage and limits."""

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.usage import UsageReporter
from sandbox_ui.routes.helpers import json_response, route


class UsageRoutes:
    """Route for usage and limits."""

    def __init__(self, usage: UsageReporter) -> None:
        self._usage = usage

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [route("/api/usage", self.usage)]

    async def usage(self, request: Request) -> Response:
        """Return the user's usage and limits; for the operator, everything."""
        return json_response(await run_sync(self._usage.report, get_access(request).owner_filter))
