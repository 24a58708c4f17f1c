"""Routes for models: what is known of one, and the servers of this machine."""

from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agent.models.endpoint.families import traits_of
from agent.models.passport.store import PassportStore
from agent.models.transport.base_url import same_endpoint
from agent.settings import Settings
from agent.vision.tokens import estimate_picture_tokens
from sandbox_ui.auth.access import get_access
from sandbox_ui.auth.user import User
from sandbox_ui.routes.helpers import Routes, at, json_response
from sandbox_ui.scheduling.limiter import PerUserLimiter

_MAX_SEARCHES = 2
_PAGE = (1109, 1568)  # pixels of a page of A4, as it is sent


@dataclass(frozen=True)
class ModelRoutes(Routes):
    """Routes for models."""

    _settings: Settings
    _limiter: PerUserLimiter = field(default_factory=lambda: PerUserLimiter(_MAX_SEARCHES, 1))

    @at("/api/models/passport")
    def passport(self, request: Request) -> Response:
        """Return what is known of ``model`` at ``baseUrl``, or null, to who may use it.

        ``pageTokens`` are what a page of a PDF takes as a picture, an estimate by its family.
        """
        access = get_access(request)
        if access.is_guest:
            return json_response({"error": "Sign in first."}, 403)
        base_url = request.query_params.get("baseUrl", self._settings.base_url)
        model = request.query_params.get("model") or self._settings.model
        family = traits_of(base_url, model).family
        passport = self._find(base_url, model, access.user)
        tokens = estimate_picture_tokens(family, *_PAGE)
        return json_response({"passport": passport, "pageTokens": tokens})

    @at("/api/models/local", method="POST")
    async def local(self, request: Request) -> Response:
        """Return the model servers of this machine; for the operator only."""
        access = get_access(request)
        if access.is_guest or not access.user.operator:
            text = "Only the operator of this studio can look for servers on its machine."
            return json_response({"error": text}, 403)
        return json_response({"servers": await self._limiter.run(access.user.id, _local)})

    def _find(self, base_url: str, model: str, user: User) -> dict[str, Any] | None:
        passport = PassportStore(self._settings.data).find(base_url, model)
        if passport is None or not passport.facts:
            return None
        may_use = user.operator or same_endpoint(base_url, self._settings.base_url)
        return passport.for_people() if may_use or _is_public(base_url) else None


def _is_public(base_url: str) -> bool:
    from agent.models.transport.ssrf import is_public_endpoint  # imports the client

    return is_public_endpoint(base_url)


def _local() -> list[dict[str, Any]]:
    from agent.models.passport.local_servers import find_local_servers  # imports the client

    return [asdict(server) for server in find_local_servers()]
