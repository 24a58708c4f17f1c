"""Authentication and authorization: owners, accounts, anonymous users, tokens and links."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from agent.models.demonstration import load_all
from agent.runs.folder import RunFolder
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.auth.passwords import hash_password
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.server import follow_run, serve_studio

pytestmark = pytest.mark.contract

REQUIRED_ARGUMENTS = {
    "task": "x",
    "text": "x",
    "members": [{"mode": "plain"}, {"mode": "sandbox"}],
    "suites": [{"name": "aime"}],
}
USERS = accounts("ann", "bob", "root")
Serve = Callable[..., str]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start a Studio with these settings."""
    with ExitStack() as stack:

        def start(data: Path | None = None, **settings: Any) -> str:
            data = data or tmp_path_factory.mktemp("data")
            return stack.enter_context(serve_studio(data, **settings))

        yield start


@pytest.fixture(scope="module")
def studio_url(serve: Serve, data: Path) -> str:
    """A Studio with accounts, one of them the operator's."""
    return serve(data, users=USERS, operators=("root",))


NewClient = Callable[[str], httpx.Client]


@pytest.fixture
def new_client() -> Iterator[NewClient]:
    """Opens clients with separate cookies."""
    with ExitStack() as stack:
        yield lambda studio_url: stack.enter_context(httpx.Client(base_url=studio_url))


def new_run(client: httpx.Client) -> str:
    run: str = client.post("/api/runs").json()["run"]
    return run


# Single owner


def test_local_access_is_a_single_owner_without_login_but_not_through_a_proxy(
    serve: Serve, new_client: NewClient
) -> None:
    local_url = serve()
    run = new_run(new_client(local_url))
    client = new_client(local_url)
    assert client.get(f"/api/runs/{run}/files").status_code == 200
    me = client.get("/api/me").json()
    assert (me["single_owner"], me["operator"], me["guest"]) == (True, True, False)
    for header in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"):
        answer = client.get("/api/runs", headers={header: "203.0.113.9"})
        assert (answer.status_code, "STUDIO_HOSTS" in answer.json()["error"]) == (403, True), header


# Users without accounts


def test_each_browser_is_a_separate_user_by_its_cookie(
    serve: Serve, new_client: NewClient, tmp_path: Path
) -> None:
    public_url = serve(tmp_path, hosts=("studio.example",))
    anonymous = new_client(public_url).get("/api/runs")
    assert (anonymous.status_code, "token" in anonymous.json()["error"]) == (401, True)
    one, other = new_client(public_url), new_client(public_url)
    cookie = one.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert other.get("/").status_code == 200
    run = new_run(one)
    assert one.get(f"/api/runs/{run}/files").status_code == 200
    assert other.get(f"/api/runs/{run}/files").status_code == 404
    restarted = serve(tmp_path, hosts=("studio.example",))
    assert one.get(f"{restarted}/api/runs/{run}/files").status_code == 200
    name, value = next(iter(one.cookies.items()))
    key, _, signature = value.partition(".")
    for forged in (f"{key}x.{signature}", f"{key}.{signature[:-2]}xx", key, f".{signature}", "é"):
        headers = {b"Cookie": f"{name}={forged}".encode()}
        assert httpx.get(f"{public_url}/api/runs", headers=headers).status_code == 401, forged


# Accounts


def test_without_login_only_the_login_page_is_served(
    studio_url: str, new_client: NewClient
) -> None:
    client = new_client(studio_url)
    answer = client.get("/?run=abcdefgh")
    assert (answer.status_code, answer.headers["location"]) == (303, "login?back=run%3Dabcdefgh")
    assert "Password" in client.get("/login").text
    assert client.get("/healthz").json() == {"ok": True}
    for path in ("/api/runs", "/config", "/gradio_api/info", "/api/examples", "/api/tokens"):
        assert client.get(path).status_code == 401, path


@pytest.mark.parametrize(
    ("back", "location"),
    [
        ("run=abcdefgh", "./?run=abcdefgh"),
        ("//evil.example", "./"),
        ("x\r\nSet-Cookie: a=b", "./"),
        ("</script>", "./"),
        ("a" * 600, "./"),
    ],
)
def test_login_redirects_back_and_never_to_another_site(
    studio_url: str, new_client: NewClient, back: str, location: str
) -> None:
    client, form = new_client(studio_url), {"name": "ann", "password": "ann"}
    answer = client.post("/login", params={"back": back}, data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, location)
    assert client.get("/api/me").json()["name"] == "ann"


@pytest.mark.parametrize(
    ("name", "password"),
    [("ann", "wrong"), ("nobody", "x"), ("", ""), ("ann", "x" * 5000), ('"><script>', "x")],
)
def test_wrong_password_and_unknown_name_are_indistinguishable(
    studio_url: str, new_client: NewClient, name: str, password: str
) -> None:
    answer = new_client(studio_url).post("/login", data={"name": name, "password": password})
    assert answer.status_code == 401
    assert "Wrong name or password." in answer.text
    assert "set-cookie" not in answer.headers
    assert "<script>" not in answer.text.partition("<form")[2]


def test_login_attempts_are_rate_limited(serve: Serve, new_client: NewClient) -> None:
    client = new_client(serve(users=USERS))
    answers = [client.post("/login", data={"name": "ann", "password": "x"}) for _ in range(12)]
    assert [each.status_code for each in answers[:10]] == [401] * 10
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    correct = client.post("/login", data={"name": "ann", "password": "ann"})
    assert correct.status_code == 429


def test_logout_and_a_password_change_end_sessions(serve: Serve, tmp_path: Path) -> None:
    with signed_in(serve(tmp_path, users=USERS), "ann") as client:
        same = serve(tmp_path, users=USERS)
        changed = serve(tmp_path, users=(("ann", hash_password("new", log_n=10)),))
        assert client.get(f"{same}/api/runs").status_code == 200
        assert client.get(f"{changed}/api/runs").status_code == 401
        assert client.post("/logout").status_code == 303
        assert client.get("/api/runs").status_code == 401


def test_the_operator_sees_all_runs_and_users_their_own(
    studio_url: str, ann: httpx.Client, bob: httpx.Client, data: Path
) -> None:
    run = new_run(ann)
    assert RunFolder.open(data, run).owner == "u:ann"
    (RunFolder.open(data, run).journal).write_bytes(b"")
    with signed_in(studio_url, "root") as root:
        seen = [run in each.get("/api/runs").text for each in (ann, bob, root)]
    assert seen == [True, False, True]


# Access to runs of others; each route is in test_access.py


def test_lists_cannot_delete_or_measure_runs_of_others(
    ann: httpx.Client, bob: httpx.Client
) -> None:
    other_run, own_run = new_run(ann), new_run(bob)
    assert bob.get(f"/api/space?run={own_run}&run={other_run}").status_code == 404
    assert bob.delete(f"/api/runs?run={own_run}&run={other_run}").status_code == 404
    assert bob.get(f"/api/runs/{own_run}/files").status_code == 200


def test_no_page_function_gives_a_stranger_access_to_a_run(
    ann: httpx.Client, bob: httpx.Client, data: Path
) -> None:
    run, functions = new_run(ann), bob.get("/config").json()["dependencies"]
    by_name = {each["api_name"]: each for each in functions if each["backend_fn"]}
    for name, given in (("page_run", ["Do it.", run]), ("page_stop", [run])):
        function = by_name[name]
        arguments = [*given, *[None] * (len(function["inputs"]) - len(given))]
        body = {"data": arguments, "fn_index": function["id"], "session_hash": "x"}
        answer = bob.post("/gradio_api/run/predict", json=body)
        assert "There is no such run" in answer.text, answer.text
    assert not RunFolder.open(data, run).journal.exists()


def test_no_api_function_gives_a_stranger_access_to_a_run(
    studio_url: str, ann: httpx.Client, data: Path
) -> None:
    run = new_run(ann)
    _, token = Tokens(data).create("u:bob", "here")
    client = Client(studio_url, headers={"Authorization": f"Bearer {token}"}, verbose=False)
    functions = client.view_api(return_format="dict")["named_endpoints"]
    run_functions = {
        name: [each["parameter_name"] for each in about["parameters"]]
        for name, about in functions.items()
        if any(each["parameter_name"] == "run" for each in about["parameters"])
    }
    assert {"/start", "/message", "/stop", "/follow", "/files"} <= run_functions.keys()
    for name, parameters in run_functions.items():
        required = {**REQUIRED_ARGUMENTS, "run": run}
        arguments = {each: required[each] for each in parameters if each in required}
        with pytest.raises(AppError, match="There is no such run"):
            client.predict(**arguments, api_name=name)


# Tokens


def test_a_token_has_its_users_rights_until_they_revoke_it(
    studio_url: str, ann: httpx.Client, bob: httpx.Client
) -> None:
    run = new_run(ann)
    created = ann.post("/api/tokens", json={"label": "laptop"}).json()
    program = {"Authorization": f"Bearer {created['text']}"}
    bob.delete(f"/api/tokens/{created['id']}")
    assert httpx.get(f"{studio_url}/api/runs/{run}/files", headers=program).status_code == 200
    listed = ann.get("/api/tokens").json()["tokens"]
    assert [each["label"] for each in listed] == ["laptop"]
    assert created["text"] not in str(listed)
    assert ann.delete(f"/api/tokens/{created['id']}").status_code == 204
    refused = httpx.get(f"{studio_url}/api/runs/{run}/files", headers=program)
    assert (refused.status_code, "revoked" in refused.json()["error"]) == (401, True)


def test_secrets_are_readable_by_the_owner_only_and_tokens_are_stored_as_digests(
    data: Path, studio_url: str
) -> None:
    _, text = Tokens(data).create("u:bob", "here")
    for name in ("secret", "tokens.json"):
        assert (data / name).stat().st_mode & 0o777 == 0o600
    assert text not in (data / "tokens.json").read_text()


def test_the_gradio_client_authenticates_with_a_token(studio_url: str, ann: httpx.Client) -> None:
    text = ann.post("/api/tokens", json={"label": "client"}).json()["text"]
    client = Client(studio_url, headers={"Authorization": f"Bearer {text}"}, verbose=False)
    run = client.predict(load_all()[0].task, api_name="/start")
    client.predict(run, api_name="/stop")
    assert ann.get(f"/api/runs/{run}/files").status_code == 200


# Shared links


@pytest.mark.timeout(60)
def test_a_shared_link_shows_one_run_until_it_is_revoked(
    studio_url: str, new_client: NewClient, ann: httpx.Client
) -> None:
    guest = new_client(studio_url)
    run, other = new_run(ann), new_run(ann)
    guest.get(f"/{ann.post(f'/api/runs/{run}/links').json()['path']}")
    assert guest.get("/").status_code == 200
    assert guest.get(f"/api/runs/{other}/files").status_code == 404
    with follow_run(guest, run) as stream:
        next(stream)
        assert ann.delete(f"/api/runs/{run}/links").status_code == 204
        assert len(list(stream)) < 5


def test_a_signed_in_user_with_a_link_has_read_only_access(
    ann: httpx.Client, bob: httpx.Client
) -> None:
    run = new_run(ann)
    bob.get(f"/{ann.post(f'/api/runs/{run}/links').json()['path']}")
    with follow_run(bob, run) as stream:
        assert [next(stream).name for _ in range(2)] == ["read_only", "state"]
    assert bob.put(f"/api/runs/{run}/files/a", content=b"").status_code == 403


# Path prefixes


@pytest.mark.parametrize("path", ["/studio/api/me", "/api/me", "/studio/ui/main.js", "/ui/main.js"])
@pytest.mark.nightly
def test_a_proxy_may_keep_or_strip_the_path_prefix(
    serve: Serve, new_client: NewClient, path: str
) -> None:
    studio_url = serve(root_path="/studio")
    assert new_client(studio_url).get(path).status_code == 200


def test_cookies_are_limited_to_the_path_prefix(serve: Serve, new_client: NewClient) -> None:
    studio_url = serve(root_path="/studio", hosts=("studio.example",))
    assert "Path=/studio/;" in new_client(studio_url).get("/studio/").headers["set-cookie"] + ";"
