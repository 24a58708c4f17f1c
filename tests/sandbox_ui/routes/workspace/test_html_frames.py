"""What an HTML frame may load: the files that its token grants, until it expires."""

import time
from pathlib import Path

import pytest

from agent.workspace.paths import RelPath
from sandbox_ui.routes.workspace.frame_tokens import FrameTokens, InvalidFrameToken
from tests.sandbox_ui.routes.workspace.test_versions import RecordedSteps
from tests.support import httpx

pytestmark = pytest.mark.contract

BASE = "http://studio.example:7860/"


def upload(client: httpx.Client, run: str, path: str, content: bytes) -> None:
    client.put(f"/api/runs/{run}/files/{path}", content=content).raise_for_status()


def create_frame(
    client: httpx.Client, run: str, page: str, *, allowed: bool = False, scripts: str = "confined"
) -> str:
    wanted = {"path": page, "base": BASE, "allow_external": allowed, "scripts": scripts}
    answer = client.post(f"/api/runs/{run}/frames", json=wanted)
    assert answer.status_code == 201
    found: str = answer.json()["prefix"]
    return f"/{found}"


def test_a_page_has_an_opaque_origin_and_loads_only_its_own_prefix(
    client: httpx.Client, run: str
) -> None:
    upload(client, run, "output/a.html", b"<!doctype html><p>hello")
    url_prefix = create_frame(client, run, "output/a.html")
    got = client.get(f"{url_prefix}output/a.html")
    policy = dict(each.split(" ", 1) for each in got.headers["content-security-policy"].split("; "))
    assert policy["sandbox"] == "allow-scripts"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == f"blob: data: {BASE}{url_prefix[1:]}"
    assert policy["form-action"] == "'none'"
    assert got.headers["connection-allowlist"] == "(response-origin)"
    assert not any("https:" in sources for sources in policy.values())
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.text.startswith("<!doctype html><script>")
    assert got.text.endswith("</script><p>hello")


def test_network_access_is_https_only_and_excludes_other_folders(
    client: httpx.Client, run: str
) -> None:
    for path in ("top.html", "top.txt", "input/a.txt", "output/a.html", "output/deep/a.txt"):
        upload(client, run, path, b"x")
    url_prefix = create_frame(client, run, "output/a.html", allowed=True)
    got = client.get(f"{url_prefix}output/deep/a.txt")
    assert got.status_code == 200
    policy = client.get(f"{url_prefix}output/a.html").headers["content-security-policy"]
    assert f"img-src blob: data: {BASE}{url_prefix[1:]} https:;" in policy
    assert " http:;" not in policy
    assert client.get(f"{url_prefix}input/a.txt").status_code == 404
    assert client.get(f"{url_prefix}top.txt").status_code == 404
    url_prefix = create_frame(client, run, "top.html", allowed=True)
    assert client.get(f"{url_prefix}top.txt").status_code == 200
    assert client.get(f"{url_prefix}input/a.txt").status_code == 404


@pytest.mark.parametrize("path", ["output/a.html", "output/a.svg", "output/none"])
def test_every_response_limits_connections_to_the_studio(
    client: httpx.Client, run: str, path: str
) -> None:
    for name in ("a.html", "a.svg"):
        upload(client, run, f"output/{name}", b"x")
    got = client.get(f"{create_frame(client, run, 'output/a.html')}{path}")
    assert got.headers["connection-allowlist"] == "(response-origin)"


def test_unconfined_scripts_read_only_their_own_folder(client: httpx.Client, run: str) -> None:
    for path in ("input/a.txt", "output/a.html", "output/a.txt"):
        upload(client, run, path, b"x")
    url_prefix = create_frame(client, run, "output/a.html", scripts="unconfined")
    assert client.get(f"{url_prefix}output/a.txt").status_code == 200
    assert client.get(f"{url_prefix}input/a.txt").status_code == 404


@pytest.mark.parametrize("wanted", [{}, {"scripts": "off"}])
def test_a_page_without_scripts_is_sent_unchanged(
    client: httpx.Client, run: str, wanted: dict[str, str]
) -> None:
    upload(client, run, "output/a.html", b"<p>hello")
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
def test_files_beside_a_page_have_their_media_type(
    client: httpx.Client, run: str, name: str, kind: str
) -> None:
    upload(client, run, f"output/{name}", b"0123456789")
    url_prefix = create_frame(client, run, "output/a.html")
    got = client.get(f"{url_prefix}output/{name}", headers={"Range": "bytes=2-4", "Origin": "null"})
    assert (got.status_code, got.text) == (206, "234")
    assert got.headers["content-type"].startswith(kind)
    assert got.headers["access-control-allow-origin"] == "null"
    assert "content-disposition" not in got.headers


def test_a_page_of_an_earlier_step_loads_files_of_that_step(
    client: httpx.Client, data: Path
) -> None:
    steps = RecordedSteps(data, client)
    for words in ("one", "two"):
        steps.write("output/a.html", f"<p>{words}")
        steps.write("output/a.css", words)
        steps.end_step()
    wanted = {"path": "output/a.html", "base": BASE, "scripts": "confined", "step": 1}
    made = client.post(f"/api/runs/{steps.run}/frames", json=wanted).json()
    assert client.get(f"/{made['prefix']}output/a.html").text.endswith("<p>one")
    assert client.get(f"/{made['prefix']}output/a.css").text == "one"


def test_a_folder_shows_its_index(client: httpx.Client, run: str) -> None:
    upload(client, run, "output/site/index.html", b"<p>the index")
    url_prefix = create_frame(client, run, "output/a.html")
    assert "the index" in client.get(f"{url_prefix}output/site/").text


@pytest.mark.parametrize("path", ["output/%2e%2e/%2e%2e/run.json", "none", ""])
def test_missing_files_are_reported(client: httpx.Client, run: str, path: str) -> None:
    url_prefix = create_frame(client, run, "output/a.html")
    got = client.get(f"{url_prefix}{path}")
    assert got.status_code == 404
    assert got.headers["content-type"].startswith("text/plain")


def test_scripts_of_other_file_types_do_not_run(client: httpx.Client, run: str) -> None:
    upload(client, run, "output/a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    got = client.get(f"{create_frame(client, run, 'output/a.html')}output/a.svg")
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
def test_the_helper_script_comes_before_scripts_of_the_page(
    client: httpx.Client, run: str, content: bytes
) -> None:
    upload(client, run, "output/a.html", content)
    got = client.get(f"{create_frame(client, run, 'output/a.html')}output/a.html")
    assert got.content.startswith(b"<script>(() => {")
    assert got.headers["content-type"] == "text/html; charset=utf-8"


def test_a_frame_url_cannot_be_opened_as_a_document(client: httpx.Client, run: str) -> None:
    upload(client, run, "output/a.html", b"<p>hello")
    url_prefix = create_frame(client, run, "output/a.html")
    got = client.get(f"{url_prefix}output/a.html", headers={"Sec-Fetch-Dest": "document"})
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
def test_a_page_cannot_request_the_api(
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
def test_a_token_is_created_only_for_a_valid_base_url(base: str) -> None:
    with pytest.raises(InvalidFrameToken):
        FrameTokens().create("run", RelPath("a.html"), base, allow_external=False)


def test_a_token_cannot_be_forged_and_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = FrameTokens()
    token = tokens.create("run", RelPath("output/a.html"), BASE, allow_external=False)
    assert tokens.verify(token).run == "run"
    others = FrameTokens().create("run", RelPath("output/a.html"), BASE, allow_external=True)
    payload, _, signature = token.partition(".")
    for forged in (others, f"{payload}A.{signature}", f"{payload}.", payload, "", "é.é"):
        with pytest.raises(InvalidFrameToken):
            tokens.verify(forged)
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(InvalidFrameToken, match="expired"):
        tokens.verify(token)
