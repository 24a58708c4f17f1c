"""Route for usage and limits."""

from dataclasses import dataclass

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from sandbox_ui.auth.access import get_access
from sandbox_ui.limits.usage import UsageReporter
from sandbox_ui.routes.helpers import Routes, at, json_response


@dataclass(frozen=True)
class UsageRoutes(Routes):
    """Route for usage and limits."""

    _usage: UsageReporter

    @at("/api/usage")
    async def usage(self, request: Request) -> Response:
        """Return the user's usage and limits; for the operator, everything."""
        return json_response(await run_sync(self._usage.report, get_access(request).owner_filter))
