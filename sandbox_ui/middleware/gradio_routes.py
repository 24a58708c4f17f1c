"""Allowlist of Gradio's routes: those that the page and ``gradio_client`` need.

The others accept files, fetch URLs for the client, or expose session state and call counts.
"""

import re

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_ui.middleware.path_prefix import path_without_prefix

_ALLOWED_PATHS = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json"
    r"|/(static|assets)/.+"
    r"|/gradio_api/(info|openapi\.json|app_id|startup-events|theme\.css|cancel|reset)/?"
    r"|/gradio_api/(queue/join|queue/data|heartbeat/[^/]+)"
    r"|/gradio_api/(run|api|call|call/v2)/[^/]+/?"
    r"|/gradio_api/(call|call/v2)/[^/]+/[^/]+"
)
# The API page requests call counts over all users; it gets an empty answer.
_SUMMARY_PATH = "/monitoring/summary"


class RouteAllowlist:
    """Answers 404 for Gradio's other routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or answer 404."""
        path = path_without_prefix(scope)
        if scope["type"] != "http" or _ALLOWED_PATHS.fullmatch(path):
            await self._app(scope, receive, send)
        elif path == _SUMMARY_PATH:
            await JSONResponse({"functions": {}})(scope, receive, send)
        else:
            not_found = JSONResponse({"error": "Not found."}, 404)
            await not_found(scope, receive, send)
