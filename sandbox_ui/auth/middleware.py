"""Authentication middleware: identify each request's user, or require sign-in."""

from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import StudioError
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.identity import House
from sandbox_ui.auth.user import OPERATOR, Person
from sandbox_ui.middleware.path_prefix import path_below

_OPEN = ("/login", "/logout", "/shared/", "/ui/", "/frames/", "/healthz")
_PAGES = ("/", "/look")
_BEARER = "bearer "
_FORWARDED = (
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
    "x-client-ip", "true-client-ip", "cf-connecting-ip",
)  # fmt: skip
_PROXIED = (
    "This studio has one owner, but the request came through a proxy. Whoever runs it can name "
    "its address in STUDIO_HOSTS, or accounts in STUDIO_USERS."
)
_WHO = (
    "Nobody is signed in. A browser opens the page first; a program sends a token: "
    "`Authorization: Bearer studio_…` (Settings → Access)."
)
_NO_TOKEN = "This token is not known here. It may have been revoked."


class _Refused(StudioError):
    """The request is refused.

    Attributes:
        status: The HTTP status of the response.
    """

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Door:
    """Identifies the user; stores permissions in ``request.state.access``.

    Args:
        app: The wrapped application.
        house: The identities of the studio.
    """

    def __init__(self, app: ASGIApp, house: House) -> None:
        self._app = app
        self._house = house

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request with its permissions, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        try:
            person, cookie = self._known(request)
        except _Refused as refused:
            await _told(refused)(scope, receive, send)
            return
        shown = self._house.cookies.links(request)
        access = Access(person, shown, self._house.folder)
        request.state.access = access
        if access.guest and not access.shows_any and not path_below(scope).startswith(_OPEN):
            await self._turned_away(request)(scope, receive, send)
            return

        async def with_cookie(message: Message) -> None:
            if cookie and message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, with_cookie)

    def _known(self, request: HTTPConnection) -> tuple[Person | None, str]:
        """Return the user, if identified, and a ``Set-Cookie`` value for a new browser."""
        said = request.headers.get("authorization", "")
        if said.lower().startswith(_BEARER):
            return self._bearer(said[len(_BEARER) :].strip()), ""
        if self._house.alone:
            if any(name in request.headers for name in _FORWARDED):
                raise _Refused(_PROXIED, 403)
            return OPERATOR, ""
        person = self._house.cookies.person(request)
        if person is None and not self._house.accounts and path_below(request.scope) in _PAGES:
            return self._house.cookies.visit(request)
        return person, ""

    def _bearer(self, token: str) -> Person:
        owner = self._house.tokens.owner(token)
        person = None if owner is None else self._house.known(owner)
        if person is None:
            raise _Refused(_NO_TOKEN, 401)
        return person

    def _turned_away(self, request: HTTPConnection) -> Response:
        page = path_below(request.scope) in _PAGES and request.scope["method"] == "GET"
        if not self._house.accounts or not page:
            return _told(_Refused(_WHO, 401))
        back = quote(request.url.query, safe="")
        return RedirectResponse(f"login?back={back}" if back else "login", 303)


def _told(refused: _Refused) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    return JSONResponse({"error": str(refused)}, refused.status, headers)
