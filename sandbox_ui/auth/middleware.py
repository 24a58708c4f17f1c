"""Authentication middleware: identify each request's user, or require sign-in."""

from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import StudioError
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.identity import Identities
from sandbox_ui.auth.user import OPERATOR, User
from sandbox_ui.middleware.path_prefix import path_without_prefix

_PUBLIC_PATHS = ("/login", "/logout", "/shared/", "/ui/", "/frames/", "/healthz")
_PAGE_PATHS = ("/", "/look")
_BEARER_PREFIX = "bearer "
_PROXY_HEADERS = (
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
    "x-client-ip", "true-client-ip", "cf-connecting-ip",
)  # fmt: skip
_PROXY_MESSAGE = (
    "This studio has one owner, but the request came through a proxy. Whoever runs it can name "
    "its address in STUDIO_HOSTS, or accounts in STUDIO_USERS."
)
_SIGN_IN_MESSAGE = (
    "Nobody is signed in. A browser opens the page first; a program sends a token: "
    "`Authorization: Bearer studio_…` (Settings → Account)."
)
_UNKNOWN_TOKEN_MESSAGE = "This token is unknown or was revoked."


class _Refused(StudioError):
    """The request is refused with an HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class AuthMiddleware:
    """Identifies the user; stores permissions in ``request.state.access``."""

    def __init__(self, app: ASGIApp, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request with its permissions, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        try:
            user, cookie = self._identify(request)
        except _Refused as refused:
            await _error_response(refused)(scope, receive, send)
            return
        link_tokens = self._identities.cookies.link_tokens(request)
        identities = self._identities
        access = Access(
            user, link_tokens, identities.get_folder, identities.groups, identities.data
        )
        request.state.access = access
        if (
            access.is_guest
            and not access.has_valid_link
            and not path_without_prefix(scope).startswith(_PUBLIC_PATHS)
        ):
            await self._sign_in_response(request)(scope, receive, send)
            return

        async def with_cookie(message: Message) -> None:
            if cookie and message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, with_cookie)

    def _identify(self, request: HTTPConnection) -> tuple[User | None, str]:
        """Return the user, if identified, and a ``Set-Cookie`` value for a new browser."""
        header = request.headers.get("authorization", "")
        if header.lower().startswith(_BEARER_PREFIX):
            return self._user_of_token(header[len(_BEARER_PREFIX) :].strip()), ""
        if self._identities.single_owner:
            if any(name in request.headers for name in _PROXY_HEADERS):
                raise _Refused(_PROXY_MESSAGE, 403)
            return OPERATOR, ""
        user = self._identities.cookies.read_user(request)
        if (
            user is None
            and not self._identities.accounts
            and path_without_prefix(request.scope) in _PAGE_PATHS
        ):
            return self._identities.cookies.new_visitor(request)
        return user, ""

    def _user_of_token(self, token: str) -> User:
        owner = self._identities.tokens.find_owner(token)
        user = None if owner is None else self._identities.get_user(owner)
        if user is None:
            raise _Refused(_UNKNOWN_TOKEN_MESSAGE, 401)
        return user

    def _sign_in_response(self, request: HTTPConnection) -> Response:
        is_page = (
            path_without_prefix(request.scope) in _PAGE_PATHS and request.scope["method"] == "GET"
        )
        if not self._identities.accounts or not is_page:
            return _error_response(_Refused(_SIGN_IN_MESSAGE, 401))
        back = quote(request.url.query, safe="")
        return RedirectResponse(f"login?back={back}" if back else "login", 303)


def _error_response(refused: _Refused) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    return JSONResponse({"error": str(refused)}, refused.status, headers)
