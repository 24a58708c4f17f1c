"""The frame around every preview: what takes long, what breaks off, what is no file."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.sandbox_ui.preview.file_changes import rewrite
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer

pytestmark = pytest.mark.browser

CAME = """path => performance.getEntriesByType("resource")
    .filter(({ name, responseStatus }) => responseStatus === 200 && name.includes(path)).length"""


class Held:
    """The requests of a page that match a pattern, kept back until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._waiting: list[Route] | None = []
        page.route(pattern, self._came)

    def _came(self, route: Route) -> None:
        if self._waiting is None:
            route.continue_()
        else:
            self._waiting.append(route)

    def let_go(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for route in waiting:
            route.continue_()


@pytest.fixture
def shaken(browser: Browser, studio_url: str) -> Iterator[FileViewer]:
    """One whose connection may break off, of which the browser complains."""
    with open_file_viewer(browser, studio_url, excused=("Failed to load resource",)) as viewer:
        yield viewer


def reading(viewer: FileViewer) -> Locator:
    return viewer.preview.get_by_role("status").filter(has_text="oading")


def test_a_look_that_takes_long_says_so_and_for_how_long(viewer: FileViewer) -> None:
    viewer.upload("slow.txt", b"what it says")
    viewer.open()
    held = Held(viewer.page, "**/view/**")
    canvas = viewer.show("slow.txt")
    expect(canvas).to_contain_text("Loading…")
    expect(canvas).to_contain_text("Loading… 2 s")
    held.let_go()
    expect(canvas).to_contain_text("what it says")
    expect(reading(viewer)).to_have_count(0)


def test_what_is_seen_stays_while_its_change_is_read(viewer: FileViewer) -> None:
    viewer.upload("grows.txt", b"the first words\n")
    viewer.open()
    canvas = viewer.show("grows.txt")
    expect(canvas).to_contain_text("the first words")
    held = Held(viewer.page, "**/view/**")
    rewrite(viewer, "grows.txt", b"other words\n")
    expect(reading(viewer)).to_be_visible()
    expect(canvas).to_contain_text("the first words")
    held.let_go()
    expect(canvas).to_contain_text("other words")
    expect(reading(viewer)).to_have_count(0)


def test_nobody_waits_for_a_file_that_was_left(viewer: FileViewer) -> None:
    viewer.upload("slow.txt", b"slow words")
    viewer.upload("quick.txt", b"quick words")
    viewer.open()
    held = Held(viewer.page, "**/view/**slow.txt**")
    viewer.show("slow.txt")
    expect(reading(viewer)).to_be_visible()
    expect(viewer.show("quick.txt")).to_contain_text("quick words")
    held.let_go()
    expect(viewer.show("slow.txt")).to_contain_text("slow words")
    expect(viewer.show("quick.txt")).to_contain_text("quick words")


@pytest.mark.parametrize("part", ["tables/table.js", "tables/tables.css"])
def test_a_part_of_the_page_that_did_not_come_is_asked_for_again(
    shaken: FileViewer, part: str
) -> None:
    shaken.upload("cities.csv", b"city,people\nParis,2\n")
    shaken.open()
    shaken.page.route(f"**/preview/{part}*", lambda route: route.abort(), times=1)
    expect(shaken.show("cities.csv")).to_contain_text("Paris")
    assert shaken.page.evaluate(CAME, f"/preview/{part}") == 1


def test_where_the_connection_stays_away_one_may_try_again(shaken: FileViewer) -> None:
    shaken.upload("words.txt", b"the words")
    shaken.open()
    shaken.page.route("**/view/**", lambda route: route.abort())
    canvas = shaken.show("words.txt")
    expect(canvas).to_contain_text("Connection lost.")
    shaken.page.unroute("**/view/**")
    canvas.get_by_role("button", name="Try again").click()
    expect(canvas).to_contain_text("the words")


def test_what_is_seen_stays_where_its_change_cannot_be_fetched(shaken: FileViewer) -> None:
    shaken.upload("words.txt", b"the words\n")
    shaken.open()
    canvas = shaken.show("words.txt")
    expect(canvas).to_contain_text("the words")
    shaken.page.route("**/view/**", lambda route: route.abort())
    rewrite(shaken, "words.txt", b"other words\n")
    expect(shaken.preview.locator(".hd")).to_contain_text("This is the last version loaded")
    expect(canvas).to_contain_text("the words")


def test_what_is_no_file_says_what_it_is(viewer: FileViewer, data: Path) -> None:
    viewer.upload("plain.txt", b"words")
    (plain,) = data.glob("sandboxes/*/workspace/output/plain.txt")
    folder = plain.parent
    (folder / "leads.out").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    os.mknod(folder / "socket", stat.S_IFSOCK | 0o600)
    viewer.open()
    for name, says in (
        ("leads.out", "This is a link to “/etc/passwd”."),
        ("pipe", "This is a pipe, socket or device"),
        ("socket", "This is a pipe, socket or device"),
    ):
        canvas = viewer.show(name)
        expect(canvas).to_contain_text(says)
        expect(viewer.preview.get_by_role("link", name="Download")).to_have_count(0)
    expect(viewer.show("plain.txt")).to_contain_text("words")
    expect(viewer.preview.get_by_role("link", name="Download")).to_be_visible()
