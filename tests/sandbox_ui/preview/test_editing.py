"""Text changed in the page: saved as it was written, refused where it was changed meanwhile."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.sandbox_ui.preview.file_changes import content, rewrite
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer

JAPANESE = "これは日本語です。\n".encode("shift_jis") * 9
pytestmark = pytest.mark.browser


@pytest.fixture
def refused(browser: Browser, studio_url: str) -> Iterator[FileViewer]:
    """A file viewer whose console may report that saving was refused."""
    with open_file_viewer(browser, studio_url, excused=("412",)) as viewer:
        yield viewer


def edit(viewer: FileViewer, name: str) -> Locator:
    viewer.open()
    viewer.show(name)
    viewer.preview.get_by_role("button", name="Edit").click()
    area = viewer.preview.get_by_label(f"Edit {name}")
    expect(area).to_be_enabled()
    return area


def state(viewer: FileViewer) -> Locator:
    return viewer.preview.locator(".unsaved")


def save(viewer: FileViewer) -> None:
    viewer.page.keyboard.press("Control+s")
    expect(viewer.preview.get_by_role("button", name="Save", exact=True)).to_be_disabled()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\n", b"new\na\nb\n"),
        (b"a\r\nb\r\n", b"new\r\na\r\nb\r\n"),
        (b"a\r\nb\nc\r\n", b"new\r\na\r\nb\nc\r\n"),
        ("\ufeffä\n".encode(), "\ufeffnew\nä\n".encode()),
        ("ä\r\n".encode("utf-16"), "new\r\nä\r\n".encode("utf-16")),
        ("für 5 €\n".encode("cp1252") * 9, b"new\n" + "für 5 €\n".encode("cp1252") * 9),
        (JAPANESE, b"new\n" + JAPANESE),
    ],
    ids=["lf", "crlf", "mixed", "mark", "utf-16", "cp1252", "shift_jis"],
)  # fmt: skip
def test_encoding_and_line_ends_are_kept(viewer: FileViewer, before: bytes, after: bytes) -> None:
    viewer.upload("file.txt", before)
    area = edit(viewer, "file.txt")
    area.press("Control+Home")
    area.press_sequentially("new\n")
    expect(state(viewer)).to_have_text("Unsaved changes")
    save(viewer)
    assert content(viewer, "file.txt") == after
    viewer.preview.get_by_role("button", name="Done").click()
    expect(viewer.canvas.locator(".row").first).to_have_text("new")


def test_tab_indents_and_escape_lets_the_keyboard_leave(viewer: FileViewer) -> None:
    viewer.upload("file.py", b"a\nb\n")
    area = edit(viewer, "file.py")
    area.press("Control+a")
    area.press("Tab")
    expect(area).to_have_value("    a\n    b\n")
    area.press("Shift+Tab")
    expect(area).to_have_value("a\nb\n")
    area.press("Escape")
    area.press("Tab")
    expect(area).not_to_be_focused()


def test_both_versions_are_shown_where_it_was_changed_meanwhile(refused: FileViewer) -> None:
    refused.upload("file.txt", b"one\ntwo\nthree\n")
    area = edit(refused, "file.txt")
    area.fill("one\nmine\nthree\n")
    rewrite(refused, "file.txt", b"one\ntwo\ntheirs\n")
    alert = refused.preview.get_by_role("alert")
    expect(alert).to_contain_text("changed on disk")
    expect(area).to_have_value("one\nmine\nthree\n")
    refused.page.keyboard.press("Control+s")
    expect(alert).to_contain_text("your edits are safe")
    shown = refused.preview.get_by_label("Differences between the file on disk and your version")
    expect(shown.locator(".del")).to_have_text(["two", "theirs"])
    expect(shown.locator(".add")).to_have_text(["mine", "three"])
    assert content(refused, "file.txt") == b"one\ntwo\ntheirs\n"
    alert.get_by_role("button", name="Use the model's version").click()
    expect(area).to_have_value("one\ntwo\ntheirs\n")
    alert.get_by_role("button", name="Restore my version").click()
    expect(area).to_have_value("one\nmine\nthree\n")
    alert.get_by_role("button", name="Keep my version").click()
    expect(state(refused)).not_to_have_text("Unsaved changes")
    assert content(refused, "file.txt") == b"one\nmine\nthree\n"


def test_what_was_written_is_there_again_after_another_file(viewer: FileViewer) -> None:
    viewer.upload("a.txt", b"a\n")
    viewer.upload("b.txt", b"b\n")
    edit(viewer, "a.txt").fill("written\n")
    viewer.show("b.txt")
    expect(viewer.canvas.locator(".row").first).to_have_text("b")
    viewer.show("a.txt")
    area = viewer.preview.get_by_label("Edit a.txt")
    expect(area).to_have_value("written\n")
    viewer.preview.get_by_role("button", name="Discard changes").click()
    expect(area).to_have_value("a\n")
    viewer.preview.get_by_role("button", name="Done").click()
    expect(viewer.canvas.locator(".row").first).to_have_text("a")


def test_what_would_lose_bytes_is_not_changed(viewer: FileViewer) -> None:
    viewer.upload("broken.txt", "mostly right äöü\n".encode() * 20 + b"\xff broken\n")
    viewer.open()
    viewer.show("broken.txt")
    viewer.preview.get_by_role("button", name="Edit").click()
    expect(viewer.preview.get_by_role("alert")).to_contain_text("would lose them")
    expect(viewer.preview.get_by_label("Edit broken.txt")).to_be_disabled()


def test_large_text_has_no_pen(viewer: FileViewer) -> None:
    viewer.upload("large.txt", b"x\n" * 1_100_000)
    viewer.open()
    expect(viewer.show("large.txt").locator(".row").first).to_have_text("x")
    expect(viewer.preview.get_by_role("button", name="Edit")).to_have_count(0)
