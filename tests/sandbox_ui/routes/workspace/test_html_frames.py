"""What a frame may read over HTTP: what its pass says, for as long as it lasts."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent.workspace.paths import RelPath
from sandbox_ui.routes.workspace.frame_tokens import FrameTokens, InvalidFrameToken
from tests.sandbox_ui.routes.workspace.test_versions import Steps

BASE = "http://studio.example:7860/"


@pytest.fixture(scope="module")
def client(studio_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url) as client:
        yield client


@pytest.fixture
def run(client: httpx.Client) -> str:
    made: str = client.post("/api/runs").json()["run"]
    return made


def give(client: httpx.Client, run: str, path: str, content: bytes) -> None:
    client.put(f"/api/runs/{run}/files/{path}", content=content).raise_for_status()


def prefix(
    client: httpx.Client, run: str, page: str, *, allowed: bool = False, scripts: str = "confined"
) -> str:
    wanted = {"path": page, "base": BASE, "allow_external": allowed, "scripts": scripts}
    answer = client.post(f"/api/runs/{run}/frames", json=wanted)
    assert answer.status_code == 201
    found: str = answer.json()["prefix"]
    return f"/{found}"


def test_a_page_comes_without_an_origin_and_with_its_own_prefix_only(
    client: httpx.Client, run: str
) -> None:
    give(client, run, "output/a.html", b"<!doctype html><p>hello")
    door = prefix(client, run, "output/a.html")
    got = client.get(f"{door}output/a.html")
    policy = dict(each.split(" ", 1) for each in got.headers["content-security-policy"].split("; "))
    assert policy["sandbox"] == "allow-scripts"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == f"blob: data: {BASE}{door[1:]}"
    assert policy["form-action"] == "'none'"
    assert got.headers["connection-allowlist"] == "(response-origin)"
    assert not any("https:" in sources for sources in policy.values())
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.text.startswith("<!doctype html><script>")
    assert got.text.endswith("</script><p>hello")


def test_the_outside_that_is_allowed_is_secure_and_costs_the_other_folders(
    client: httpx.Client, run: str
) -> None:
    for path in ("top.html", "top.txt", "input/a.txt", "output/a.html", "output/deep/a.txt"):
        give(client, run, path, b"x")
    door = prefix(client, run, "output/a.html", allowed=True)
    got = client.get(f"{door}output/deep/a.txt")
    assert got.status_code == 200
    policy = client.get(f"{door}output/a.html").headers["content-security-policy"]
    assert f"img-src blob: data: {BASE}{door[1:]} https:;" in policy
    assert " http:;" not in policy
    assert client.get(f"{door}input/a.txt").status_code == 404
    assert client.get(f"{door}top.txt").status_code == 404
    door = prefix(client, run, "top.html", allowed=True)
    assert client.get(f"{door}top.txt").status_code == 200
    assert client.get(f"{door}input/a.txt").status_code == 404


@pytest.mark.parametrize("path", ["output/a.html", "output/a.svg", "output/none"])
def test_every_answer_limits_connections_to_the_studio(
    client: httpx.Client, run: str, path: str
) -> None:
    for name in ("a.html", "a.svg"):
        give(client, run, f"output/{name}", b"x")
    got = client.get(f"{prefix(client, run, 'output/a.html')}{path}")
    assert got.headers["connection-allowlist"] == "(response-origin)"


def test_scripts_that_cannot_be_confined_read_their_own_folder_only(
    client: httpx.Client, run: str
) -> None:
    for path in ("input/a.txt", "output/a.html", "output/a.txt"):
        give(client, run, path, b"x")
    door = prefix(client, run, "output/a.html", scripts="unconfined")
    assert client.get(f"{door}output/a.txt").status_code == 200
    assert client.get(f"{door}input/a.txt").status_code == 404


@pytest.mark.parametrize("wanted", [{}, {"scripts": "off"}])
def test_without_scripts_a_page_is_sent_as_it_is_and_runs_none(
    client: httpx.Client, run: str, wanted: dict[str, str]
) -> None:
    give(client, run, "output/a.html", b"<p>hello")
    asked = {"path": "output/a.html", "base": BASE, **wanted}
    made = client.post(f"/api/runs/{run}/frames", json=asked).json()
    got = client.get(f"/{made['prefix']}output/a.html")
    policy = dict(
        each.split(" ", 1) for each in got.headers["content-security-policy"].split("; ")[1:]
    )
    assert got.headers["content-security-policy"].startswith("sandbox; ")
    assert policy["script-src"] == "'none'"
    assert got.text == "<p>hello"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.geojson", "application/geo+json"),
        ("a.wasm", "application/wasm"),
        ("a.woff2", "font/woff2"),
        ("a.png", "image/png"),
        ("a.shtml", "text/plain"),
        ("a", "application/octet-stream"),
    ],
)
def test_what_lies_beside_a_page_has_its_type(
    client: httpx.Client, run: str, name: str, kind: str
) -> None:
    give(client, run, f"output/{name}", b"0123456789")
    door = prefix(client, run, "output/a.html")
    got = client.get(f"{door}output/{name}", headers={"Range": "bytes=2-4", "Origin": "null"})
    assert (got.status_code, got.text) == (206, "234")
    assert got.headers["content-type"].startswith(kind)
    assert got.headers["access-control-allow-origin"] == "null"
    assert "content-disposition" not in got.headers


def test_a_page_of_an_earlier_step_loads_files_of_that_step(
    client: httpx.Client, data: Path
) -> None:
    steps = Steps(data, client)
    for words in ("one", "two"):
        steps.write("output/a.html", f"<p>{words}")
        steps.write("output/a.css", words)
        steps.take()
    wanted = {"path": "output/a.html", "base": BASE, "scripts": "confined", "step": 1}
    made = client.post(f"/api/runs/{steps.run}/frames", json=wanted).json()
    assert client.get(f"/{made['prefix']}output/a.html").text.endswith("<p>one")
    assert client.get(f"/{made['prefix']}output/a.css").text == "one"


def test_a_folder_shows_its_index(client: httpx.Client, run: str) -> None:
    give(client, run, "output/site/index.html", b"<p>the index")
    door = prefix(client, run, "output/a.html")
    assert "the index" in client.get(f"{door}output/site/").text


@pytest.mark.parametrize("path", ["output/%2e%2e/%2e%2e/run.json", "none", ""])
def test_missing_files_are_reported(client: httpx.Client, run: str, path: str) -> None:
    door = prefix(client, run, "output/a.html")
    got = client.get(f"{door}{path}")
    assert got.status_code == 404
    assert got.headers["content-type"].startswith("text/plain")


def test_what_is_no_page_runs_no_script(client: httpx.Client, run: str) -> None:
    give(client, run, "output/a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    got = client.get(f"{prefix(client, run, 'output/a.html')}output/a.svg")
    assert got.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


@pytest.mark.parametrize(
    "content",
    [
        b"<!--><script>1</script>--><!doctype html>",
        b"<!---><script>1</script>--><!doctype html>",
        b"<!-- --!><script>1</script>--><!doctype html>",
        b"<p><script>1</script><!doctype html>",
        b"<meta charset=iso-2022-jp>\x1b$B<script>1</script>",
        b"<meta charset=utf-16><script>1</script>",
    ],
)
def test_no_script_of_a_page_comes_before_the_helper(
    client: httpx.Client, run: str, content: bytes
) -> None:
    give(client, run, "output/a.html", content)
    got = client.get(f"{prefix(client, run, 'output/a.html')}output/a.html")
    assert got.content.startswith(b"<script>(() => {")
    assert got.headers["content-type"] == "text/html; charset=utf-8"


def test_a_frame_is_no_tab(client: httpx.Client, run: str) -> None:
    give(client, run, "output/a.html", b"<p>hello")
    door = prefix(client, run, "output/a.html")
    got = client.get(f"{door}output/a.html", headers={"Sec-Fetch-Dest": "document"})
    assert got.status_code == 403


@pytest.mark.parametrize(
    ("mode", "dest", "status"),
    [
        ("no-cors", "image", 403),
        ("cors", "empty", 403),
        ("navigate", "iframe", 403),
        ("navigate", "document", 200),
    ],
)
def test_a_page_loads_nothing_of_the_studio_itself(
    client: httpx.Client, mode: str, dest: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    assert client.get("/api/examples", headers=headers).status_code == status


def test_other_origins_get_no_token(client: httpx.Client, run: str) -> None:
    wanted = {"path": "output/a.html", "base": BASE}
    got = client.post(f"/api/runs/{run}/frames", json=wanted, headers={"Origin": "null"})
    assert got.status_code == 403
    assert client.post("/api/runs/none-of-ours/frames", json=wanted).status_code == 404
    assert client.post(f"/api/runs/{run}/frames", content=b"[]").status_code == 400


@pytest.mark.parametrize(
    "base", ["", "http://a", "ftp://a/", "http://a/; script-src *", "http://a/ b/", "https://a/\n/"]
)
def test_a_pass_is_made_for_an_address_only(base: str) -> None:
    with pytest.raises(InvalidFrameToken):
        FrameTokens().create("run", RelPath("a.html"), base, allow_external=False)


def test_a_token_cannot_be_forged_and_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = FrameTokens()
    token = passes.create("run", RelPath("output/a.html"), BASE, allow_external=False)
    assert passes.verify(token).run == "run"
    others = FrameTokens().create("run", RelPath("output/a.html"), BASE, allow_external=True)
    said, _, signature = token.partition(".")
    for forged in (others, f"{said}A.{signature}", f"{said}.", said, "", "é.é"):
        with pytest.raises(InvalidFrameToken):
            passes.verify(forged)
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(InvalidFrameToken, match="expired"):
        passes.verify(token)
