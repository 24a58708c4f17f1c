"""Routes for sign-in and sign-out, the current user, and the user's API tokens."""

import html
import re
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.errors import StudioError
from sandbox_ui.auth.access import access_of
from sandbox_ui.auth.accounts import TooManyTries, WrongPassword
from sandbox_ui.auth.identity import House
from sandbox_ui.auth.tokens import Token
from sandbox_ui.routes.helpers import as_json, body_of, bytes_of, route

_PAGE = Path(__file__).parents[2] / "static" / "pages" / "login.html"
_FORM = 16 * 1024
_BACK = re.compile(r"[\w=&%.+-]{0,500}")
_NO_STORE = {"Cache-Control": "no-store"}


class PeopleRoutes:
    """Routes for identities.

    Args:
        house: The identities of the studio.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._one = CapacityLimiter(1)  # waiting sign-ins occupy no threads of other requests

    @property
    def routes(self) -> list[Route]:
        """Routes, to be registered before Gradio's."""
        return [
            route("/login", self.ask),
            route("/login", self.sign_in, "POST"),
            route("/logout", self.sign_out, "POST"),
            route("/api/me", self.me),
            route("/api/tokens", self.tokens),
            route("/api/tokens", self.make_token, "POST"),
            route("/api/tokens/{token}", self.revoke_token, "DELETE"),
        ]

    async def ask(self, request: Request) -> Response:
        """Return the sign-in page."""
        if not self._house.accounts or not access_of(request).guest:
            return RedirectResponse("./", 303)
        return _page()

    async def sign_in(self, request: Request) -> Response:
        """Sign in with the form's ``name`` and ``password``; redirect back."""
        form = await _form(request)
        name = form.get("name", "")
        address = request.client.host if request.client else ""
        accounts = self._house.accounts
        try:
            ask = partial(accounts.sign_in, name, form.get("password", ""), address)
            person = await run_sync(ask, limiter=self._one)
        except TooManyTries as error:
            return _page(str(error), name, 429, {"Retry-After": str(error.seconds)})
        except WrongPassword as error:
            return _page(str(error), name, 401)
        back = request.query_params.get("back", "")
        where = f"./?{back}" if back and _BACK.fullmatch(back) else "./"
        cookie = self._house.cookies.session(request, person)
        return RedirectResponse(where, 303, _NO_STORE | {"Set-Cookie": cookie})

    async def sign_out(self, request: Request) -> Response:
        """Sign the browser out."""
        cookie = self._house.cookies.end(request)
        return RedirectResponse("./", 303, _NO_STORE | {"Set-Cookie": cookie})

    async def me(self, request: Request) -> Response:
        """Return the user, with ``accounts`` and ``alone`` (a single owner) as flags."""
        access = access_of(request)
        house = {"alone": self._house.alone, "accounts": bool(self._house.accounts)}
        if access.guest:
            return as_json({"guest": True, "name": "", "operator": False} | house)
        person = access.person
        return as_json({"guest": False, "name": person.name, "operator": person.operator} | house)

    async def tokens(self, request: Request) -> Response:
        """Return the user's tokens, without their texts."""
        known = await run_sync(self._house.tokens.of, access_of(request).person.id)
        return as_json({"tokens": [_row(token) for token in known]})

    async def make_token(self, request: Request) -> Response:
        """Create a token with a ``label``; only this response contains its ``text``."""
        label = (await body_of(request)).get("label", "")
        if not isinstance(label, str):
            raise StudioError("A token's label is a text.")
        owner = access_of(request).person.id
        token, text = await run_sync(self._house.tokens.make, owner, label.strip() or "token")
        return as_json(_row(token) | {"text": text}, 201)

    async def revoke_token(self, request: Request) -> Response:
        """Revoke one of the user's tokens."""
        owner, token = access_of(request).person.id, request.path_params["token"]
        await run_sync(self._house.tokens.revoke, owner, token)
        return Response(status_code=204)


async def _form(request: Request) -> dict[str, str]:
    raw = await bytes_of(request, _FORM)
    if raw is None:
        raise StudioError("That is too much for a name and a password.")
    try:
        fields = parse_qs(raw.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError as error:
        raise StudioError("The form holds a name and a password, and nothing else.") from error
    return {key: values[-1] for key, values in fields.items()}


def _page(
    told: str = "", name: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    text = _PAGE.read_text().replace("{told}", html.escape(told))
    text = text.replace("{name}", html.escape(name[:64]))
    return HTMLResponse(text, status, _NO_STORE | (headers or {}))


def _row(token: Token) -> dict[str, object]:
    return {"id": token.id, "label": token.label, "made": token.made}
