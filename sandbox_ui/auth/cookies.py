"""Cookies: the user's identity, and the shared links that the browser has opened."""

import secrets
import time
from http.cookies import Morsel, SimpleCookie
from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection

from sandbox_ui.auth.accounts import Accounts
from sandbox_ui.auth.signing import Signer
from sandbox_ui.auth.user import Person, visitor

SESSION_SECONDS = 30 * 24 * 3600
_VISITOR_SECONDS = 400 * 24 * 3600
_LINKS = 20


class Cookies:
    """Reads and writes the cookies; all are HttpOnly.

    Args:
        signer: Signs the identity cookie.
        accounts: The accounts, if any.
    """

    def __init__(self, signer: Signer, accounts: Accounts) -> None:
        self._signer = signer
        self._accounts = accounts
        self._who, self._links = f"studio-{signer.mark}", f"studio-{signer.mark}-links"

    def person(self, request: HTTPConnection) -> Person | None:
        """Return the user from a valid identity cookie; None without one."""
        said = request.cookies.get(self._who, "")
        if not self._accounts:
            key = self._signer.read("visitor", said)
            return visitor(key) if key else None
        session = self._signer.read("session", said)
        if session is None:
            return None
        name, state, until = (unquote(part) for part in session.split(":"))
        fresh = float(until) > time.time() and self._accounts.state(name) == state
        return self._accounts.person(name) if fresh else None

    def session(self, request: HTTPConnection, person: Person) -> str:
        """Return a ``Set-Cookie`` value that keeps a user signed in for 30 days."""
        until = str(int(time.time()) + SESSION_SECONDS)
        parts = (person.name, self._accounts.state(person.name), until)
        said = ":".join(quote(part, safe="") for part in parts)
        signed = self._signer.sign("session", said)
        return _cookie(request, self._who, signed, SESSION_SECONDS)

    def visit(self, request: HTTPConnection) -> tuple[Person, str]:
        """Return a new user without an account, and a ``Set-Cookie`` value for them."""
        key = secrets.token_urlsafe(12)
        signed = self._signer.sign("visitor", key)
        return visitor(key), _cookie(request, self._who, signed, _VISITOR_SECONDS)

    def end(self, request: HTTPConnection) -> str:
        """Return a ``Set-Cookie`` value that signs the browser out."""
        return _cookie(request, self._who, "", 0)

    def links(self, request: HTTPConnection) -> list[str]:
        """Return tokens of the last 20 shared links that were opened, newest last.

        The cookie is not signed: a client may send any value.
        """
        said = request.cookies.get(self._links, "").split("~")
        return [each for each in said if each][-_LINKS:]

    def link(self, request: HTTPConnection, token: str) -> str:
        """Return a ``Set-Cookie`` value that adds a link; only the newest 20 are kept."""
        known = [each for each in self.links(request) if each != token]
        joined = "~".join([*known, token][-_LINKS:])
        return _cookie(request, self._links, joined, SESSION_SECONDS)


def _cookie(request: HTTPConnection, name: str, value: str, seconds: int) -> str:
    made: Morsel[str] = SimpleCookie({name: value})[name]
    made["path"] = f"{request.scope.get('root_path', '')}/"
    made["max-age"] = seconds
    made["httponly"] = True
    made["samesite"] = "Lax"
    if request.url.scheme == "https":
        made["secure"] = True
    return made.OutputString()
