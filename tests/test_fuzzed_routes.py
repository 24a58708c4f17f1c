"""Fuzzed HTTP routes: any input yields a result or an error message, never a server error."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from agent.settings import Settings
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.recorded_runs import write_ended_run
from tests.support.server import create_app, run_server, serve_studio

pytestmark = pytest.mark.contract

ODD_VALUES = [
    "x",
    "",
    "-1",
    "0",
    "9" * 5000,
    "000200999999",
    "\u0663",
    "a\x00b",
    "%ff",
    "..",
    "\u202e",
    "1e400",
]
QUERIES = ("step", "limit", "before", "q", "run", "path", "at", "page", "sheet", "kind", "inline")
BODIES = [
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"NaN", b"\xff\xfe", b"[" * 20_000, b'{"a": NaN}',
    b'{"data": [1e400]}', b'{"data": ["\\ud800"]}', b'{"data": [["x"]]}', b'{"data": [{}]}',
    b'{"data": {}}', b'{"data": [""], "session_hash": "\\ud800"}', b'{"title": "\\ud800"}',
    b'{"path": "output/a", "base": "http://caf\xc3\xa9/", "scripts": "off"}',
    b'{"operation": "rename", "path": "\\ud800", "name": "x"}',
    b'{"label": ["x"]}', b'{"size": 1e400}',
    b'{"session_hash": 1, "fn_index": 99, "event_id": []}',
    b'{"model": "builtin@sandbox", "messages": [[]]}', b'{"model": "builtin", "input": [{}]}',
    b'{"model": "builtin", "stop": {}, "metadata": 1, "input": "\\ud800"}',
]  # fmt: skip
HEADERS = [
    {"Range": f"bytes={'9' * 5000}-"}, {"Range": f"bytes=-{'9' * 5000}"}, {"Range": "bytes=x-"},
    {"If-Match": "x"}, {"Authorization": "Basic x"}, {"Content-Type": "text/plain"},
    {"Upload-Offset": "9" * 5000}, {"Content-Range": f"bytes 0-1/{'9' * 5000}"},
]  # fmt: skip
GRADIO_ROUTES = [
    ("POST", f"/gradio_api/{kind}/{name}")
    for kind in ("run", "call", "call/v2", "api")
    for name in ("start", "message", "stop", "follow", "files", "runs", "page_stop", "none")
] + [
    ("POST", "/gradio_api/queue/join"), ("POST", "/gradio_api/cancel"), ("GET", "/config"),
    ("POST", "/gradio_api/reset"), ("GET", "/gradio_api/queue/data"), ("GET", "/gradio_api/info"),
    ("GET", "/gradio_api/call/runs/x"),
]  # fmt: skip
STREAM_SUFFIXES = ("/events", "/presence")
"""Suffixes of routes whose responses do not end."""


@pytest.fixture(scope="module")
def app(data: Path) -> FastAPI:
    return create_app(Settings(data=data, openai_api=True), LocalSandboxProvider(data))


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[httpx.Client]:
    with run_server(app) as studio_url, httpx.Client(base_url=studio_url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def run(client: httpx.Client) -> str:
    run_id: str = client.post("/api/runs").json()["run"]
    client.put(f"/api/runs/{run_id}/files/output/a", content=b"0123456789")
    return run_id


def routes(app: FastAPI, run: str) -> Iterator[tuple[str, str]]:
    """Yield each route's method and path, for an existing run and file."""
    for route in app.router.routes:
        if isinstance(route, Route) and not route.path.endswith(STREAM_SUFFIXES):
            path = route.path.replace("{run}", run).replace("{path:any}", "output/a")
            for method in sorted(route.methods or ()):
                if method not in ("DELETE", "HEAD"):  # HEAD is answered by GET's function
                    yield method, path.replace("{token}", "x").replace("{upload}", "x")
    yield from GRADIO_ROUTES


def failures(client: httpx.Client, method: str, path: str) -> Iterator[str]:
    inputs: list[dict[str, Any]] = [
        {"headers": {k: v.encode() for k, v in each.items()}} for each in HEADERS
    ]
    if method == "GET":
        inputs += [{"params": dict.fromkeys(QUERIES, value)} for value in ODD_VALUES]
        inputs += [{"params": {name: ODD_VALUES[4]}} for name in QUERIES]
    else:
        inputs += [{"content": body} for body in BODIES]
    for arguments in inputs:
        answer = client.request(method, path, **arguments)
        if answer.status_code in (500, 502, 503):
            yield f"{method} {path} {str(arguments)[:80]}: {answer.text[:80]}"


def test_no_route_fails_on_fuzzed_input(app: FastAPI, client: httpx.Client, run: str) -> None:
    failed = [each for method, path in routes(app, run) for each in failures(client, method, path)]
    assert failed == []


def test_an_argument_that_must_be_text_is_checked(client: httpx.Client) -> None:
    response = client.post("/gradio_api/run/runs", json={"data": [["x"]]})
    assert (response.status_code, response.json()["error"]) == (400, "“words” must be text.")


@pytest.mark.parametrize("value", ["NaN", "1e400", '"\\ud800"'])
def test_values_that_are_not_json_are_refused(client: httpx.Client, value: str) -> None:
    response = client.post("/gradio_api/run/runs", content=f'{{"data": [{value}]}}')
    assert response.status_code == 400
    assert "must be JSON" in response.json()["error"]


def test_a_range_with_a_huge_number_is_past_the_end(client: httpx.Client, run: str) -> None:
    file_url = f"/api/runs/{run}/files/output/a"
    beyond_end = client.get(file_url, headers={"Range": f"bytes={'9' * 5000}-"})
    assert beyond_end.status_code == 416
    rest = client.get(file_url, headers={"Range": f"bytes=3-{'9' * 5000}"})
    assert (rest.status_code, rest.text) == (206, "3456789")


@pytest.mark.parametrize("limit", ["000001000", "000200999999", "9" * 5000, "\u0663"])
def test_an_invalid_most_parameter_is_refused(client: httpx.Client, limit: str) -> None:
    assert client.get("/api/runs", params={"limit": limit}).status_code == 400


def test_a_full_disk_is_reported_by_every_route_that_saves_and_changes_nothing(
    tmp_path: Path,
) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a disk can only be mounted by root")
    try:
        with (
            serve_studio(tmp_path) as studio_url,
            httpx.Client(base_url=studio_url, timeout=30) as client,
        ):
            run, other = write_ended_run(tmp_path).id, write_ended_run(tmp_path).id
            token = client.post("/api/tokens", json={"label": "first"}).json()
            client.patch(f"/api/runs/{run}", json={"title": "old"}).raise_for_status()
            client.post(f"/api/runs/{run}/links").raise_for_status()
            client.post("/api/runs").raise_for_status()

            def saved() -> list[Any]:
                listed = client.get("/api/runs").raise_for_status().json()["runs"]
                paths = ("/api/tokens", f"/api/runs/{run}/links")
                return [
                    [(each["run"], each["title"], each["pinned"]) for each in listed],
                    *(client.get(path).raise_for_status().json() for path in paths),
                    *(sorted((tmp_path / name).iterdir()) for name in ("runs", "sandboxes")),
                ]

            before = saved()
            with suppress(OSError), (tmp_path / "filling").open("wb", buffering=0) as filler:
                while filler.write(bytes(4096)):
                    pass
            for method, path, body in (
                ("POST", "/api/tokens", {"label": "x" * 80}),
                ("DELETE", f"/api/tokens/{token['id']}", None),
                ("POST", "/api/runs", None),
                ("PATCH", f"/api/runs/{run}", {"title": "x" * 80}),
                ("PATCH", f"/api/runs/{run}", {"pinned": True}),
                ("POST", f"/api/runs/{run}/links", None),
                ("DELETE", f"/api/runs/{run}/links", None),
                ("POST", "/api/comparisons/from-runs", {"runs": [run, other]}),
            ):
                answer = client.request(method, path, json=body)
                assert (answer.status_code, "disk" in answer.text) == (507, True), (
                    path,
                    answer.text,
                )
                assert str(tmp_path) not in answer.text
            assert saved() == before
            (tmp_path / "filling").unlink()
            assert saved() == before
            assert client.patch(f"/api/runs/{run}", json={"title": "new"}).json()["title"] == "new"
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)
