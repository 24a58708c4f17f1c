"""The preview pane: slow previews, lost connections, and special files."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.sandbox_ui.preview.file_changes import rewrite
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer

pytestmark = pytest.mark.browser

LOADED_COUNT = """path => performance.getEntriesByType("resource")
    .filter(({ name, responseStatus }) => responseStatus === 200 && name.includes(path)).length"""


class PausedRequests:
    """Pauses the requests of a page that match a pattern until they are resumed."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._waiting: list[Route] | None = []
        page.route(pattern, self._handle)

    def _handle(self, route: Route) -> None:
        if self._waiting is None:
            route.continue_()
        else:
            self._waiting.append(route)

    def resume(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for route in waiting:
            route.continue_()


@pytest.fixture
def offline_viewer(browser: Browser, studio_url: str) -> Iterator[FileViewer]:
    """A file viewer whose console may report failed requests."""
    with open_file_viewer(browser, studio_url, excused=("Failed to load resource",)) as viewer:
        yield viewer


def loading_status(viewer: FileViewer) -> Locator:
    return viewer.preview.get_by_role("status").filter(has_text="oading")


def test_a_slow_preview_shows_its_loading_time(viewer: FileViewer) -> None:
    viewer.upload("slow.txt", b"what it says")
    viewer.open()
    paused = PausedRequests(viewer.page, "**/view/**")
    canvas = viewer.show("slow.txt")
    expect(canvas).to_contain_text("Loading…")
    expect(canvas).to_contain_text("Loading… 2 s")
    paused.resume()
    expect(canvas).to_contain_text("what it says")
    expect(loading_status(viewer)).to_have_count(0)


def test_the_old_content_stays_while_a_change_loads(viewer: FileViewer) -> None:
    viewer.upload("grows.txt", b"the first words\n")
    viewer.open()
    canvas = viewer.show("grows.txt")
    expect(canvas).to_contain_text("the first words")
    paused = PausedRequests(viewer.page, "**/view/**")
    rewrite(viewer, "grows.txt", b"other words\n")
    expect(loading_status(viewer)).to_be_visible()
    expect(canvas).to_contain_text("the first words")
    paused.resume()
    expect(canvas).to_contain_text("other words")
    expect(loading_status(viewer)).to_have_count(0)


def test_opening_another_file_does_not_wait_for_a_slow_one(viewer: FileViewer) -> None:
    viewer.upload("slow.txt", b"slow words")
    viewer.upload("quick.txt", b"quick words")
    viewer.open()
    paused = PausedRequests(viewer.page, "**/view/**slow.txt**")
    viewer.show("slow.txt")
    expect(loading_status(viewer)).to_be_visible()
    expect(viewer.show("quick.txt")).to_contain_text("quick words")
    paused.resume()
    expect(viewer.show("slow.txt")).to_contain_text("slow words")
    expect(viewer.show("quick.txt")).to_contain_text("quick words")


@pytest.mark.parametrize("part", ["tables/table.js", "tables/tables.css"])
def test_a_failed_module_is_requested_again(offline_viewer: FileViewer, part: str) -> None:
    offline_viewer.upload("cities.csv", b"city,people\nParis,2\n")
    offline_viewer.open()
    offline_viewer.page.route(f"**/preview/{part}*", lambda route: route.abort(), times=1)
    expect(offline_viewer.show("cities.csv")).to_contain_text("Paris")
    assert offline_viewer.page.evaluate(LOADED_COUNT, f"/preview/{part}") == 1


def test_a_lost_connection_offers_a_retry(offline_viewer: FileViewer) -> None:
    offline_viewer.upload("words.txt", b"the words")
    offline_viewer.open()
    offline_viewer.page.route("**/view/**", lambda route: route.abort())
    canvas = offline_viewer.show("words.txt")
    expect(canvas).to_contain_text("Connection lost.")
    offline_viewer.page.unroute("**/view/**")
    canvas.get_by_role("button", name="Try again").click()
    expect(canvas).to_contain_text("the words")


def test_the_old_content_stays_when_a_change_cannot_be_loaded(offline_viewer: FileViewer) -> None:
    offline_viewer.upload("words.txt", b"the words\n")
    offline_viewer.open()
    canvas = offline_viewer.show("words.txt")
    expect(canvas).to_contain_text("the words")
    offline_viewer.page.route("**/view/**", lambda route: route.abort())
    rewrite(offline_viewer, "words.txt", b"other words\n")
    expect(offline_viewer.preview.locator(".header")).to_contain_text(
        "This is the last version loaded"
    )
    expect(canvas).to_contain_text("the words")


def test_links_pipes_and_sockets_are_described(viewer: FileViewer, data: Path) -> None:
    viewer.upload("plain.txt", b"words")
    (plain,) = data.glob("sandboxes/*/workspace/output/plain.txt")
    folder = plain.parent
    (folder / "leads.out").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    viewer.open()
    for name, message in (
        ("leads.out", "This is a link to “/etc/passwd”."),
        ("pipe", "This is a pipe, socket or device"),
        ("socket", "This is a pipe, socket or device"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(message)
        expect(viewer.preview.get_by_role("link", name="Download")).to_have_count(0)
    expect(viewer.show("plain.txt")).to_contain_text("words")
    expect(viewer.preview.get_by_role("link", name="Download")).to_be_visible()
