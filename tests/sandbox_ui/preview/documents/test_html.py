"""A page that a run made: it works as it would at home, and it reaches nothing and nobody."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, FrameLocator, Route, expect

from sandbox_ui.preview.documents import html as page
from tests.sandbox_ui.preview.file_viewer import data_of
from tests.support.browser import CHROMIUM, FLAGS
from tests.support.tab import WIDE, StudioTab

# What the browser says of what it refused, the frame's page itself being to blame.
REFUSED = ("Content Security Policy", "sandboxed", "Framing", "status of 404", "null")


class Tab:
    """A tab with a run's pages in it."""

    def __init__(self, studio: StudioTab, studio_url: str) -> None:
        self.studio, self.tab, self.studio_url = studio, studio.page, studio_url
        self.run = httpx.post(f"{studio_url}/api/runs").json()["run"]

    def upload(self, path: str, content: str | bytes) -> None:
        """Put a file into the workspace, in place of the one that is there."""
        file_url = f"{self.studio_url}/api/runs/{self.run}/files/{quote(path)}"
        httpx.delete(file_url).raise_for_status()
        body = content.encode() if isinstance(content, str) else content
        httpx.put(file_url, content=body).raise_for_status()

    def show(self, name: str = "page.html") -> FrameLocator:
        self.studio.open(f"{self.studio_url}/?run={self.run}")
        self.studio.file(name).click()
        return self.frame

    @property
    def frame(self) -> FrameLocator:
        return self.tab.frame_locator(".preview iframe:not(.coming)")


@pytest.fixture
def tab(browser: Browser, studio_url: str) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    made = Tab(StudioTab(context.new_page()), studio_url)
    yield made
    assert made.tab.evaluate("window.hacked") is None
    context.close()
    httpx.delete(f"{studio_url}/api/runs/{made.run}").raise_for_status()  # drafts are limited
    said = [each for each in made.studio.errors if not any(word in each for word in REFUSED)]
    assert said == []


ALONE = """<!doctype html><style>p { color: rgb(1, 2, 3) }</style><p>A page.</p><script>
const say = (text) => document.body.append(text + "; ");
say("origin " + self.origin + "; " + document.compatMode);
try { parent.document.title = "taken"; say("reached"); } catch { say("alone"); }
try { localStorage.x = 1; say("stored"); } catch { say("forgetful"); }
try { document.cookie = "a=b"; say("baked"); } catch { say("no cookies"); }
parent.postMessage({ studio: "asked", address: "https://<b>bold</b>.example/" }, "*");
parent.postMessage({ studio: "hello", path: { length: 1 } }, "*");
parent.postMessage(null, "*");
</script>"""


@pytest.mark.browser
def test_a_page_is_looked_at_where_it_is_and_is_nobody(tab: Tab) -> None:
    tab.upload("output/page.html", ALONE)
    frame = tab.show()
    expect(frame.locator("p")).to_have_css("color", "rgb(1, 2, 3)")
    expect(frame.locator("body")).to_contain_text(
        "origin null; CSS1Compat; alone; forgetful; no cookies;"
    )
    expect(tab.tab).not_to_have_title("taken")


BESIDE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Journey</title>
<link rel="stylesheet" href="parts/a.css"><script src="parts/a.js"></script>
<script type="module" src="parts/m.js"></script></head>
<body><p>Größe</p><img src="../input/dot.svg" alt="dot">
<script>document.querySelector("img").onload = () => document.body.append("seen; ")</script>"""


@pytest.mark.browser
def test_a_page_finds_what_lies_beside_it(tab: Tab) -> None:
    tab.upload("output/page.html", BESIDE)
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
    expect(tab.tab.locator(".preview .hd")).to_contain_text("Journey")
    expect(tab.tab.locator(".outside")).to_be_hidden()


def said_to(listener: socket.socket) -> bytes:
    """What reached a server; a connection that a browser opens ahead of time says nothing."""
    listener.setblocking(False)
    said = b""
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return said
        with connection:
            connection.setblocking(False)
            with suppress(BlockingIOError):
                said += connection.recv(1000)


ASKS = """<!doctype html><base href="ADDRESS/base/"><p>A page.</p>
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
def test_a_page_asks_nothing_of_anybody(tab: Tab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tab.upload("output/page.html", ASKS.replace("ADDRESS", elsewhere))
        frame = tab.show()
        expect(frame.locator("body")).to_contain_text("rejected rejected rejected rejected")
        expect(frame.locator("body")).not_to_contain_text("A page.")
        assert said_to(listener) == b""
        assert len(tab.tab.context.pages) == 1
        assert tab.tab.url.startswith(tab.studio_url)
        listed = tab.tab.locator(".outside")
        expect(listed).to_contain_text("127.0.0.1")
        listed.locator("summary").click()
        expect(listed).to_contain_text(f"{elsewhere}/a is not HTTPS, always blocked")


CALLS = """<script>try {
  const call = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:PORT" }] });
  call.createDataChannel("x");
  call.createOffer().then((offer) => call.setLocalDescription(offer));
} catch {}</script>"""
NESTED = """<body>CALLS<iframe srcdoc='INNER'></iframe><iframe src="a.svg"></iframe><script>
document.body.append("asked")</script>"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg">CALLS</svg>"""


@pytest.mark.browser
def test_a_page_calls_nobody_from_a_frame_within_it(tab: Tab) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        calls = CALLS.replace("PORT", str(listener.getsockname()[1]))
        inner = f"{calls}<p>within</p>"
        page = NESTED.replace("CALLS", calls).replace("INNER", inner.replace("'", "&#39;"))
        tab.upload("output/page.html", page)
        tab.upload("output/a.svg", DRAWING.replace("CALLS", calls))
        frame = tab.show()
        expect(frame.locator("body")).to_contain_text("asked")
        expect(frame.frame_locator("iframe[srcdoc]").locator("p")).to_have_text("within")
        listener.settimeout(2)  # nothing tells that nothing comes
        with pytest.raises(TimeoutError):
            listener.recv(100)


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
SHADOWS = """<body>CALLS<script>REPLACED</script><div>WITHIN</div>OPEN<p id="host"></p><script>
const [within] = document.getElementsByTagName("iframe");
document.getElementById("host").attachShadow({ mode: "open" }).append(within.cloneNode());
document.body.append("asked")</script>"""


@pytest.mark.browser
@pytest.mark.parametrize("replaced", REPLACED.values(), ids=REPLACED)
def test_nor_where_it_replaces_what_quiets_that_frame(tab: Tab, replaced: str) -> None:
    """Three frames: one in the page, one in a shadow root of its HTML, and one of its script."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        calls = CALLS.replace("PORT", str(listener.getsockname()[1]))
        inner = f"{calls}<p>within</p>".replace("'", "&#39;")
        page = SHADOWS.replace("OPEN", OPEN).replace("WITHIN", WITHIN).replace("INNER", inner)
        tab.upload("output/page.html", page.replace("REPLACED", replaced).replace("CALLS", calls))
        frame = tab.show()
        expect(frame.locator("body")).to_contain_text("asked")
        for number in range(3):
            within = frame.frame_locator("iframe").nth(number)
            expect(within.locator("p")).to_have_text("within")
        listener.settimeout(2)  # nothing tells that nothing comes
        with pytest.raises(TimeoutError):
            listener.recv(100)


@pytest.mark.browser
def test_a_page_that_sends_itself_away_goes_nowhere(tab: Tab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tab.upload(
            "output/page.html", f'<meta http-equiv="refresh" content="0;url={elsewhere}/x">hi'
        )
        frame = tab.show()
        expect(frame.locator("body")).to_contain_text("blocked")
        tab.studio.button("Source").wait_for()
        assert said_to(listener) == b""


AWAY = "https://secret.leak.test/"
NAVIGATES = {
    "location": f"<script>location = '{AWAY}'</script>",
    "later": f"<script>setTimeout(() => {{ location = '{AWAY}' }}, 100)</script>",
    "refresh": f'<meta http-equiv="refresh" content="0;url={AWAY}">',
    "frame": f'<iframe src="{AWAY}"></iframe>',
    "frame of a script": f"<script>document.write('<iframe src={AWAY}></iframe>')</script>",
    "link": f"<a href='{AWAY}'>a</a><script>document.links[0].click()</script>",
    "srcdoc": f"<iframe srcdoc=\"<script>location='{AWAY}'</script>\"></iframe>",
    "refresh in srcdoc": (
        f"<iframe srcdoc=\"<meta http-equiv='refresh' content='0;url={AWAY}'>\"></iframe>"
    ),
    "blank frame": f"<iframe></iframe><script>frames[0].location = '{AWAY}'</script>",
    "drawing": '<iframe src="drawing.svg"></iframe>',
    "preconnect": f'<link rel="preconnect" href="{AWAY}">',
    "dns-prefetch": f'<link rel="dns-prefetch" href="{AWAY}">',
    "form": f"<form action='{AWAY}'></form><script>document.forms[0].submit()</script>",
}
DRAWN = f"""<svg xmlns="http://www.w3.org/2000/svg"><foreignObject>
<iframe xmlns="http://www.w3.org/1999/xhtml" src="{AWAY}"/></foreignObject></svg>"""


class Sink:
    """A browser for which every host of ``.test`` is a listener here, and what it looked up."""

    def __init__(self, browser: Browser, listener: socket.socket, log: Path) -> None:
        self.browser, self._listener, self._log = browser, listener, log

    def reached(self) -> int:
        """Connections that came, those that say nothing too; the browser ends."""
        self.browser.close()
        self._listener.setblocking(False)
        count = 0
        with suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                count += 1
        return count

    def resolved(self) -> bool:
        """Whether the network service was asked for such a host; the browser has ended."""
        lines = self._log.read_text().splitlines()
        return any("leak.test" in line for line in lines)


@contextmanager
def sinking(browser: Browser, log: Path, *flags: str) -> Iterator[Sink]:
    """Another browser like this one, of which all is seen that it asks of other hosts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        to = f"127.0.0.1:{listener.getsockname()[1]}"
        seen = (f"--host-resolver-rules=MAP *.test {to}", f"--log-net-log={log}")
        launch = browser.browser_type.launch
        other = launch(executable_path=CHROMIUM, args=[*FLAGS, *seen, *flags])
        try:
            yield Sink(other, listener, log)
        finally:
            other.close()


UNCONFINED = "--disable-features=ConnectionAllowlists"


def open_in(browser: Browser, tab: Tab) -> Tab:
    """The same run in a tab of another browser."""
    other = Tab.__new__(Tab)
    page = browser.new_page()
    other.studio, other.tab, other.studio_url, other.run = (
        StudioTab(page),
        page,
        tab.studio_url,
        tab.run,
    )
    return other


@pytest.mark.browser
@pytest.mark.parametrize("page", NAVIGATES.values(), ids=NAVIGATES)
def test_no_host_is_even_looked_up_when_a_page_navigates(
    tab: Tab, browser: Browser, tmp_path: Path, page: str
) -> None:
    tab.upload("output/drawing.svg", DRAWN)
    tab.upload("output/page.html", page)
    with sinking(browser, tmp_path / "log") as sink:
        other = open_in(sink.browser, tab)
        other.show()
        other.tab.wait_for_timeout(1000)  # nothing tells that nothing comes
        assert sink.reached() == 0
        assert not sink.resolved()


@pytest.mark.browser
def test_a_browser_that_cannot_confine_a_page_asks_before_it_shows_anything(
    tab: Tab, browser: Browser, tmp_path: Path
) -> None:
    page = f"<p>shown<script>document.body.append(' run'); location = '{AWAY}'</script>"
    tab.upload("output/page.html", page)
    with sinking(browser, tmp_path / "log", UNCONFINED) as sink:
        other = open_in(sink.browser, tab)
        other.show()
        canvas = other.tab.locator(".canvas")
        expect(canvas).to_contain_text("This browser cannot keep a page offline.")
        expect(canvas.locator("iframe")).to_have_count(0)
        other.studio.button("Show without scripts").click()
        expect(other.frame.locator("p")).to_have_text("shown")
        expect(canvas).to_contain_text("Scripts are disabled in this view.")
        assert sink.reached() == 0
        assert not sink.resolved()


@pytest.mark.browser
def test_where_it_cannot_confine_them_scripts_run_when_a_person_says_so(
    tab: Tab, browser: Browser, tmp_path: Path
) -> None:
    tab.upload("input/secret.txt", "what was given")
    tab.upload("output/page.html", MAP)
    tab.upload("output/data.json", "{}")
    with sinking(browser, tmp_path / "log", UNCONFINED) as sink:
        other = open_in(sink.browser, tab)
        other.show()
        other.studio.button("Run scripts").click()
        expect(other.frame.locator("body")).to_contain_text("data.json 200")
        expect(other.frame.locator("body")).to_contain_text("../input/secret.txt 404")
        expect(other.tab.locator(".canvas")).to_contain_text("they can read only the page's own")


MAP = """<!doctype html><title>Map</title><script src="https://maps.example/lib.js"></script><body>
<script>
document.body.append(window.library ? "library; " : "no library; ");
for (const path of ["data.json", "../input/secret.txt"])
  fetch(path).then((got) => document.body.append(path + " " + got.status + "; "));
const tile = new Image();
tile.onload = () => document.body.append("tile; ");
tile.src = "https://tiles.example/1.svg";
</script>"""


@pytest.mark.browser
def test_what_a_page_wants_outside_is_listed_and_allowed_by_one_button(tab: Tab) -> None:
    asked: list[str] = []

    def outside(route: Route) -> None:
        asked.append(route.request.url)
        if route.request.url.endswith(".js"):
            route.fulfill(body="window.library = 1", content_type="text/javascript")
        else:
            body = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
            route.fulfill(body=body, content_type="image/svg+xml")

    tab.tab.route("https://*.example/**", outside)
    tab.upload("output/page.html", MAP)
    tab.upload("output/data.json", "{}")
    tab.upload("input/secret.txt", "what was given")
    frame = tab.show()
    expect(frame.locator("body")).to_contain_text("no library; ")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 200")
    listed = tab.tab.locator(".outside")
    expect(listed).to_contain_text("2 external requests blocked: maps.example, tiles.example")
    assert asked == []

    tab.studio.button("Allow for this view").click()
    frame = tab.frame
    expect(frame.locator("body")).to_contain_text("tile; ")
    expect(frame.locator("body")).not_to_contain_text("no library")
    assert set(asked) == {"https://maps.example/lib.js", "https://tiles.example/1.svg"}
    # Now that it could tell somebody, it reads its own folder only.
    expect(frame.locator("body")).to_contain_text("data.json 200")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 404")

    tab.studio.button("Block external access").click()
    expect(tab.frame.locator("body")).to_contain_text("no library; ")


NOISE = """<script>for (let i = 0; i < 1000; i++)
  parent.postMessage({ studio: "asked", address: `https://a${i}.example/` }, "*");
</script><p>done"""


ENDLESS = """<script>function call() {
  for (let i = 0; i < 2000; i++) parent.postMessage(1, "*");
  setTimeout(call);
}
call();</script>"""


@pytest.mark.browser
def test_a_page_that_never_rests_holds_up_nothing_else(tab: Tab) -> None:
    tab.upload("output/loop.html", "<p>busy<script>for (;;) alert(1)</script>")
    tab.upload("output/noise.html", NOISE)
    tab.upload("output/endless.html", ENDLESS)
    tab.show("loop.html")
    tab.tab.locator(".preview iframe").wait_for(state="attached")
    tab.studio.file("noise.html").click()
    expect(tab.frame.locator("p")).to_have_text("done")
    expect(tab.tab.locator(".outside summary")).to_contain_text("60 external requests blocked")
    tab.studio.file("endless.html").click()
    expect(tab.tab.locator(".canvas")).to_contain_text("This page was stopped")
    tab.studio.button("Source").click()
    expect(tab.tab.locator(".canvas")).to_contain_text("setTimeout(call)")


TALL = "<!doctype html><link rel=stylesheet href=a.css><p>WORDS</p><div style='height: 5000px'>"


@pytest.mark.browser
def test_a_page_that_changes_is_shown_anew_where_it_was(tab: Tab) -> None:
    tab.upload("output/a.css", "p { color: rgb(1, 1, 1) }")
    tab.upload("output/page.html", TALL.replace("WORDS", "one"))
    frame = tab.show()
    frame.locator("html").evaluate("scrollTo(0, 1234)")
    tab.upload("output/page.html", TALL.replace("WORDS", "two"))
    expect(frame.locator("p")).to_have_text("two")
    tab.tab.wait_for_function("document.querySelectorAll('.preview iframe').length === 1")
    expect(frame.locator("p")).not_to_be_in_viewport()
    assert frame.locator("html").evaluate("scrollY") == 1234
    # So is one of which a part changes.
    tab.upload("output/a.css", "p { color: rgb(2, 2, 2) }")
    expect(frame.locator("p")).to_have_css("color", "rgb(2, 2, 2)")


@pytest.mark.browser
def test_links_lead_to_other_pages_of_the_workspace_and_outside_by_hand_only(tab: Tab) -> None:
    away = "<a href='https://away.example/x' target='_blank'>away</a>"
    tab.upload("output/page.html", f"<a href='docs/two.html'>two</a> {away}")
    tab.upload("output/docs/two.html", "<p>the second")
    frame = tab.show()
    frame.get_by_text("away").click()
    link = tab.tab.get_by_role("link", name="Open link in new tab")
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
def test_pages_of_all_kinds_are_read_as_they_are_written(
    tab: Tab, content: str | bytes, shown: str
) -> None:
    tab.upload("output/page.html", content)
    expect(tab.show().locator("p")).to_have_text(shown)


@pytest.mark.browser
def test_an_empty_page_and_a_huge_one_say_so(tab: Tab) -> None:
    tab.upload("output/empty.html", "")
    tab.upload("output/huge.html", b"<p>big" + b" " * (33 * 1024**2))
    tab.show("empty.html")
    expect(tab.tab.locator(".canvas")).to_contain_text("empty")
    tab.studio.file("huge.html").click()
    expect(tab.tab.locator(".canvas")).to_contain_text("may load slowly")
    tab.studio.button("Show anyway").click()
    expect(tab.frame.locator("p")).to_contain_text("big")


def test_the_source_tells_what_a_page_loads_from_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(
        '<title> A &amp; B </title><script src="//cdn.example/a.js?x=1&amp;y=2"></script>'
        '<link rel="icon" href="https://no.example/">'
        "<link href=https://s.example/s.css rel=stylesheet>"
        '<a href="https://no.example/"></a><img alt="x" src=https://i.example/i.png>'
        "<style>@import 'https://f.example/f.css'; p { background: url(https://[bad) }</style>"
    )
    assert data_of(page.view, file) == {
        "title": "A & B",
        "outside": [
            "https://cdn.example/a.js?x=1&y=2",
            "https://i.example/i.png",
            "https://s.example/s.css",
            "https://f.example/f.css",
        ],
        "size": file.stat().st_size,
    }
