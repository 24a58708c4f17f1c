"""What is known of a model is for those who may use its endpoint."""

from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from agent.models.passport import local_servers
from agent.models.passport.local_servers import LocalServer
from agent.models.passport.passport import Fact, Passport
from agent.models.passport.store import PassportStore
from agent.settings import Settings
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR, User, user_for_account
from sandbox_ui.routes.models import ModelRoutes
from tests.support.server import call_app

ANN = user_for_account("ann")
STUDIO = "http://10.0.0.4:8000/v1"
PRIVATE, PUBLIC = "http://10.0.0.5:8000/v1", "https://9.9.9.9/v1"


def ask(data: Path, path: str, user: User | None, **query: str) -> tuple[int, Any]:
    """Return the status and the answer of a route for a user; None for a guest."""
    app = Starlette(routes=ModelRoutes(Settings(data=data, base_url=STUDIO)).routes)
    access = Access(user, (), lambda _: pytest.fail("no run is asked for"), cast(Any, None))

    async def with_access(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": {"access": access}}, receive, send)

    method = "POST" if path == "local" else "GET"
    answer = call_app(with_access, method, f"/api/models/{path}", params=query)
    return answer.status_code, answer.json()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for url in (STUDIO, PRIVATE, PUBLIC):
        facts = {"context": Fact(8192, "/props, n_ctx")}
        PassportStore(tmp_path).put(Passport(base_url=url, model="m", tested=5.0, facts=facts))
    return tmp_path


@pytest.mark.parametrize(
    ("user", "visible"), [(OPERATOR, {STUDIO, PRIVATE, PUBLIC}), (ANN, {STUDIO, PUBLIC})]
)
def test_a_passport_is_for_those_who_may_use_its_endpoint(
    data: Path, user: User, visible: set[str]
) -> None:
    for url in (STUDIO, PRIVATE, PUBLIC):
        status, answer = ask(data, "passport", user, baseUrl=url, model="m")
        assert status == 200
        assert (answer["passport"] is not None) == (url in visible), url
        status, answer = ask(data, "passport", user, baseUrl=url, model="other")
        assert (status, answer["passport"]) == (200, None)


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-x", 2319), ("gpt-x", 1105), ("gemini-x", 1548), ("m", 2240)]
)
def test_a_page_of_a_pdf_has_the_tokens_of_its_family(data: Path, model: str, tokens: int) -> None:
    status, answer = ask(data, "passport", OPERATOR, baseUrl=STUDIO, model=model)
    assert (status, answer["pageTokens"]) == (200, tokens)


def test_a_guest_reads_no_passport_and_only_the_operator_looks_for_servers(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [LocalServer("Ollama", "http://127.0.0.1:11434/v1", ["m"], 1)]
    monkeypatch.setattr(local_servers, "find_local_servers", lambda: found)
    assert ask(data, "passport", None, baseUrl=STUDIO, model="m")[0] == 403
    for user in (None, ANN):
        status, answer = ask(data, "local", user)
        assert status == 403
        assert "operator" in answer["error"]
    status, answer = ask(data, "local", OPERATOR)
    assert (status, answer["servers"][0]["count"]) == (200, 1)
