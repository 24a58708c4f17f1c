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
    client: httpx.Client, run: str, page: str = "output/a.html", **options: object
) -> str:
    """Create a frame with confined scripts; returns the prefix of its URLs."""
    wanted = {"path": page, "base": BASE, "scripts": "confined", **options}
    answer = client.post(f"/api/runs/{run}/frames", json=wanted)
    assert answer.status_code == 201
    return f"/{answer.json()['prefix']}"


def policy_of(got: httpx.Response) -> dict[str, str]:
    """Return the sources of a content security policy by directive."""
    parts = [each.partition(" ") for each in got.headers["content-security-policy"].split("; ")]
    return {name: sources for name, _, sources in parts}


def test_a_page_has_an_opaque_origin_and_loads_only_its_own_prefix(
    client: httpx.Client, run: str
) -> None:
    upload(client, run, "output/a.html", b"<!doctype html><p>hello")
    url_prefix = create_frame(client, run)
    url = f"{url_prefix}output/a.html"
    got, policy = client.get(url), policy_of(client.get(url))
    assert policy["sandbox"] == "allow-scripts"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == f"blob: data: {BASE}{url_prefix[1:]}"
    assert policy["form-action"] == "'none'"
    assert not any("https:" in sources for sources in policy.values())
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.text.startswith("<!doctype html><script>")
    assert got.text.endswith("</script><p>hello")
    assert client.get(url, headers={"Sec-Fetch-Dest": "document"}).status_code == 403


def test_network_access_and_unconfined_scripts_exclude_other_folders(
    client: httpx.Client, run: str
) -> None:
    for path in ("top.html", "top.txt", "input/a.txt", "output/a.html", "output/deep/a.txt"):
        upload(client, run, path, b"x")
    url_prefix = create_frame(client, run, allow_external=True)
    got = client.get(f"{url_prefix}output/deep/a.txt")
    assert got.status_code == 200
    policy = client.get(f"{url_prefix}output/a.html").headers["content-security-policy"]
    assert f"img-src blob: data: {BASE}{url_prefix[1:]} https:;" in policy
    assert " http:;" not in policy
    assert client.get(f"{url_prefix}input/a.txt").status_code == 404
    assert client.get(f"{url_prefix}top.txt").status_code == 404
    url_prefix = create_frame(client, run, "top.html", allow_external=True)
    assert client.get(f"{url_prefix}top.txt").status_code == 200
    assert client.get(f"{url_prefix}input/a.txt").status_code == 404
    unconfined = create_frame(client, run, scripts="unconfined")
    assert client.get(f"{unconfined}output/deep/a.txt").status_code == 200
    assert client.get(f"{unconfined}input/a.txt").status_code == 404


def test_every_response_limits_connections_to_the_studio_and_drawings_run_no_scripts(
    client: httpx.Client, run: str
) -> None:
    for name in ("a.html", "a.svg"):
        upload(client, run, f"output/{name}", b"x")
    url_prefix = create_frame(client, run)
    for name in ("a.html", "a.svg", "none"):
        got = client.get(f"{url_prefix}output/{name}")
        assert got.headers["connection-allowlist"] == "(response-origin)", name
    drawing = client.get(f"{url_prefix}output/a.svg").headers["content-security-policy"]
    assert drawing.startswith("sandbox; default-src 'none'")


@pytest.mark.parametrize("wanted", [{}, {"scripts": "off"}])
def test_a_page_without_scripts_is_sent_unchanged(
    client: httpx.Client, run: str, wanted: dict[str, str]
) -> None:
    upload(client, run, "output/a.html", b"<p>hello")
    asked = {"path": "output/a.html", "base": BASE, **wanted}
    made = client.post(f"/api/runs/{run}/frames", json=asked).json()
    got = client.get(f"/{made['prefix']}output/a.html")
    assert (policy_of(got)["sandbox"], policy_of(got)["script-src"]) == ("", "'none'")
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
    url_prefix = create_frame(client, run)
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
        steps.take({"output/a.html": f"<p>{words}", "output/a.css": words})
    url_prefix = create_frame(client, steps.run, step=1)
    assert client.get(f"{url_prefix}output/a.html").text.endswith("<p>one")
    assert client.get(f"{url_prefix}output/a.css").text == "one"


def test_a_folder_shows_its_index_and_missing_files_are_reported(
    client: httpx.Client, run: str
) -> None:
    upload(client, run, "output/site/index.html", b"<p>the index")
    url_prefix = create_frame(client, run)
    assert "the index" in client.get(f"{url_prefix}output/site/").text
    for path in ("output/%2e%2e/%2e%2e/run.json", "none", ""):
        got = client.get(f"{url_prefix}{path}")
        assert got.status_code == 404, path
        assert got.headers["content-type"].startswith("text/plain")


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
    got = client.get(f"{create_frame(client, run)}output/a.html")
    assert got.content.startswith(b"<script>(() => {")
    assert got.headers["content-type"] == "text/html; charset=utf-8"


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
