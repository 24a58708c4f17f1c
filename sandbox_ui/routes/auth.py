"""Routes for sign-in and sign-out, the current user, and the user's API tokens."""

import html
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from agent.errors import StudioError
from sandbox_ui.auth.access import get_access
from sandbox_ui.auth.accounts import TooManyAttempts, WrongPassword
from sandbox_ui.auth.api_tokens import Token
from sandbox_ui.auth.identity import Identities
from sandbox_ui.routes.helpers import Routes, at, json_response, read_json

_PAGE = Path(__file__).parents[2] / "static" / "pages" / "login.html"
_BACK_QUERY = re.compile(r"[\w=&%.+-]{0,500}")
_NO_STORE = {"Cache-Control": "no-store"}


@dataclass(frozen=True)
class AuthRoutes(Routes):
    """Routes for identities."""

    _identities: Identities
    _sign_in_limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    @at("/login")
    async def sign_in_page(self, request: Request) -> Response:
        """Return the sign-in page."""
        if not self._identities.accounts or not get_access(request).is_guest:
            return RedirectResponse("./", 303)
        return _page()

    @at("/login", method="POST")
    async def sign_in(self, request: Request) -> Response:
        """Sign in with the form's ``name`` and ``password``; redirect back."""
        form = await _read_form(request)
        name = form.get("name", "")
        address = request.client.host if request.client else ""
        accounts = self._identities.accounts
        try:
            sign_in = partial(accounts.sign_in, name, form.get("password", ""), address)
            user = await run_sync(sign_in, limiter=self._sign_in_limiter)
        except TooManyAttempts as error:
            return _page(str(error), name, 429, {"Retry-After": str(error.seconds)})
        except WrongPassword as error:
            return _page(str(error), name, 401)
        back = request.query_params.get("back", "")
        location = f"./?{back}" if back and _BACK_QUERY.fullmatch(back) else "./"
        cookie = self._identities.cookies.session_cookie(request, user)
        return RedirectResponse(location, 303, _NO_STORE | {"Set-Cookie": cookie})

    @at("/logout", method="POST")
    async def sign_out(self, request: Request) -> Response:
        """Sign the browser out."""
        cookie = self._identities.cookies.sign_out_cookie(request)
        return RedirectResponse("./", 303, _NO_STORE | {"Set-Cookie": cookie})

    @at("/api/me")
    async def current_user(self, request: Request) -> Response:
        """Return the user, with the flags ``accounts`` and ``single_owner``."""
        access = get_access(request)
        flags = {
            "single_owner": self._identities.single_owner,
            "accounts": bool(self._identities.accounts),
        }
        if access.is_guest:
            return json_response({"guest": True, "name": "", "operator": False} | flags)
        user = access.user
        return json_response({"guest": False, "name": user.name, "operator": user.operator} | flags)

    @at("/api/tokens")
    def tokens(self, request: Request) -> Response:
        """Return the user's tokens, without their texts."""
        tokens = self._identities.tokens.for_owner(get_access(request).user.id)
        return json_response({"tokens": [_token_row(token) for token in tokens]})

    @at("/api/tokens", method="POST")
    async def create_token(self, request: Request) -> Response:
        """Create a token with a ``label``; only this response contains its ``text``."""
        label = (await read_json(request)).get("label", "")
        if not isinstance(label, str):
            raise StudioError("The token's label must be a string.")
        owner = get_access(request).user.id
        token, text = await run_sync(
            self._identities.tokens.create, owner, label.strip() or "token"
        )
        return json_response(_token_row(token) | {"text": text}, 201)

    @at("/api/tokens/{token}", method="DELETE")
    def revoke_token(self, request: Request) -> Response:
        """Revoke one of the user's tokens."""
        owner, token = get_access(request).user.id, request.path_params["token"]
        self._identities.tokens.revoke(owner, token)
        return Response(status_code=204)


async def _read_form(request: Request) -> dict[str, str]:
    raw = await request.body()
    try:
        fields = parse_qs(raw.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError as error:
        raise StudioError("The form must contain only a name and a password.") from error
    return {key: values[-1] for key, values in fields.items()}


def _page(
    message: str = "", name: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    text = _PAGE.read_text().replace("{message}", html.escape(message))
    text = text.replace("{name}", html.escape(name[:64]))
    return HTMLResponse(text, status, _NO_STORE | (headers or {}))


def _token_row(token: Token) -> dict[str, object]:
    return {"id": token.id, "label": token.label, "created": token.created}
