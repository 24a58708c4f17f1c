"""The HTML preview: pages work but cannot reach the network or the application."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FrameLocator, Route, expect

from sandbox_ui.preview.documents import html as page
from tests.sandbox_ui.preview.file_viewer import preview_data
from tests.support import httpx
from tests.support.browser.chromium import FLAGS, LAUNCHER
from tests.support.browser.page_pool import release_page, take_page
from tests.support.tab import WIDE, StudioTab

# Console messages about requests of the framed page that the browser blocked.
EXPECTED_ERRORS = ("Content Security Policy", "sandboxed", "Framing", "status of 404", "null")


class HtmlTab:
    """A tab that previews the HTML pages of a run, by default of a new one."""

    def __init__(self, studio: StudioTab, studio_url: str, run: str = "") -> None:
        self.studio, self.page, self.studio_url = studio, studio.page, studio_url
        self.run = run or httpx.post(f"{studio_url}/api/runs").json()["run"]

    def upload(self, path: str, content: str | bytes) -> None:
        """Put a file into the workspace, replacing an existing one."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/{quote(path)}"
        httpx.delete(file_url).raise_for_status()
        body = content.encode() if isinstance(content, str) else content
        httpx.put(file_url, content=body).raise_for_status()

    def show(self, name: str = "page.html") -> FrameLocator:
        self.studio.open(f"{self.studio_url}/?run={self.run}")
        self.studio.file(name).click()
        return self.frame

    def wait_for_error_page(self) -> None:
        """Wait until the browser shows its own page in place of the previewed one."""
        while not any(frame.url.startswith("chrome-error:") for frame in self.page.frames):
            self.page.wait_for_timeout(20)  # lets Playwright follow the frames

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator(".preview iframe:not(.loading)")


@pytest.fixture
def tab(browser: Browser, studio_url: str) -> Iterator[HtmlTab]:
    page = take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]})
    tab = HtmlTab(StudioTab(page), studio_url)
    yield tab
    assert tab.page.evaluate("window.hacked") is None
    release_page(page)
    httpx.delete(f"{studio_url}/api/runs/{tab.run}").raise_for_status()  # drafts are limited
    errors = [
        each for each in tab.studio.errors if not any(word in each for word in EXPECTED_ERRORS)
    ]
    assert errors == []


PROBE_PAGE = """<!doctype html><style>p { color: rgb(1, 2, 3) }</style><p>A page.</p><script>
const say = (text) => document.body.append(text + "; ");
say("origin " + self.origin + "; " + document.compatMode);
try { parent.document.title = "taken"; say("reached"); } catch { say("alone"); }
try { localStorage.x = 1; say("stored"); } catch { say("forgetful"); }
try { document.cookie = "a=b"; say("baked"); } catch { say("no cookies"); }
parent.postMessage({ studio: "blocked", address: "https://<b>bold</b>.example/" }, "*");
parent.postMessage({ studio: "navigated", path: { length: 1 } }, "*");
parent.postMessage(null, "*");
</script>"""


@pytest.mark.browser
def test_a_page_has_an_opaque_origin_without_storage(tab: HtmlTab) -> None:
    tab.upload("output/page.html", PROBE_PAGE)
    frame = tab.show()
    expect(frame.locator("p")).to_have_css("color", "rgb(1, 2, 3)")
    expect(frame.locator("body")).to_contain_text(
        "origin null; CSS1Compat; alone; forgetful; no cookies;"
    )
    expect(tab.page).not_to_have_title("taken")


LINKED_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Journey</title>
<link rel="stylesheet" href="parts/a.css"><script src="parts/a.js"></script>
<script type="module" src="parts/m.js"></script></head>
<body><p>Größe</p><img src="../input/dot.svg" alt="dot">
<script>document.querySelector("img").onload = () => document.body.append("seen; ")</script>"""


@pytest.mark.browser
def test_a_page_loads_resources_of_the_workspace(tab: HtmlTab) -> None:
    tab.upload("output/page.html", LINKED_PAGE)
    tab.upload("output/parts/a.css", "p { color: rgb(4, 5, 6) }")
    tab.upload("output/parts/a.js", "window.one = 'script'")
    tab.upload(
        "output/parts/m.js",
        "import { two } from './n.js'; const data = await (await fetch('d e.geojson')).json();"
        "document.body.append(`${one}, ${two}, ${data.three}; `)",
    )
    tab.upload("output/parts/n.js", "export const two = 'module'")
    tab.upload("output/d e.geojson", '{"three": "data"}')
    dot = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
    tab.upload("input/dot.svg", dot)
    frame = tab.show()
    expect(frame.locator("p")).to_have_css("color", "rgb(4, 5, 6)")
    expect(frame.locator("body")).to_contain_text("Größe")
    expect(frame.locator("body")).to_contain_text("script, module, data; ")
    expect(frame.locator("body")).to_contain_text("seen; ")
    expect(tab.page.locator(".preview .header")).to_contain_text("Journey")
    expect(tab.page.locator(".external-requests")).to_be_hidden()


def received_bytes(listener: socket.socket) -> bytes:
    """The bytes that a server received; connections opened ahead of time send none."""
    listener.setblocking(False)
    received = b""
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return received
        with connection:
            connection.setblocking(False)
            with suppress(BlockingIOError):
                received += connection.recv(1000)


REQUESTING_PAGE = """<!doctype html><base href="ADDRESS/base/"><p>A page.</p>
<link rel="stylesheet" href="ADDRESS/style.css"><iframe src="ADDRESS/inner"></iframe>
<a id="top" href="ADDRESS/top" target="_top">top</a>
<form action="ADDRESS/form"><button>send</button></form><script>
const image = new Image();
const tried = [fetch("ADDRESS/a"), new Promise((_, no) => { image.onerror = no; })];
image.src = "ADDRESS/b";
navigator.sendBeacon("ADDRESS/beacon", "x");
new WebSocket("ADDRESS".replace("http", "ws")).onerror = () => {};
tried.push(new Promise(() => window.open("ADDRESS/window").x));
tried.pop();
tried.push((async () => navigator.serviceWorker.register("sw.js"))());
tried.push((async () => new RTCPeerConnection({}))());
document.forms[0].submit();
document.getElementById("top").click();
Promise.allSettled(tried).then((all) => {
  document.body.append(all.map((each) => each.status).join(" "));
  if (!location.hash) setTimeout(() => { location = "ADDRESS/c"; }, 1500);
});
</script>"""


@pytest.mark.browser
def test_a_page_makes_no_external_requests(tab: HtmlTab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tab.upload("output/page.html", REQUESTING_PAGE.replace("ADDRESS", server_url))
        frame = tab.show()
        expect(frame.locator("body")).to_contain_text("rejected rejected rejected rejected")
        expect(frame.locator("body")).not_to_contain_text("A page.")
        assert received_bytes(listener) == b""
        assert len(tab.page.context.pages) == 1
        assert tab.page.url.startswith(tab.studio_url)
        listed = tab.page.locator(".external-requests")
        expect(listed).to_contain_text("127.0.0.1")
        listed.locator("summary").click()
        expect(listed).to_contain_text(f"{server_url}/a is not HTTPS, always blocked")


WEBRTC_CALL = """<script>try {
  const call = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:PORT" }] });
  call.createDataChannel("x");
  call.createOffer().then((offer) => call.setLocalDescription(offer));
} catch {}</script>"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg">CALL</svg>"""


@contextmanager
def webrtc_call(seconds: float) -> Iterator[tuple[socket.socket, str]]:
    """Yield a UDP socket with a timeout, and HTML that opens a WebRTC connection to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(seconds)
        yield listener, WEBRTC_CALL.replace("PORT", str(listener.getsockname()[1]))


@pytest.mark.browser
def test_a_page_makes_no_webrtc_connection(tab: HtmlTab, browser: Browser) -> None:
    """The page, a frame within it, and a drawing; Chromium 156 may kill the process of the page."""
    other = open_in_new_tab(browser, tab)
    with webrtc_call(60) as (listener, call):  # a page without our headers connects
        other.page.goto(f"data:text/html,{quote(call)}")
        assert listener.recv(100)
    with webrtc_call(2) as (listener, call):  # the absence of a datagram has no event
        tab.upload("output/a.svg", DRAWING.replace("CALL", call))
        page = f"{call}<iframe srcdoc='{call}'></iframe><iframe src='a.svg'></iframe>"
        tab.upload("output/page.html", page)
        with other.page.expect_request("**/a.svg"):
            other.show()
        with pytest.raises(TimeoutError):
            listener.recv(100)
    other.page.close()


WITHIN = "<iframe srcdoc='INNER'></iframe>"
OPEN = f'<div><template shadowrootmode="open">{WITHIN}</template></div>'
REPLACED = {
    "hasAttribute": "Element.prototype.hasAttribute = () => false",
    "getAttribute": "Element.prototype.getAttribute = () => ''",
    "setAttribute": "Element.prototype.setAttribute = () => {}",
    "querySelectorAll": "Element.prototype.querySelectorAll = () => []",
    "forEach": "Array.prototype.forEach = NodeList.prototype.forEach = () => {}",
    "localName": "Object.defineProperty(Element.prototype, 'localName', { get: () => 'p' })",
    "type": "Object.defineProperty(MutationRecord.prototype, 'type', { get: () => 'attributes' })",
    "observe": "MutationObserver.prototype.observe = () => {}",
    "nothing": "",
}
SHADOWS = """<body><script>REPLACED</script><div>WITHIN</div>OPEN<p id="host"></p><script>
const [within] = document.getElementsByTagName("iframe");
document.getElementById("host").attachShadow({ mode: "open" }).append(within.cloneNode());
document.body.append("asked")</script>""".replace("OPEN", OPEN).replace("WITHIN", WITHIN)
INNER = '<script>document.write("ran")</script><p>within</p>'


@pytest.mark.browser
@pytest.mark.parametrize("replaced", REPLACED.values(), ids=REPLACED)
def test_frames_within_a_page_that_overrides_builtins_run_no_scripts(
    tab: HtmlTab, replaced: str
) -> None:
    """Frames in the page, in a declarative shadow root, and in a shadow root made by a script."""
    page = SHADOWS.replace("REPLACED", replaced).replace("INNER", INNER)
    tab.upload("output/page.html", page)
    frame = tab.show()
    expect(frame.locator("body")).to_contain_text("asked")
    for number in range(3):
        within = frame.frame_locator("iframe").nth(number)
        expect(within.locator("body")).to_have_text("within")


@pytest.mark.browser
def test_a_page_cannot_redirect_to_another_host(tab: HtmlTab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tab.upload(
            "output/page.html", f'<meta http-equiv="refresh" content="0;url={server_url}/x">hi'
        )
        tab.show()
        expect(tab.page.locator(".preview iframe:not(.loading)")).to_be_visible()
        tab.wait_for_error_page()
        tab.studio.button("Source").wait_for()
        assert received_bytes(listener) == b""


EXTERNAL_URL = "https://secret.leak.test/"
NAVIGATES = {
    "location": "<script>location = 'URL'</script>",
    "later": "<script>setTimeout(() => { location = 'URL' }, 100)</script>",
    "refresh": '<meta http-equiv="refresh" content="0;url=URL">',
    "frame": '<iframe src="URL"></iframe>',
    "frame-of-a-script": "<script>document.write('<iframe src=URL></iframe>')</script>",
    "link": "<a href='URL'>a</a><script>document.links[0].click()</script>",
    "srcdoc": "<iframe srcdoc=\"<script>location='URL'</script>\"></iframe>",
    "refresh-in-srcdoc": (
        "<iframe srcdoc=\"<meta http-equiv='refresh' content='0;url=URL'>\"></iframe>"
    ),
    "blank-frame": "<iframe></iframe><script>frames[0].location = 'URL'</script>",
    "drawing": '<iframe src="drawing.svg"></iframe>',
    "preconnect": '<link rel="preconnect" href="URL">',
    "dns-prefetch": '<link rel="dns-prefetch" href="URL">',
    "form": "<form action='URL'></form><script>document.forms[0].submit()</script>",
}
"""Pages that navigate to URL, whose host contains their name."""
DRAWN = """<svg xmlns="http://www.w3.org/2000/svg"><foreignObject>
<iframe xmlns="http://www.w3.org/1999/xhtml" src="URL"/></foreignObject></svg>"""


class ObservedBrowser:
    """A browser that resolves each ``.test`` host to a local listener, and a log of its lookups."""

    def __init__(self, browser: Browser, listener: socket.socket, log: Path) -> None:
        self.browser, self._listener, self._log = browser, listener, log

    def connection_count(self) -> int:
        """Close the browser and count the connections, including empty ones."""
        self.browser.close()
        self._listener.setblocking(False)
        count = 0
        with suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                count += 1
        return count

    def looked_up(self) -> set[str]:
        """The ``.test`` hosts that the closed browser looked up."""
        return set(re.findall(r"[\w.-]+\.test\b", self._log.read_text()))


@contextmanager
def observed_browser(browser: Browser, log: Path, *flags: str) -> Iterator[ObservedBrowser]:
    """Launch a second browser, and observe its lookups of and connections to other hosts.

    This is full Chromium. Unlike the headless shell, it looks up a host and connects to it before
    it checks whether the page may navigate there.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        to = f"127.0.0.1:{listener.getsockname()[1]}"
        observing_flags = (f"--host-resolver-rules=MAP *.test {to}", f"--log-net-log={log}")
        launch = browser.browser_type.launch
        other = launch(
            executable_path=LAUNCHER,
            args=[*FLAGS, *observing_flags, *flags],
            env={**os.environ, "FULL_CHROMIUM": "1"},
        )
        try:
            yield ObservedBrowser(other, listener, log)
        finally:
            other.close()


UNCONFINED = "--disable-features=ConnectionAllowlists"


def open_in_new_tab(browser: Browser, tab: HtmlTab) -> HtmlTab:
    """Return a new tab, of any browser, for the same run."""
    return HtmlTab(StudioTab(browser.new_page()), tab.studio_url, tab.run)


@pytest.mark.browser
def test_navigation_resolves_no_external_host(
    tab: HtmlTab, browser: Browser, tmp_path: Path
) -> None:
    tab.upload("output/drawing.svg", DRAWN.replace("URL", "https://drawing.leak.test/"))
    for name, content in NAVIGATES.items():
        tab.upload(f"output/{name}.html", content.replace("URL", f"https://{name}.leak.test/"))
    with observed_browser(browser, tmp_path / "log") as observed:
        other = open_in_new_tab(observed.browser, tab)
        other.studio.open(f"{tab.studio_url}/?run={tab.run}")
        for name in NAVIGATES:
            other.studio.file(f"{name}.html").click()
            expect(other.frame.owner).to_have_attribute("title", f"{name}.html")
            other.page.wait_for_timeout(1000)  # the absence of a request has no event
        assert observed.connection_count() == 0
        assert observed.looked_up() == set()


@pytest.mark.browser
def test_an_unsupported_browser_asks_before_it_shows_a_page(
    tab: HtmlTab, browser: Browser, tmp_path: Path
) -> None:
    page = f"<p>shown<script>document.body.append(' run'); location = '{EXTERNAL_URL}'</script>"
    tab.upload("output/page.html", page)
    with observed_browser(browser, tmp_path / "log", UNCONFINED) as observed:
        other = open_in_new_tab(observed.browser, tab)
        other.show()
        canvas = other.page.locator(".canvas")
        expect(canvas).to_contain_text("This browser cannot keep a page offline.")
        expect(canvas.locator("iframe")).to_have_count(0)
        other.studio.button("Show without scripts").click()
        expect(other.frame.locator("p")).to_have_text("shown")
        expect(canvas).to_contain_text("Scripts are disabled in this view.")
        assert observed.connection_count() == 0
        assert observed.looked_up() == set()


@pytest.mark.browser
def test_an_unsupported_browser_runs_scripts_only_on_request(
    tab: HtmlTab, browser: Browser, tmp_path: Path
) -> None:
    tab.upload("input/secret.txt", "what was given")
    tab.upload("output/page.html", MAP_PAGE)
    tab.upload("output/data.json", "{}")
    with observed_browser(browser, tmp_path / "log", UNCONFINED) as observed:
        other = open_in_new_tab(observed.browser, tab)
        other.show()
        other.studio.button("Run scripts").click()
        expect(other.frame.locator("body")).to_contain_text("data.json 200")
        expect(other.frame.locator("body")).to_contain_text("../input/secret.txt 404")
        expect(other.page.locator(".canvas")).to_contain_text("they can read only the page's own")


MAP_PAGE = """<!doctype html><title>Map</title><script src="https://maps.example/lib.js"></script><body>
<script>
document.body.append(window.library ? "library; " : "no library; ");
for (const path of ["data.json", "../input/secret.txt"])
  fetch(path).then((got) => document.body.append(path + " " + got.status + "; "));
const tile = new Image();
tile.onload = () => document.body.append("tile; ");
tile.src = "https://tiles.example/1.svg";
</script>"""


@pytest.mark.browser
def test_external_requests_are_listed_and_can_be_allowed(tab: HtmlTab) -> None:
    requested: list[str] = []

    def answer_external(route: Route) -> None:
        requested.append(route.request.url)
        if route.request.url.endswith(".js"):
            route.fulfill(body="window.library = 1", content_type="text/javascript")
        else:
            body = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
            route.fulfill(body=body, content_type="image/svg+xml")

    tab.page.route("https://*.example/**", answer_external)
    tab.upload("output/page.html", MAP_PAGE)
    tab.upload("output/data.json", "{}")
    tab.upload("input/secret.txt", "what was given")
    frame = tab.show()
    expect(frame.locator("body")).to_contain_text("no library; ")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 200")
    listed = tab.page.locator(".external-requests")
    expect(listed).to_contain_text("2 external requests blocked: maps.example, tiles.example")
    assert requested == []

    tab.studio.button("Allow for this view").click()
    frame = tab.frame
    expect(frame.locator("body")).to_contain_text("tile; ")
    expect(frame.locator("body")).not_to_contain_text("no library")
    assert set(requested) == {"https://maps.example/lib.js", "https://tiles.example/1.svg"}
    # With network access, it can read only its own folder.
    expect(frame.locator("body")).to_contain_text("data.json 200")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 404")

    tab.studio.button("Block external access").click()
    expect(tab.frame.locator("body")).to_contain_text("no library; ")


NOISY_PAGE = """<script>for (let i = 0; i < 1000; i++)
  parent.postMessage({ studio: "blocked", address: `https://a${i}.example/` }, "*");
</script><p>done"""


ENDLESS_PAGE = """<script>function call() {
  for (let i = 0; i < 2000; i++) parent.postMessage(1, "*");
  setTimeout(call);
}
call();</script>"""


@pytest.mark.browser
def test_an_endless_page_does_not_block_the_application(tab: HtmlTab) -> None:
    tab.upload("output/loop.html", "<p>busy<script>for (;;) alert(1)</script>")
    tab.upload("output/noise.html", NOISY_PAGE)
    tab.upload("output/endless.html", ENDLESS_PAGE)
    tab.show("loop.html")
    tab.page.locator(".preview iframe").wait_for(state="attached")
    tab.studio.file("noise.html").click()
    expect(tab.frame.locator("p")).to_have_text("done")
    expect(tab.page.locator(".external-requests summary")).to_contain_text(
        "60 external requests blocked"
    )
    tab.studio.file("endless.html").click()
    expect(tab.page.locator(".canvas")).to_contain_text("This page was stopped")
    tab.studio.button("Source").click()
    expect(tab.page.locator(".canvas")).to_contain_text("setTimeout(call)")


TALL_PAGE = (
    "<!doctype html><link rel=stylesheet href=a.css><p>WORDS</p><div style='height: 5000px'>"
)


@pytest.mark.browser
def test_a_changed_page_reloads_and_keeps_its_scroll_position(tab: HtmlTab) -> None:
    tab.upload("output/a.css", "p { color: rgb(1, 1, 1) }")
    tab.upload("output/page.html", TALL_PAGE.replace("WORDS", "one"))
    frame = tab.show()
    frame.locator("html").evaluate("scrollTo(0, 1234)")
    tab.upload("output/page.html", TALL_PAGE.replace("WORDS", "two"))
    expect(frame.locator("p")).to_have_text("two")
    tab.page.wait_for_function("document.querySelectorAll('.preview iframe').length === 1")
    expect(frame.locator("p")).not_to_be_in_viewport()
    assert frame.locator("html").evaluate("scrollY") == 1234
    # The page is also reloaded when one of its resources changes.
    tab.upload("output/a.css", "p { color: rgb(2, 2, 2) }")
    expect(frame.locator("p")).to_have_css("color", "rgb(2, 2, 2)")


@pytest.mark.browser
def test_links_open_workspace_pages_and_external_links_need_a_click(tab: HtmlTab) -> None:
    external_link = "<a href='https://away.example/x' target='_blank'>away</a>"
    tab.upload("output/page.html", f"<a href='docs/two.html'>two</a> {external_link}")
    tab.upload("output/docs/two.html", "<p>the second")
    frame = tab.show()
    frame.get_by_text("away").click()
    link = tab.page.get_by_role("link", name="Open link in new tab")
    expect(link).to_have_attribute("href", "https://away.example/x")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    frame.get_by_text("two").click()
    expect(frame.locator("p")).to_have_text("the second")
    tab.studio.button("Back to page.html").click()
    expect(tab.frame.get_by_text("away")).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("<p>cut of", "cut of"),
        ("<!-- a --><!DOCTYPE html>\n<p>Größe".encode("utf-16"), "Größe"),
        ("<meta charset=latin1><p>Größe".encode("latin1"), "Größe"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!doctype html><p>G\xc3\xb6", "Gö"),
    ],
)
def test_page_encodings_and_doctypes_are_respected(
    tab: HtmlTab, content: str | bytes, shown: str
) -> None:
    tab.upload("output/page.html", content)
    expect(tab.show().locator("p")).to_have_text(shown)


@pytest.mark.browser
def test_empty_and_huge_pages_are_reported(tab: HtmlTab) -> None:
    tab.upload("output/empty.html", "")
    tab.upload("output/huge.html", b"<p>big" + b" " * (33 * 1024**2))
    tab.show("empty.html")
    expect(tab.page.locator(".canvas")).to_contain_text("empty")
    tab.studio.file("huge.html").click()
    expect(tab.page.locator(".canvas")).to_contain_text("may load slowly")
    tab.studio.button("Show anyway").click()
    expect(tab.frame.locator("p")).to_contain_text("big")


def test_external_resources_are_found_in_the_source(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        '<title> A &amp; B </title><script src="//cdn.example/a.js?x=1&amp;y=2"></script>'
        '<link rel="icon" href="https://no.example/">'
        "<link href=https://s.example/s.css rel=stylesheet>"
        '<a href="https://no.example/"></a><img alt="x" src=https://i.example/i.png>'
        "<style>@import 'https://f.example/f.css'; p { background: url(https://[bad) }</style>"
    )
    assert preview_data(page.view, file) == {
        "title": "A & B",
        "external_urls": [
            "https://cdn.example/a.js?x=1&y=2",
            "https://i.example/i.png",
            "https://s.example/s.css",
            "https://f.example/f.css",
        ],
        "size": file.stat().st_size,
    }
