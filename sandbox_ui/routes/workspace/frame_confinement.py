"""Page that detects whether the browser enforces ``Connection-Allowlist``.

The page may connect to ``inside`` but not to ``outside``. If ``inside`` answers and ``outside``
can be neither fetched nor navigated to, the browser blocks framed pages from all other hosts.
"""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

_DOCUMENTS = Path(__file__).parents[3] / "static" / "preview" / "documents"
_SCRIPT = (_DOCUMENTS / "confinement.js").read_text()
_PAGE = f"<!doctype html><script>{_SCRIPT}</script>"
_ARRIVED = "<!doctype html><script>parent.postMessage('arrived', '*')</script>"
_POLICY = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'"
_HEADERS = {"Access-Control-Allow-Origin": "null", "Cache-Control": "no-store"}


async def _probe(_request: Request) -> Response:
    headers = {
        **_HEADERS,
        "Content-Security-Policy": f"{_POLICY}; connect-src *; frame-src *",
        "Connection-Allowlist": '("*://*:*/*frames/confinement/inside")',
    }
    return HTMLResponse(_PAGE, headers=headers)


async def _inside(_request: Request) -> Response:
    return PlainTextResponse("inside", headers=_HEADERS)


async def _outside(_request: Request) -> Response:
    return HTMLResponse(_ARRIVED, headers={**_HEADERS, "Content-Security-Policy": _POLICY})


ROUTES = [
    Route("/frames/confinement", _probe, methods=["GET"]),
    Route("/frames/confinement/inside", _inside, methods=["GET"]),
    Route("/frames/confinement/outside", _outside, methods=["GET"]),
]
