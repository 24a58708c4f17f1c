"""The limits on request bodies, without a server."""

import asyncio
import json
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.runs.folder import RunFolder
from agent.util.text import format_size
from sandbox_ui.auth.access import Access
from sandbox_ui.auth.user import OPERATOR, User
from sandbox_ui.limits import body_limit
from sandbox_ui.limits.body_limit import (
    GUEST_BYTES,
    GUEST_VALUES,
    MAX_LARGE_PER_USER,
    MAX_PARSED,
    RULES,
    BodyLimit,
    parse_body,
)
from tests.support.server import TIMEOUT_SECONDS, run_coroutine

Headers = list[tuple[bytes, bytes]]
LIMITS = Path(__file__).parents[3] / "docs" / "limits.md"


def no_folder(_run: str) -> RunFolder:
    raise AssertionError("no route asks for a run here")


def scope_of(headers: Headers, path: str, user: User | None = OPERATOR) -> Scope:
    scope: Scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    Request(scope).state.access = Access(user, (), no_folder, cast(Any, None))
    return scope


async def echo_length(scope: Scope, receive: Receive, send: Send) -> None:
    size = len(await Request(scope, receive).body())
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def post(
    headers: Headers,
    chunks: Iterable[bytes],
    path: str = "/api/markdown",
    user: User | None = OPERATOR,
) -> tuple[int, str]:
    """Return the status and body of the answer to a request that arrives in these chunks."""
    waiting = [{"type": "http.request", "body": body, "more_body": True} for body in chunks]
    waiting.append({"type": "http.request"})
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    run_coroutine(BodyLimit(echo_length)(scope_of(headers, path, user), receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body.decode()


CHUNKED = [(b"transfer-encoding", b"chunked")]
CHUNK = b"x" * 256 * 1024


def test_chunks_are_counted_together_and_reach_the_application_unchanged() -> None:
    assert post(CHUNKED, [CHUNK] * 4) == (200, str(1024**2))
    status, body = post(CHUNKED, [CHUNK] * 4 + [b"x"])
    assert status == 413
    assert "at most 1.0 MB" in json.loads(body)["error"]


@pytest.mark.parametrize("declared", [b"1048577", b"-1", b"9" * 30, b"1e3"])
def test_a_declared_size_beyond_the_limit_or_no_number_is_refused_unread(declared: bytes) -> None:
    status, _ = post([(b"content-length", declared)], [])
    assert status == 413


@pytest.mark.parametrize(
    "path", ["/api/runs/r/files/input/a", "/api/runs/r/uploads/u", "/api/imports", "/v1/files"]
)
def test_uploads_have_limits_of_their_own(path: str) -> None:
    assert post(CHUNKED, [CHUNK] * 36, path) == (200, str(9 * 1024**2))


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/run/start", "/gradio_api/queue/join", "/gradio_api/cancel", "/v1/responses",
        "/v1/chat/completions", "/api/comparisons", "/api/runs/r/changes", "/api/runs/r/file-links",
    ],
)  # fmt: skip
@pytest.mark.parametrize("user", [OPERATOR, None], ids=["user", "guest"])
def test_many_values_are_refused_before_they_are_parsed(path: str, user: User | None) -> None:
    status, body = post(CHUNKED, [b'{"data":[', b"[]," * 60_000], path, user)
    assert status in (400, 413)
    assert "at most" in json.loads(body)["error"]


def test_guests_may_send_little_where_they_have_nothing_to_send() -> None:
    path, values = "/gradio_api/run/follow", b"[" + b"1," * GUEST_VALUES + b"1]"
    assert post(CHUNKED, [b'"%b"' % (b"x" * GUEST_BYTES)], path, None)[0] == 413
    assert post(CHUNKED, [values], path, None)[0] == 400
    assert post(CHUNKED, [values], path)[0] == 200
    assert post(CHUNKED, [CHUNK], "/api/markdown", None)[0] == 200


def test_a_body_that_does_not_arrive_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "MAX_SECONDS", 0.01)
    sent: list[Message] = []

    async def receive() -> Message:
        return await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    run_coroutine(BodyLimit(echo_length)(scope_of(CHUNKED, "/api/x"), receive, send))
    assert sent[0]["status"] == 408


def send_all(app: ASGIApp, receives: dict[str, list[Receive]]) -> list[asyncio.Future[None]]:
    """Send each user's requests concurrently."""

    async def ignore(_message: Message) -> None: ...

    return [
        asyncio.ensure_future(app(scope_of(CHUNKED, "/api/x", User(name, name)), receive, ignore))
        for name, requests in receives.items()
        for receive in requests
    ]


async def receive_empty() -> Message:
    return {"type": "http.request", "body": b"{}"}


def test_two_bodies_are_parsed_at_once_and_one_of_each_user() -> None:
    parsing: list[str] = []
    release, most = threading.Event(), []

    def parse(user: str) -> None:
        parsing.append(user)
        most.append(len(parsing))
        assert release.wait(TIMEOUT_SECONDS)
        parsing.remove(user)

    async def application(scope: Scope, receive: Receive, _send: Send) -> None:
        request = Request(scope, receive)
        await request.body()
        await parse_body(request, partial(parse, request.state.access.user.id))

    async def attack() -> list[str]:
        app = BodyLimit(application)
        tasks = send_all(app, {name: [receive_empty] * 8 for name in ("ann", "bob", "eve")})
        while len(parsing) < MAX_PARSED:
            await asyncio.sleep(0)
        for _ in range(1000):
            await asyncio.sleep(0)
        at_once = sorted(parsing)
        release.set()
        await asyncio.gather(*tasks)
        return at_once

    assert len(set(run_coroutine(attack()))) == MAX_PARSED
    assert (max(most), len(most)) == (MAX_PARSED, 24)


def test_one_user_sends_few_large_bodies_at_once() -> None:
    """A body without a declared size may be large; the others are not received meanwhile."""
    receiving: list[str] = []

    def held(name: str, release: asyncio.Event) -> Receive:
        async def receive() -> Message:
            receiving.append(name)
            await release.wait()
            return await receive_empty()

        return receive

    async def attack() -> None:
        app, release = BodyLimit(echo_length), asyncio.Event()
        requests = {"ann": [held("ann", release)] * 40, "bob": [held("bob", release)]}
        tasks = send_all(app, requests)
        while "bob" not in receiving:
            await asyncio.sleep(0)
        assert receiving.count("ann") == MAX_LARGE_PER_USER
        release.set()
        await asyncio.gather(*tasks)
        assert receiving.count("ann") == 40

    run_coroutine(attack())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.routes)
def test_the_documentation_has_every_rule(rule: body_limit.BodyRule) -> None:
    def counts(values: int) -> str:
        return f"{values:,}" if rule.values else "–"

    guests = (rule.size, rule.values) if rule.for_guests else (GUEST_BYTES, GUEST_VALUES)
    cells = [
        rule.routes, format_size(rule.size), counts(rule.values), str(rule.depth or "–"),
        f"{format_size(guests[0])}, {counts(guests[1])}" if rule.values else format_size(guests[0]),
    ]  # fmt: skip
    assert f"| {' | '.join(cells)} |" in LIMITS.read_text()
