"""A look at a file that may be hostile: it is seen, and it reaches nothing."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.studio import LocalMachine, create, served
from tests.tab import WIDE, Studio, chromium

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><style>p { color: rgb(1, 2, 3) }</style><p>A page.</p><script>
const say = (text) => document.body.append(text + "; ");
say("origin " + self.origin);
try { parent.document.title = "taken"; say("reached"); } catch { say("alone"); }
try { localStorage.x = 1; say("stored"); } catch { say("forgetful"); }
</script>"""


# What the browser says of what it refused, and Gradio's page of a schema that only MCP has.
WANTED = ("Content Security Policy", "Framing", "mcp/schema")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    with served(create(Settings(data=data), LocalMachine(data))) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def studio(browser: Browser, address: str) -> Iterator[Studio]:
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    made = Studio(context.new_page())
    yield made
    context.close()
    assert [words for words in made.complaints if not any(each in words for each in WANTED)] == []


def test_a_page_is_looked_at_where_it_is_and_reaches_nothing(studio: Studio, address: str) -> None:
    run = httpx.post(f"{address}/api/runs").json()["run"]
    file = f"{address}/api/runs/{run}/files/output/page.html"
    httpx.put(file, content=PAGE.encode()).raise_for_status()
    studio.open(f"{address}/?run={run}")
    studio.file("page.html").click()
    frame = studio.page.frame_locator("iframe[title='page.html']")
    expect(frame.locator("p")).to_have_css("color", "rgb(1, 2, 3)")
    expect(frame.locator("body")).to_contain_text("origin null; alone; forgetful;")
    expect(studio.page).not_to_have_title("taken")


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


HOSTILE = """<p>A page.</p><script>
const image = new Image();
const tried = [fetch("ADDRESS/a"), new Promise((_, no) => { image.onerror = no; })];
image.src = "ADDRESS/b";
Promise.allSettled(tried).then((all) => {
  document.body.append(all.map((each) => each.status).join(" "));
  setTimeout(() => { location = "ADDRESS/c"; }, 100);
});
</script>"""


def test_a_page_asks_nothing_of_anybody(studio: Studio, address: str) -> None:
    run = httpx.post(f"{address}/api/runs").json()["run"]
    file = f"{address}/api/runs/{run}/files/output/page.html"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        elsewhere = f"http://127.0.0.1:{listener.getsockname()[1]}"
        page = HOSTILE.replace("ADDRESS", elsewhere)
        httpx.put(file, content=page.encode()).raise_for_status()
        studio.open(f"{address}/?run={run}")
        studio.file("page.html").click()
        frame = studio.page.frame_locator("iframe[title='page.html']")
        expect(frame.locator("body")).to_contain_text("rejected rejected")
        expect(frame.locator("body")).not_to_contain_text("A page.")
        assert said_to(listener) == b""


def test_the_interface_for_programs_is_a_click_away(studio: Studio, address: str) -> None:
    studio.open(address)
    studio.button("Settings").click()
    studio.button("For programs: the API").click()
    expect(studio.page.get_by_text("/start", exact=True).first).to_be_visible()
