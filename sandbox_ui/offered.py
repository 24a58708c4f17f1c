"""What of Gradio's own routes is served: what the page and ``gradio_client`` ask for.

The others take files, fetch addresses of the outside on behalf of whoever asks, keep what a
session holds, or tell how often everybody's functions were called.
"""

import re

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox_ui.prefix import path_below

_OFFERED = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json"
    r"|/(static|assets)/.+"
    r"|/gradio_api/(info|openapi\.json|app_id|startup-events|theme\.css|cancel|reset)/?"
    r"|/gradio_api/(queue/join|queue/data|heartbeat/[^/]+)"
    r"|/gradio_api/(run|api|call|call/v2)/[^/]+/?"
    r"|/gradio_api/(call|call/v2)/[^/]+/[^/]+"
)
# The page about the API asks how often functions were called by everybody; it is told nothing.
_CALLS = "/monitoring/summary"


class Offered:
    """Answers as if there were no others.

    Args:
        app: Gradio's application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say that there is nothing."""
        path = path_below(scope)
        if scope["type"] != "http" or _OFFERED.fullmatch(path):
            await self._app(scope, receive, send)
        elif path == _CALLS:
            await JSONResponse({"functions": {}})(scope, receive, send)
        else:
            nothing = JSONResponse({"error": "There is nothing at this address."}, 404)
            await nothing(scope, receive, send)
