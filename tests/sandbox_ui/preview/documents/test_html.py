"""The HTML preview: pages work but cannot reach the network or the application."""

import socket

import pytest
from playwright.sync_api import FrameLocator, Route, expect

from sandbox_ui.preview.documents import html as page
from tests.sandbox_ui.preview.file_viewer import FileViewer, received_bytes
from tests.sandbox_ui.preview.rendering import preview_data

# Console messages about requests of the framed page that the browser blocked.
EXPECTED_ERRORS = ("Content Security Policy", "sandboxed", "Framing", "status of 404", "null")


@pytest.fixture
def viewer(viewer: FileViewer) -> FileViewer:
    """A view of files whose console may report what the browser blocked of a framed page."""
    viewer.stage.expected_errors += EXPECTED_ERRORS
    return viewer


def show(viewer: FileViewer, content: str | bytes) -> FrameLocator:
    """Show a page; returns its frame."""
    viewer.view("page.html", content)
    return viewer.frame


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


def test_a_page_has_an_opaque_origin_without_storage(viewer: FileViewer) -> None:
    frame = show(viewer, PROBE_PAGE)
    expect(frame.locator("p")).to_have_css("color", "rgb(1, 2, 3)")
    expect(frame.locator("body")).to_contain_text(
        "origin null; CSS1Compat; alone; forgetful; no cookies;"
    )
    expect(viewer.page).not_to_have_title("taken")


LINKED_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Journey</title>
<link rel="stylesheet" href="parts/a.css"><script src="parts/a.js"></script>
<script type="module" src="parts/m.js"></script></head>
<body><p>Größe</p><img src="../input/dot.svg" alt="dot">
<script>
document.querySelector("img").decode().then(() => document.body.append("seen; "));
</script>"""


def test_a_page_loads_resources_of_the_workspace(viewer: FileViewer) -> None:
    viewer.write("parts/a.css", "p { color: rgb(4, 5, 6) }")
    viewer.write("parts/a.js", "window.one = 'script'")
    viewer.write(
        "parts/m.js",
        "import { two } from './n.js'; const data = await (await fetch('d e.geojson')).json();"
        "document.body.append(`${one}, ${two}, ${data.three}; `)",
    )
    viewer.write("parts/n.js", "export const two = 'module'")
    viewer.write("d e.geojson", '{"three": "data"}')
    dot = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
    viewer.write("../input/dot.svg", dot)
    frame = show(viewer, LINKED_PAGE)
    expect(frame.locator("p")).to_have_css("color", "rgb(4, 5, 6)")
    expect(frame.locator("body")).to_contain_text("Größe")
    expect(frame.locator("body")).to_contain_text("script, module, data; ")
    expect(frame.locator("body")).to_contain_text("seen; ")
    expect(viewer.preview.locator(".header")).to_contain_text("Journey")
    expect(viewer.preview.locator(".external-requests")).to_be_hidden()


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


def test_a_page_makes_no_external_requests(viewer: FileViewer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        frame = show(viewer, REQUESTING_PAGE.replace("ADDRESS", server_url))
        expect(frame.locator("body")).to_contain_text("rejected rejected rejected rejected")
        expect(frame.locator("body")).not_to_contain_text("A page.")
        assert received_bytes(listener) == b""
        assert len(viewer.page.context.pages) == 1
        assert viewer.page.url == viewer.stage.shown_url
        listed = viewer.preview.locator(".external-requests")
        expect(listed).to_contain_text("127.0.0.1")
        listed.locator("summary").click()
        expect(listed).to_contain_text(f"{server_url}/a is not HTTPS, always blocked")


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


def test_frames_within_a_page_that_overrides_builtins_run_no_scripts(viewer: FileViewer) -> None:
    """Frames in the page, in a declarative shadow root, and in a shadow root made by a script."""
    for name, replaced in REPLACED.items():
        page = SHADOWS.replace("REPLACED", replaced).replace("INNER", INNER)
        viewer.write(f"{name}.html", page)
    viewer.open()
    for name in REPLACED:
        viewer.show(f"{name}.html")
        expect(viewer.frame.owner).to_have_attribute("title", f"{name}.html")
        expect(viewer.frame.locator("body")).to_contain_text("asked")
        for number in range(3):
            within = viewer.frame.frame_locator("iframe").nth(number)
            expect(within.locator("body"), name).to_have_text("within")


def test_a_page_cannot_redirect_to_another_host(viewer: FileViewer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        show(viewer, f'<meta http-equiv="refresh" content="0;url={server_url}/x">hi')
        expect(viewer.frame.owner).to_be_visible()
        viewer.stage.wait_until(lambda: is_error_page_shown(viewer))
        expect(viewer.button("Source")).to_be_visible()
        assert received_bytes(listener) == b""


def is_error_page_shown(viewer: FileViewer) -> bool:
    """Whether the browser shows its own page in place of the previewed one."""
    return any(frame.url.startswith("chrome-error:") for frame in viewer.page.frames)


MAP_PAGE = """<!doctype html><title>Map</title><script src="https://maps.example/lib.js"></script><body>
<script>
document.body.append(window.library ? "library; " : "no library; ");
for (const path of ["data.json", "../input/secret.txt"])
  fetch(path).then((got) => document.body.append(path + " " + got.status + "; "));
const tile = new Image();
tile.onload = () => document.body.append("tile; ");
tile.src = "https://tiles.example/1.svg";
</script>"""


def test_external_requests_are_listed_and_can_be_allowed(viewer: FileViewer) -> None:
    def answer_external(route: Route) -> None:
        if route.request.url.endswith(".js"):
            route.fulfill(body="window.library = 1", content_type="text/javascript")
        else:
            body = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
            route.fulfill(body=body, content_type="image/svg+xml")

    viewer.page.route("https://*.example/**", answer_external)
    viewer.write("data.json", "{}")
    viewer.write("../input/secret.txt", "what was given")
    frame = show(viewer, MAP_PAGE)
    expect(frame.locator("body")).to_contain_text("no library; ")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 200")
    listed = viewer.preview.locator(".external-requests")
    expect(listed).to_contain_text("2 external requests blocked: maps.example, tiles.example")
    assert viewer.foreign == []

    viewer.button("Allow for this view").click()
    frame = viewer.frame
    expect(frame.locator("body")).to_contain_text("tile; ")
    expect(frame.locator("body")).not_to_contain_text("no library")
    assert set(viewer.foreign) == {"https://maps.example/lib.js", "https://tiles.example/1.svg"}
    viewer.foreign.clear()
    # With network access, it can read only its own folder.
    expect(frame.locator("body")).to_contain_text("data.json 200")
    expect(frame.locator("body")).to_contain_text("../input/secret.txt 404")

    viewer.button("Block external access").click()
    expect(viewer.frame.locator("body")).to_contain_text("no library; ")


NOISY_PAGE = """<script>for (let i = 0; i < 1000; i++)
  parent.postMessage({ studio: "blocked", address: `https://a${i}.example/` }, "*");
</script><p>done"""


ENDLESS_PAGE = """<script>function call() {
  for (let i = 0; i < 2000; i++) parent.postMessage(1, "*");
  setTimeout(call);
}
call();</script>"""


def test_an_endless_page_does_not_block_the_application(viewer: FileViewer) -> None:
    viewer.write("noise.html", NOISY_PAGE)
    viewer.write("endless.html", ENDLESS_PAGE)
    viewer.view("loop.html", "<p>busy<script>for (;;) alert(1)</script>")
    viewer.preview.locator("iframe").wait_for(state="attached")
    viewer.stage.file("noise.html").click()
    expect(viewer.frame.locator("p")).to_have_text("done")
    expect(viewer.preview.locator(".external-requests summary")).to_contain_text(
        "60 external requests blocked"
    )
    viewer.stage.file("endless.html").click()
    expect(viewer.canvas).to_contain_text("This page was stopped")
    viewer.button("Source").click()
    expect(viewer.canvas).to_contain_text("setTimeout(call)")


TALL_PAGE = (
    "<!doctype html><link rel=stylesheet href=a.css><p>WORDS</p><div style='height: 5000px'>"
)


def test_a_changed_page_reloads_and_keeps_its_scroll_position(viewer: FileViewer) -> None:
    viewer.write("a.css", "p { color: rgb(1, 1, 1) }")
    frame = show(viewer, TALL_PAGE.replace("WORDS", "one"))
    frame.locator("html").evaluate("scrollTo(0, 1234)")
    viewer.write("page.html", TALL_PAGE.replace("WORDS", "two"))
    expect(frame.locator("p")).to_have_text("two")
    viewer.page.wait_for_function("document.querySelectorAll('.preview iframe').length === 1")
    expect(frame.locator("p")).not_to_be_in_viewport()
    assert frame.locator("html").evaluate("scrollY") == 1234
    # The page is also reloaded when one of its resources changes.
    viewer.write("a.css", "p { color: rgb(2, 2, 2) }")
    expect(frame.locator("p")).to_have_css("color", "rgb(2, 2, 2)")


def test_links_open_workspace_pages_and_external_links_need_a_click(viewer: FileViewer) -> None:
    external_link = "<a href='https://away.example/x' target='_blank'>away</a>"
    viewer.write("docs/two.html", "<p>the second")
    frame = show(viewer, f"<a href='docs/two.html'>two</a> {external_link}")
    frame.get_by_text("away").click()
    link = viewer.page.get_by_role("link", name="Open link in new tab")
    expect(link).to_have_attribute("href", "https://away.example/x")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    frame.get_by_text("two").click()
    expect(frame.locator("p")).to_have_text("the second")
    viewer.button("Back to page.html").click()
    expect(viewer.frame.get_by_text("away")).to_be_visible()


def test_page_encodings_and_doctypes_are_respected_and_a_huge_page_shown_on_request(
    viewer: FileViewer,
) -> None:
    pages: dict[str, tuple[str | bytes, str]] = {
        "cut.html": ("<p>cut of", "cut of"),
        "utf-16.html": ("<!-- a --><!DOCTYPE html>\n<p>Größe".encode("utf-16"), "Größe"),
        "latin1.html": ("<meta charset=latin1><p>Größe".encode("latin1"), "Größe"),
        "xml.html": (b"\xef\xbb\xbf<?xml version='1.0'?><!doctype html><p>G\xc3\xb6", "Gö"),
    }
    for name, (content, _) in pages.items():
        viewer.write(name, content)
    viewer.view("huge.html", b"<p>big" + b" " * (33 * 1024**2))
    expect(viewer.canvas).to_contain_text("may load slowly")
    viewer.button("Show anyway").click()
    expect(viewer.frame.locator("p")).to_contain_text("big")
    for name, (_, shown) in pages.items():
        viewer.show(name)
        expect(viewer.frame.locator("p")).to_have_text(shown)


def test_external_resources_are_found_in_the_source() -> None:
    content = (
        '<title> A &amp; B </title><script src="//cdn.example/a.js?x=1&amp;y=2"></script>'
        '<link rel="icon" href="https://no.example/">'
        "<link href=https://s.example/s.css rel=stylesheet>"
        '<a href="https://no.example/"></a><img alt="x" src=https://i.example/i.png>'
        "<style>@import 'https://f.example/f.css'; p { background: url(https://[bad) }</style>"
    )
    found = ("cdn.example/a.js?x=1&y=2", "i.example/i.png", "s.example/s.css", "f.example/f.css")
    assert preview_data(page.view, content) == {
        "title": "A & B",
        "external_urls": [f"https://{each}" for each in found],
        "size": len(content),
    }
