"""The preview pane: slow previews, lost connections, and special files."""

import os
import stat

import pytest
from playwright.sync_api import Locator, expect

from tests.sandbox_ui.preview.file_viewer import FileViewer

pytestmark = pytest.mark.component

LOADED_COUNT = """path => performance.getEntriesByType("resource")
    .filter(({ name, responseStatus }) => responseStatus === 200 && name.includes(path)).length"""


def loading_status(viewer: FileViewer) -> Locator:
    return viewer.preview.get_by_role("status").filter(has_text="oading")


def test_a_slow_preview_shows_its_loading_time_or_the_old_content(viewer: FileViewer) -> None:
    with viewer.stage.hold("view/*"):
        canvas = viewer.view("slow.txt", b"what it says\n")
        expect(canvas).to_contain_text("Loading…")
        expect(canvas).to_contain_text("Loading… 2 s")
    expect(canvas).to_contain_text("what it says")
    expect(loading_status(viewer)).to_have_count(0)
    with viewer.stage.hold("view/*"):
        viewer.write("slow.txt", b"other words\n")
        expect(loading_status(viewer)).to_be_visible()
        expect(canvas).to_contain_text("what it says")
    expect(canvas).to_contain_text("other words")
    expect(loading_status(viewer)).to_have_count(0)


def test_opening_another_file_does_not_wait_for_a_slow_one(viewer: FileViewer) -> None:
    viewer.write("quick.txt", b"quick words")
    with viewer.stage.hold("view/output/slow.txt"):
        viewer.view("slow.txt", b"slow words")
        expect(loading_status(viewer)).to_be_visible()
        expect(viewer.show("quick.txt")).to_contain_text("quick words")
    expect(viewer.show("slow.txt")).to_contain_text("slow words")
    expect(viewer.show("quick.txt")).to_contain_text("quick words")


@pytest.mark.parametrize("part", ["tables/table.js", "tables/tables.css"])
def test_a_failed_module_is_requested_again(viewer: FileViewer, part: str) -> None:
    viewer.stage.expected_errors.append(part)
    viewer.page.route(f"**/preview/{part}*", lambda route: route.abort(), times=1)
    expect(viewer.view("cities.csv", b"city,people\nParis,2\n")).to_contain_text("Paris")
    assert viewer.page.evaluate(LOADED_COUNT, f"/preview/{part}") == 1


def test_a_lost_connection_offers_a_retry_and_keeps_the_old_content(viewer: FileViewer) -> None:
    viewer.stage.expected_errors.append("/view/")
    viewer.stage.fail("view/*")
    canvas = viewer.view("words.txt", b"the words\n")
    expect(canvas).to_contain_text("Connection lost.")
    viewer.stage.answer_again("view/*")
    canvas.get_by_role("button", name="Try again").click()
    expect(canvas).to_contain_text("the words")
    viewer.stage.fail("view/*")
    viewer.write("words.txt", b"other words\n")
    expect(viewer.details).to_contain_text("This is the last version loaded")
    expect(canvas).to_contain_text("the words")


def test_the_age_of_a_file_is_updated(viewer: FileViewer) -> None:
    viewer.page.clock.install()
    viewer.view("x.txt", b"x\n")
    expect(viewer.details).to_contain_text("modified just now")
    viewer.page.clock.fast_forward("05:00")
    expect(viewer.details).to_contain_text("modified 5 min ago")


def test_links_pipes_and_sockets_are_described(viewer: FileViewer) -> None:
    viewer.write("plain.txt", b"words")
    (viewer.folder / "leads.out").symlink_to("/etc/passwd")
    os.mkfifo(viewer.folder / "pipe")
    os.mknod(viewer.folder / "socket", stat.S_IFSOCK | 0o600)
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
