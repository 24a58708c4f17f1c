"""Editing text files: encodings are kept and conflicting changes are detected."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.sandbox_ui.preview.file_changes import content, rewrite
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer

JAPANESE = "これは日本語です。\n".encode("shift_jis") * 9
pytestmark = pytest.mark.browser


@pytest.fixture
def conflict_viewer(browser: Browser, studio_url: str) -> Iterator[FileViewer]:
    """A file viewer whose console may report a rejected save."""
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
def test_saving_keeps_encoding_and_line_ends(
    viewer: FileViewer, before: bytes, after: bytes
) -> None:
    viewer.upload("file.txt", before)
    area = edit(viewer, "file.txt")
    area.press("Control+Home")
    area.press_sequentially("new\n")
    expect(state(viewer)).to_have_text("Unsaved changes")
    save(viewer)
    assert content(viewer, "file.txt") == after
    viewer.preview.get_by_role("button", name="Done").click()
    expect(viewer.canvas.locator(".row").first).to_have_text("new")


def test_tab_indents_until_escape_releases_the_focus(viewer: FileViewer) -> None:
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


def test_a_conflict_shows_both_versions(conflict_viewer: FileViewer) -> None:
    conflict_viewer.upload("file.txt", b"one\ntwo\nthree\n")
    area = edit(conflict_viewer, "file.txt")
    area.fill("one\nmine\nthree\n")
    rewrite(conflict_viewer, "file.txt", b"one\ntwo\ntheirs\n")
    alert = conflict_viewer.preview.get_by_role("alert")
    expect(alert).to_contain_text("changed on disk")
    expect(area).to_have_value("one\nmine\nthree\n")
    conflict_viewer.page.keyboard.press("Control+s")
    expect(alert).to_contain_text("your edits are safe")
    shown = conflict_viewer.preview.get_by_label(
        "Differences between the file on disk and your version"
    )
    expect(shown.locator(".del")).to_have_text(["two", "theirs"])
    expect(shown.locator(".add")).to_have_text(["mine", "three"])
    assert content(conflict_viewer, "file.txt") == b"one\ntwo\ntheirs\n"
    alert.get_by_role("button", name="Use the model's version").click()
    expect(area).to_have_value("one\ntwo\ntheirs\n")
    alert.get_by_role("button", name="Restore my version").click()
    expect(area).to_have_value("one\nmine\nthree\n")
    alert.get_by_role("button", name="Keep my version").click()
    expect(state(conflict_viewer)).not_to_have_text("Unsaved changes")
    assert content(conflict_viewer, "file.txt") == b"one\nmine\nthree\n"


def test_unsaved_text_is_restored_after_another_file_was_opened(viewer: FileViewer) -> None:
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


def test_a_file_that_saving_would_damage_cannot_be_edited(viewer: FileViewer) -> None:
    viewer.upload("broken.txt", "mostly right äöü\n".encode() * 20 + b"\xff broken\n")
    viewer.open()
    viewer.show("broken.txt")
    viewer.preview.get_by_role("button", name="Edit").click()
    expect(viewer.preview.get_by_role("alert")).to_contain_text("would lose them")
    expect(viewer.preview.get_by_label("Edit broken.txt")).to_be_disabled()


def test_a_large_file_cannot_be_edited(viewer: FileViewer) -> None:
    viewer.upload("large.txt", b"x\n" * 1_100_000)
    viewer.open()
    expect(viewer.show("large.txt").locator(".row").first).to_have_text("x")
    expect(viewer.preview.get_by_role("button", name="Edit")).to_have_count(0)
