"""Hostile users: access to others' data, password guessing and resource exhaustion."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from agent.documents.text import Document
from sandbox_ui.auth import accounts as accounts_module
from sandbox_ui.auth.accounts import Accounts, TooManyAttempts, WrongPassword
from sandbox_ui.auth.api_tokens import Tokens
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.service import PreviewResult, PreviewService
from sandbox_ui.routes.workspace import document_info
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.hostile.bodies import ATTACKS, HostileBody
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import TIMEOUT_SECONDS, follow_run, serve_studio, wait_until

pytestmark = pytest.mark.contract

USERS = accounts("ann", "bob")


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    with serve_studio(data, users=USERS) as studio_url:
        yield studio_url


# Gradio's own routes


@pytest.mark.parametrize(
    "path",
    [
        "file=/etc/passwd", "file/etc/passwd", "file=https://example.com/",
        "proxy=https://x.hf.space/", "deep_link?session_hash=x", "upload", "process_recording",
        "component_server", "queue/status", "dev/reload", "vibe-code", "user", "token", "runs",
        "stream/x", "stream/x/y/1/playlist.m3u8", "custom_component/x/client/y/z",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_gradio_routes_are_closed(bob: httpx.Client, method: str, path: str) -> None:
    assert bob.request(method, f"/gradio_api/{path}").status_code == 404


def test_other_gradio_functions_are_closed_and_call_statistics_hidden(bob: httpx.Client) -> None:
    for path in ("/monitoring", "/openapi.json", "/login/", "/pwa_icon"):
        answer = bob.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, "Not found.")
    bob.post("/gradio_api/run/runs", json={"data": [""]})
    assert bob.get("/monitoring/summary").json() == {"functions": {}}


@pytest.mark.parametrize("argument", [1, None, {}, ["x"]])
@pytest.mark.parametrize("name", ["start", "message", "stop", "follow", "files", "runs"])
def test_wrong_types_reveal_no_internals(bob: httpx.Client, name: str, argument: object) -> None:
    error = bob.post(f"/gradio_api/run/{name}", json={"data": [argument] * 4}).json()["error"]
    assert error is None or error.endswith("must be text.")


def test_bodies_of_anonymous_requests_are_not_read(studio_url: str) -> None:
    """Anonymous requests are rejected before the size of their body is checked."""
    answer = httpx.post(f"{studio_url}/api/markdown", content=bytes(9 * 1024**2))
    assert answer.status_code == 401


# Results of Gradio's functions


def start_call(client: httpx.Client, **more: str) -> str:
    """Call ``runs`` without fetching the result; returns the event id."""
    answer = client.post("/gradio_api/call/runs", json={"data": [""], **more})
    created: str = answer.json()["event_id"]
    return created


@pytest.mark.parametrize("call", ["call", "call/v2"])
def test_only_the_caller_can_fetch_a_result(
    ann: httpx.Client, bob: httpx.Client, call: str
) -> None:
    event = start_call(ann)
    stolen = bob.get(f"/gradio_api/{call}/runs/{event}")
    unknown = bob.get(f"/gradio_api/{call}/runs/{'0' * 32}")
    assert (stolen.status_code, stolen.text) == (unknown.status_code, unknown.text)
    assert "complete" in ann.get(f"/gradio_api/{call}/runs/{event}").text


def test_only_the_owner_of_a_session_can_follow_call_in_and_cancel_it(
    ann: httpx.Client, bob: httpx.Client
) -> None:
    session = {"session_hash": "of-ann"}
    event = start_call(ann, **session)
    for guessed in (session, {"session_hash": event}):
        followed = bob.get("/gradio_api/queue/data", params=guessed)
        assert "process_completed" not in followed.text
    refused = bob.post("/gradio_api/call/runs", json={"data": [""], **session})
    assert (refused.status_code, "another user" in refused.json()["detail"]) == (400, True)
    cancellation = {**session, "fn_index": 0, "event_id": event}
    assert bob.post("/gradio_api/cancel", json=cancellation).json() == {"success": True}
    followed = ann.get("/gradio_api/queue/data", params=session)
    assert "process_completed" in followed.text
    assert '"output":{}' not in followed.text.replace(" ", "")


# Cookies


def test_cookies_with_many_or_unusual_links_show_nothing(
    studio_url: str, bob: httpx.Client
) -> None:
    name = f"{next(iter(bob.cookies))}-links"  # where shared links are stored
    many = "~".join(["a"] * 30_000)  # is handled quickly
    for token in (many, "../../secret.x", "\udcff", "é", ".", "abcdefgh", "%00.x", "~~~"):
        cookie = {b"Cookie": f"{name}={token}".encode("utf-8", "surrogateescape")}
        answer = httpx.get(f"{studio_url}/config", headers=cookie, timeout=5)
        assert answer.status_code == 401, token[:9]


# Password guessing


def test_rate_limited_attempts_do_not_count_for_others() -> None:
    accounts = Accounts(dict(USERS))
    for _ in range(10):
        with pytest.raises(WrongPassword):
            accounts.sign_in("nobody", "x", "192.0.2.1")
    for _ in range(20):
        with pytest.raises(TooManyAttempts):
            accounts.sign_in("ann", "x", "192.0.2.1")
    assert accounts.sign_in("ann", "ann", "192.0.2.2").name == "ann"


def test_addresses_of_one_network_share_a_rate_limit() -> None:
    accounts = Accounts(dict(USERS))
    for last in range(10):
        with pytest.raises(WrongPassword):
            accounts.sign_in(f"nobody{last}", "x", f"2001:db8:1:2::{last:x}")
    with pytest.raises(TooManyAttempts):
        accounts.sign_in("nobody", "x", "2001:db8:1:2:ffff::1")
    assert accounts.sign_in("ann", "ann", "2001:db8:1:3::1").name == "ann"
    assert accounts.sign_in("ann", "ann", "::ffff:192.0.2.9").name == "ann"


def test_unknown_names_take_as_long_as_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: set[str] = set()
    monkeypatch.setattr(accounts_module, "verify_password", lambda _, hashed: verified.add(hashed))
    accounts = Accounts(dict(USERS))
    for number in range(9):
        with pytest.raises(WrongPassword):
            accounts.sign_in(f"nobody{number}", "x", "192.0.2.1")
    assert verified == {hashed for _, hashed in USERS}


# Tokens


def test_an_invalid_label_is_stored_with_replacements(bob: httpx.Client) -> None:
    created = bob.post("/api/tokens", content=b'{"label": "a\\ud800"}')
    assert (created.status_code, created.json()["label"]) == (201, "a?")


def test_concurrently_created_tokens_are_all_stored(tmp_path: Path) -> None:
    """Each instance has its own lock, like a process; only the file lock is shared."""
    with ThreadPoolExecutor(4) as pool:
        for name in "abcd":
            pool.submit(lambda who: [Tokens(tmp_path).create(who, "x") for _ in range(15)], name)
    assert [len(Tokens(tmp_path).for_owner(name)) for name in "abcd"] == [15] * 4


# Many requests at once


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """An event that blocked work waits for; it is set at the end of the test."""
    release = threading.Event()
    yield release
    release.set()


SendMany = Callable[[Callable[[int], object]], None]


@pytest.fixture
def send_many(release: threading.Event) -> Iterator[SendMany]:
    """Send sixty requests at once, without waiting for the answers."""
    with ThreadPoolExecutor(60) as pool:

        def submit_all(request: Callable[[int], object]) -> None:
            for number in range(60):
                pool.submit(request, number)

        yield submit_all
        release.set()


def test_many_logins_do_not_delay_others(
    studio_url: str,
    bob: httpx.Client,
    release: threading.Event,
    send_many: SendMany,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running: list[str] = []

    def blocking(password: str, _hashed: str) -> bool:
        running.append(password)
        return release.wait(TIMEOUT_SECONDS) and False

    monkeypatch.setattr(accounts_module, "verify_password", blocking)
    with httpx.Client(base_url=studio_url, limits=httpx.Limits(max_connections=60)) as many:

        def sign_in(number: int) -> httpx.Response:
            form = {"name": f"n{number}", "password": "x"}
            address = {"X-Forwarded-For": f"192.0.2.{number}"}
            return many.post("/login", data=form, headers=address)

        send_many(sign_in)
        wait_until(lambda: bool(running))
        assert [bob.get("/api/runs").status_code for _ in range(20)] == [200] * 20
        assert len(running) == 1
        release.set()


class Slow:
    """Replaced work that waits where a file says so; what it was called with is noted."""

    def __init__(self, release: threading.Event) -> None:
        self.running: list[str] = []
        self._release = release

    def render(self, kind: str, file: BinaryIO, _ask: PreviewRequest) -> PreviewResult:
        self._read(kind, file)
        return PreviewResult(b"{}")

    def extract_text(self, file: BinaryIO, name: str) -> Document:
        self._read(name, file)
        return Document(name, "two words")

    def _read(self, name: str, file: BinaryIO) -> None:
        self.running.append(name)
        if file.read() == b"slow":
            self._release.wait(TIMEOUT_SECONDS)


def preview(client: httpx.Client, content: bytes) -> Callable[[], httpx.Response]:
    """Return what previews a text."""
    return lambda: client.post("/api/markdown", content=content)


def count(client: httpx.Client, content: bytes) -> Callable[[], httpx.Response]:
    """Return what counts the words of an uploaded document."""
    run = client.post("/api/runs").json()["run"]
    client.put(f"/api/runs/{run}/files/a", content=content).raise_for_status()
    return lambda: client.get(f"/api/runs/{run}/document-info/a")


@pytest.mark.parametrize(("work", "answer"), [(preview, {}), (count, {"words": 2})])
def test_much_slow_work_of_a_user_does_not_delay_others(
    studio_url: str,
    bob: httpx.Client,
    release: threading.Event,
    send_many: SendMany,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[httpx.Client, bytes], Callable[[], httpx.Response]],
    answer: dict[str, int],
) -> None:
    slow = Slow(release)
    monkeypatch.setattr(PreviewService, "render", lambda _self, *given: slow.render(*given))
    monkeypatch.setattr(document_info, "extract_text", slow.extract_text)
    limits = httpx.Limits(max_connections=60)
    with httpx.Client(base_url=studio_url, limits=limits) as ann:
        ann.post("/login", data={"name": "ann", "password": "ann"})
        blocked = work(ann, b"slow")
        send_many(lambda _: blocked())
        wait_until(lambda: len(slow.running) == 2)
        assert [bob.get("/api/runs").status_code for _ in range(20)] == [200] * 20
        assert work(bob, b"quick")().raise_for_status().json().items() >= answer.items()
        release.set()


@pytest.mark.nightly
def test_many_followers_do_not_delay_others(release: threading.Event, tmp_path: Path) -> None:
    with (
        Endpoint(lambda _: Turn(text="Done.", gate=release)) as endpoint,
        serve_studio(tmp_path, base_url=endpoint.url, model="test-model") as studio_url,
    ):
        arguments = {"data": ["Wait.", "", "general", "sandbox"]}
        run_id = httpx.post(f"{studio_url}/gradio_api/run/start", json=arguments).json()
        for _ in range(60):
            httpx.post(f"{studio_url}/gradio_api/call/follow", json=run_id)
        for _ in range(20):
            assert httpx.get(f"{studio_url}/api/runs").status_code == 200
        release.set()


@pytest.mark.nightly
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_hostile_bodies_do_not_keep_others_from_working(
    attack: HostileBody, tmp_path: Path
) -> None:
    stopped, answers = threading.Event(), set[int]()
    with (
        Endpoint(lambda _: Turn(text="Done.")) as endpoint,
        serve_studio(
            tmp_path, users=USERS, openai_api=True, base_url=endpoint.url, model="test-model"
        ) as studio_url,
        signed_in(studio_url, "ann") as ann,
        signed_in(studio_url, "bob") as bob,
        ThreadPoolExecutor(8) as pool,
    ):
        shared = ann.post("/api/runs").json()["run"]
        link = ann.post(f"/api/runs/{shared}/links").json()["path"]

        def repeat() -> None:
            cookies = None if attack.from_guest else ann.cookies
            with httpx.Client(base_url=studio_url, cookies=cookies) as attacker:
                attacker.get(f"/{link}")
                while not stopped.is_set():
                    with suppress(httpx.TransportError):  # refused before the body was sent
                        answers.add(attack.send(attacker).status_code)

        attackers = [pool.submit(repeat) for _ in range(8)]
        try:
            wait_until(lambda: bool(answers))
            for _ in range(20):
                assert bob.get("/healthz", timeout=20).json()["ok"]
            arguments = {"data": ["Answer.", "", "general", "plain"]}
            (run,) = bob.post("/gradio_api/run/start", json=arguments).json()["data"]
            with follow_run(bob, run, "0") as stream:
                assert any("run_ended" in str(message.data) for message in stream)
        finally:
            stopped.set()
        for each in attackers:
            each.result()
    assert answers == {attack.status}
