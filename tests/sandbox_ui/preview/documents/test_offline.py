"""Framed pages reach no other host in the browsers that people use, and ask where they could."""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.sandbox_ui.preview.documents.test_html import MAP_PAGE
from tests.sandbox_ui.preview.served_files import ServedFiles
from tests.support.browser.chromium import FLAGS, LAUNCHER

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


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


def test_a_page_makes_no_webrtc_connection(served_files: ServedFiles, browser: Browser) -> None:
    """The page, a frame within it, and a drawing; Chromium 156 may kill the process of the page."""
    other = served_files.in_browser(browser)
    with webrtc_call(60) as (listener, call):  # a page without our headers connects
        other.page.goto(f"data:text/html,{quote(call)}")
        assert listener.recv(100)
    with webrtc_call(2) as (listener, call):  # the absence of a datagram has no event
        served_files.upload("output/a.svg", DRAWING.replace("CALL", call))
        page = f"{call}<iframe srcdoc='{call}'></iframe><iframe src='a.svg'></iframe>"
        served_files.upload("output/page.html", page)
        with other.page.expect_request("**/a.svg"):
            other.show("page.html")
        with pytest.raises(TimeoutError):
            listener.recv(100)
    other.page.close()


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

    def contacts(self) -> tuple[int, set[str]]:
        """Close it; returns how often it has connected, and the ``.test`` hosts that it looked up.

        A connection that sent nothing counts, too.
        """
        self.browser.close()
        self._listener.setblocking(False)
        count = 0
        with suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()
                count += 1
        return count, set(re.findall(r"[\w.-]+\.test\b", self._log.read_text()))


@contextmanager
def observed_browser(browser: Browser, log: Path, *flags: str) -> Iterator[ObservedBrowser]:
    """Launch a second browser, and observe its lookups of and connections to other hosts.

    This is full Chromium. Unlike the headless shell, it looks up a host and connects to it before
    it checks whether the page may navigate there.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        to = f"127.0.0.1:{listener.getsockname()[1]}"
        observing_flags = (f"--host-resolver-rules=MAP *.test {to}", f"--log-net-log={log}")
        other = browser.browser_type.launch(
            executable_path=LAUNCHER,
            args=[*FLAGS, *observing_flags, *flags],
            env={**os.environ, "FULL_CHROMIUM": "1"},
        )
        with closing(other):
            yield ObservedBrowser(other, listener, log)


UNCONFINED = "--disable-features=ConnectionAllowlists"


def test_navigation_resolves_no_external_host(
    served_files: ServedFiles, browser: Browser, tmp_path: Path
) -> None:
    served_files.upload("output/drawing.svg", DRAWN.replace("URL", "https://drawing.leak.test/"))
    for name, content in NAVIGATES.items():
        served_files.upload(
            f"output/{name}.html", content.replace("URL", f"https://{name}.leak.test/")
        )
    with observed_browser(browser, tmp_path / "log") as observed:
        other = served_files.in_browser(observed.browser)
        other.studio.open(f"{served_files.studio_url}/?run={served_files.run}")
        for name in NAVIGATES:
            other.studio.file(f"{name}.html").click()
            expect(other.frame.owner).to_have_attribute("title", f"{name}.html")
            other.page.wait_for_timeout(1000)  # the absence of a request has no event
        assert observed.contacts() == (0, set())


def test_an_unsupported_browser_asks_before_it_shows_a_page_or_runs_its_scripts(
    served_files: ServedFiles, browser: Browser, tmp_path: Path
) -> None:
    page = f"<p>shown<script>document.body.append(' run'); location = '{EXTERNAL_URL}'</script>"
    served_files.upload("output/page.html", page)
    served_files.upload("output/map.html", MAP_PAGE)
    served_files.upload("output/data.json", "{}")
    served_files.upload("input/secret.txt", "what was given")
    with observed_browser(browser, tmp_path / "log", UNCONFINED) as observed:
        other = served_files.in_browser(observed.browser)
        canvas = other.show("page.html")
        expect(canvas).to_contain_text("This browser cannot keep a page offline.")
        expect(canvas.locator("iframe")).to_have_count(0)
        other.studio.button("Show without scripts").click()
        expect(other.frame.locator("p")).to_have_text("shown")
        expect(canvas).to_contain_text("Scripts are disabled in this view.")
        assert observed.contacts() == (0, set())
    with observed_browser(browser, tmp_path / "log", UNCONFINED) as observed:
        other = served_files.in_browser(observed.browser)
        canvas = other.show("map.html")
        other.studio.button("Run scripts").click()
        expect(other.frame.locator("body")).to_contain_text("data.json 200")
        expect(other.frame.locator("body")).to_contain_text("../input/secret.txt 404")
        expect(canvas).to_contain_text("they can read only the page's own")
