"""Security headers, cross-origin requests and injected scripts."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from tests.support import httpx
from tests.support.tab import StudioTab

pytestmark = pytest.mark.contract

INJECT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.hit = 'script'";
  document.body.append(script);
  const place = document.createElement("div");
  place.innerHTML = "<img src=x: onerror='window.hit = 1'><a href='javascript:hit=1'>x</a>";
  document.body.append(place);
  place.querySelector("a").click();
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def scripts_of(answer: httpx.Response) -> str:
    policy = answer.headers["content-security-policy"]
    return next(each for each in policy.split("; ") if each.startswith("script-src"))


def test_the_page_has_a_policy_and_its_scripts_a_fresh_nonce(studio_url: str) -> None:
    one, other = httpx.get(studio_url), httpx.get(studio_url)
    assert one.headers["x-content-type-options"] == "nosniff"
    assert one.headers["x-dns-prefetch-control"] == "off"
    assert "img-src 'self' data: blob:" in one.headers["content-security-policy"]
    nonce = re.search(r"'nonce-([\w-]{20,})'", scripts_of(one))
    assert nonce
    assert nonce[1] not in scripts_of(other)
    assert "unsafe-inline" not in scripts_of(one)
    assert set(re.findall(r"<script[^>]*?(?: nonce=\"([^\"]*)\")?[ >]", one.text)) == {nonce[1]}


def test_the_pages_own_requests_find_gradios_files_in_the_browsers_cache(studio_url: str) -> None:
    found = re.search(r"assets/index-[\w-]+\.js", httpx.get(studio_url).text)
    assert found
    headers = httpx.get(f"{studio_url}/{found[0]}").headers
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["vary"] == "accept-encoding"  # requests with and without an origin are one
    assert "cache-control" not in httpx.get(f"{studio_url}/assets/index-none.js").headers


@pytest.mark.parametrize("path", ["/login", "/look", "/healthz", "/api/runs", "/ui/main.js"])
def test_other_responses_allow_no_scripts(studio_url: str, path: str) -> None:
    assert scripts_of(httpx.get(studio_url + path)) == "script-src 'self' 'unsafe-eval'"


def test_no_websocket_is_opened(studio_url: str) -> None:
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    answer = httpx.get(f"{studio_url}/gradio_api/queue/join", headers=upgrade)
    assert answer.status_code >= 400


CROSS_ORIGIN_HEADERS = [
    {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    for site in ("cross-site", "same-site")
    for mode, dest in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"))
]
CROSS_ORIGIN_HEADERS += [
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
    {"Origin": "http://a.example"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", CROSS_ORIGIN_HEADERS, ids=lambda each: " ".join(each.values()))
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"])
def test_other_origins_read_and_change_nothing(
    studio_url: str, method: str, headers: dict[str, str]
) -> None:
    for path in ("/api/runs?q=x", "/config", "/ui/main.js", "/", "/gradio_api/run/stop"):
        answer = httpx.request(method, studio_url + path, headers=headers)
        assert answer.status_code == 403, path
        assert "access-control-allow-origin" not in answer.headers


def test_links_from_other_sites_and_requests_of_the_page_work(studio_url: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = httpx.get(studio_url, headers=headers | {"Sec-Fetch-Dest": "document"})
    assert answer.status_code == 200
    own = httpx.post(f"{studio_url}/api/runs", headers={"Origin": studio_url})
    assert own.status_code == 201


EMBEDDING_PAGE = """<!doctype html><body><script>
window.left = 6;
const one = () => { window.left -= 1; };
for (const tag of ["img", "script", "iframe"]) {
  const part = document.createElement(tag);
  part.onload = part.onerror = one;
  part.src = "AT";
  document.body.append(part);
}
fetch("AT", { mode: "no-cors" }).finally(one);
fetch("AT", { credentials: "include" }).catch(one);
const stream = new EventSource("AT");
stream.onerror = () => { stream.close(); one(); };
</script>"""


@pytest.fixture
def other_port(studio_url: str) -> Iterator[int]:
    """The port of another server, whose page embeds resources of the Studio."""
    page = EMBEDDING_PAGE.replace("AT", f"{studio_url}/config").encode()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_another_port_is_another_origin(
    studio_url: str, page: Page, name: str, other_port: int
) -> None:
    """Another port of the same host is the same site, so its requests carry cookies."""
    statuses: set[int] = set()
    own_url = f"{studio_url}/"
    page.on(
        "response", lambda got: statuses.add(got.status) if got.url.startswith(own_url) else None
    )
    page.goto(f"http://{name}:{other_port}/")
    page.wait_for_function("window.left === 0")
    assert statuses == {403}


@pytest.mark.nightly
@pytest.mark.browser
def test_injected_content_does_not_run(studio_url: str, page: Page) -> None:
    StudioTab(page).open(studio_url)
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.evaluate(INJECT)
    page.wait_for_function("document.querySelector('img[src=\"x:\"]').complete")
    assert page.evaluate("window.hit ?? null") is None
