"""Who may use which route of a run, a comparison or an evaluation: every route × every role."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.routing import Route

from agent.experiments.folder import NOT_FOUND
from agent.runs.folder import RUN_NOT_FOUND
from agent.settings import Settings
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.comparisons import PLAIN, ComparisonClient
from tests.support.evaluations.client import EvaluationClient, respond
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, serve_studio

pytestmark = pytest.mark.contract

KINDS = ("run", "comparison", "evaluation")
READS = ("GET", "HEAD", "OPTIONS")
READS_BY_POST = ("/file-links", "/frames")
OWNERS = ("/links", "/response")
"""What only the owner reads: the links, and the endpoint's raw response."""


@dataclass(frozen=True)
class Owned:
    """A run, a comparison or an evaluation of ann's, its routes and the users' clients."""

    kind: str
    id: str
    routes: tuple[tuple[str, str], ...]
    ann: httpx.Client
    bob: httpx.Client
    guest: httpx.Client

    def request(self, client: httpx.Client, method: str, path: str, id: str = "") -> httpx.Response:
        url = re.sub(r"\{(run|experiment)\}", id or self.id, path)
        return client.request(method, re.sub(r"\{[^}]*\}", "1", url), content=b"{}")


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Method and path of every route."""
    data = tmp_path_factory.mktemp("data")
    app = create_app(Settings(data=data), LocalSandboxProvider(data))
    found = [each for each in app.router.routes if isinstance(each, Route)]
    return [(method, each.path) for each in found for method in each.methods or ()]


@pytest.fixture(scope="module")
def studio(data: Path) -> Iterator[tuple[httpx.Client, ...]]:
    """A studio with accounts; the clients of ann, bob and somebody without an account."""
    with ExitStack() as stack:
        endpoint = stack.enter_context(Endpoint(respond))
        users = accounts("ann", "bob")
        url = stack.enter_context(serve_studio(data, users=users, base_url=endpoint.url, model="m"))
        clients = [stack.enter_context(signed_in(url, name)) for name in ("ann", "bob")]
        yield (*clients, stack.enter_context(httpx.Client(base_url=url)))


@pytest.fixture(scope="module", params=KINDS)
def owned(
    request: pytest.FixtureRequest,
    studio: tuple[httpx.Client, ...],
    routes: list[tuple[str, str]],
) -> Owned:
    kind, ann = request.param, studio[0]
    if kind == "run":
        created = ann.post("/api/runs").json()["run"]
    elif kind == "comparison":
        created = ComparisonClient(ann).run_to_end(PLAIN, PLAIN)["id"]
    else:
        client = EvaluationClient(ann)
        created = client.create(limit=1, members=[PLAIN])
        client.wait(created)
    place = "{run}" if kind == "run" else f"/api/{kind}s/{{experiment}}"
    own = tuple(each for each in routes if place in each[1])
    assert len(own) >= {"run": 80, "comparison": 14, "evaluation": 15}[kind]
    return Owned(kind, created, own, *studio)


def test_no_route_gives_a_stranger_access(owned: Owned) -> None:
    for method, path in owned.routes:
        answer = owned.request(owned.bob, method, path)
        assert answer.status_code == 404, (method, path)
        if method != "HEAD":
            message = RUN_NOT_FOUND if owned.kind == "run" else NOT_FOUND
            assert answer.json()["error"] == message, path
        assert owned.request(owned.guest, method, path).status_code == 401, (method, path)


@pytest.mark.parametrize("unknown", ["nosuchrun1234", "%2e%2e", "a", "x" * 100])
def test_what_does_not_exist_is_not_found(owned: Owned, unknown: str) -> None:
    for method, path in owned.routes:
        answer = owned.request(owned.ann, method, path, unknown)
        assert answer.status_code == 404, (method, path)


def test_a_link_shows_and_changes_nothing_until_it_is_revoked(owned: Owned) -> None:
    links = f"/api/{owned.kind}s/{owned.id}/links"
    link = owned.ann.post(links).json()["path"]
    parameter = {"comparison": "compare"}.get(owned.kind, owned.kind)
    opened = owned.guest.get(f"/{link}")
    assert (opened.status_code, opened.headers["location"]) == (303, f"../?{parameter}={owned.id}")
    for method, path in owned.routes:
        if path.endswith("/events"):
            continue
        reads = (method in READS and not path.endswith(OWNERS)) or path.endswith(READS_BY_POST)
        status = owned.request(owned.guest, method, path).status_code
        assert status not in (401, 403) if reads else status == 403, (method, path)
    assert owned.guest.get("/api/runs").json()["runs"] == []
    assert owned.guest.post("/api/runs").status_code == 401
    secret = link.partition(".")[2]
    for token in (f"{owned.id}.x", f"nosuchrun1234.{secret}", f"x.{secret}", owned.id, "x", "%00"):
        assert owned.guest.get(f"/shared/{token}").status_code == 404
    assert owned.ann.delete(links).status_code == 204
    for method, path in owned.routes:
        assert owned.request(owned.guest, method, path).status_code == 401, (method, path)
    assert owned.guest.get(f"/{link}").status_code == 404
