"""Cookies: the user's identity, and the shared links that the browser has opened."""

import secrets
import time
from http.cookies import Morsel, SimpleCookie
from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection

from sandbox_ui.auth.accounts import Accounts
from sandbox_ui.auth.signing import Signer
from sandbox_ui.auth.user import User, user_for_visitor

SESSION_SECONDS = 30 * 24 * 3600
_VISITOR_SECONDS = 400 * 24 * 3600
_MAX_LINKS = 20


class Cookies:
    """Reads and writes the cookies; all are HttpOnly."""

    def __init__(self, signer: Signer, accounts: Accounts) -> None:
        self._signer = signer
        self._accounts = accounts
        self._identity_cookie, self._links_cookie = (
            f"studio-{signer.fingerprint}",
            f"studio-{signer.fingerprint}-links",
        )

    def read_user(self, request: HTTPConnection) -> User | None:
        """Return the user from a valid identity cookie; None without one."""
        value = request.cookies.get(self._identity_cookie, "")
        if not self._accounts:
            key = self._signer.verify("visitor", value)
            return user_for_visitor(key) if key else None
        session = self._signer.verify("session", value)
        if session is None:
            return None
        name, password_digest, expiry = (unquote(part) for part in session.split(":"))
        is_current = self._accounts.password_digest(name) == password_digest
        valid = is_current and float(expiry) > time.time()
        return self._accounts.get(name) if valid else None

    def session_cookie(self, request: HTTPConnection, user: User) -> str:
        """Return a ``Set-Cookie`` value that keeps a user signed in for 30 days."""
        expiry = str(int(time.time()) + SESSION_SECONDS)
        parts = (user.name, self._accounts.password_digest(user.name), expiry)
        text = ":".join(quote(part, safe="") for part in parts)
        signed = self._signer.sign("session", text)
        return _set_cookie_value(request, self._identity_cookie, signed, SESSION_SECONDS)

    def new_visitor(self, request: HTTPConnection) -> tuple[User, str]:
        """Return a new user without an account, and a ``Set-Cookie`` value for them."""
        key = secrets.token_urlsafe(12)
        signed = self._signer.sign("visitor", key)
        return user_for_visitor(key), _set_cookie_value(
            request, self._identity_cookie, signed, _VISITOR_SECONDS
        )

    def sign_out_cookie(self, request: HTTPConnection) -> str:
        """Return a ``Set-Cookie`` value that signs the browser out."""
        return _set_cookie_value(request, self._identity_cookie, "", 0)

    def link_tokens(self, request: HTTPConnection) -> list[str]:
        """Return tokens of the last 20 shared links, as the client says, newest last."""
        tokens = request.cookies.get(self._links_cookie, "").split("~")
        return [each for each in tokens if each][-_MAX_LINKS:]

    def link_cookie(self, request: HTTPConnection, token: str) -> str:
        """Return a ``Set-Cookie`` value that adds a link; only the newest 20 are kept."""
        others = [each for each in self.link_tokens(request) if each != token]
        joined = "~".join([*others, token][-_MAX_LINKS:])
        return _set_cookie_value(request, self._links_cookie, joined, SESSION_SECONDS)


def _set_cookie_value(request: HTTPConnection, name: str, value: str, seconds: int) -> str:
    cookie: Morsel[str] = SimpleCookie({name: value})[name]
    cookie["path"] = f"{request.scope.get('root_path', '')}/"
    cookie["max-age"] = seconds
    cookie["httponly"] = True
    cookie["samesite"] = "Lax"
    if request.url.scheme == "https":
        cookie["secure"] = True
    return cookie.OutputString()
