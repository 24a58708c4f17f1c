"""Editing text files: encodings are kept and conflicting changes are detected."""

import pytest
from playwright.sync_api import Locator, expect

from tests.sandbox_ui.preview.file_viewer import FileViewer

JAPANESE = "これは日本語です。\n".encode("shift_jis") * 9
pytestmark = pytest.mark.component


def edit(viewer: FileViewer, name: str, content: bytes) -> Locator:
    viewer.view(name, content)
    viewer.button("Edit").click()
    return viewer.preview.get_by_label(f"Edit {name}")


def lines(area: Locator) -> Locator:
    """The lines of the editor that are in its viewport."""
    return area.locator(".cm-line")


def state(viewer: FileViewer) -> Locator:
    return viewer.preview.locator(".unsaved")


def save(viewer: FileViewer) -> None:
    viewer.page.keyboard.press("Control+s")
    expect(viewer.button("Save")).to_be_disabled()


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
    area = edit(viewer, "file.txt", before)
    area.press("Control+Home")
    area.press_sequentially("new\n")
    expect(state(viewer)).to_have_text("Unsaved changes")
    save(viewer)
    assert viewer.read("file.txt") == after
    viewer.button("Done").click()
    expect(viewer.canvas.locator(".row").first).to_have_text("new")


def test_tab_indents_until_escape_releases_the_focus(viewer: FileViewer) -> None:
    area = edit(viewer, "file.py", b"a\nb\n")
    area.press("Control+a")
    area.press("Tab")
    expect(lines(area).first).to_have_js_property("textContent", "    a")
    area.press("Shift+Tab")
    expect(lines(area).first).to_have_js_property("textContent", "a")
    area.press("Control+z")
    area.press("Control+z")
    assert lines(area).all_text_contents() == ["a", "b", ""]
    area.press("Escape")
    area.press("Tab")
    expect(area).not_to_be_focused()


def test_a_conflict_shows_both_versions(viewer: FileViewer) -> None:
    viewer.stage.expected_errors.append("412")
    area = edit(viewer, "file.txt", b"one\ntwo\nthree\n")
    area.fill("one\nmine\nthree\n")
    viewer.write("file.txt", b"one\ntwo\ntheirs\n")
    alert = viewer.preview.get_by_role("alert")
    expect(alert).to_contain_text("changed on disk")
    expect(lines(area)).to_have_text(["one", "mine", "three", ""])
    viewer.page.keyboard.press("Control+s")
    expect(alert).to_contain_text("your edits are safe")
    expect(area.locator(".cm-deletedLine")).to_have_text(["two", "theirs"])
    expect(area.locator(".cm-changedLine")).to_have_text(["mine", "three"])
    assert viewer.read("file.txt") == b"one\ntwo\ntheirs\n"
    alert.get_by_role("button", name="Use the model's version").click()
    expect(lines(area)).to_have_text(["one", "two", "theirs", ""])
    alert.get_by_role("button", name="Restore my version").click()
    expect(lines(area)).to_have_text(["one", "mine", "three", ""])
    alert.get_by_role("button", name="Keep my version").click()
    expect(state(viewer)).to_have_text("Saved")
    assert viewer.read("file.txt") == b"one\nmine\nthree\n"


def test_single_changes_of_a_conflict_can_be_taken_from_the_file(viewer: FileViewer) -> None:
    area = edit(viewer, "file.txt", b"a\nb\nc\nd\ne\n")
    area.fill("mine\nb\nc\nd\nmine\n")
    viewer.write("file.txt", b"theirs\nb\nc\nd\ntheirs\n")
    viewer.button("Compare").click()
    area.get_by_role("button", name="Use the file's").first.click()
    area.get_by_role("button", name="Keep mine").click()
    expect(area.locator(".cm-deletedLine")).to_have_count(0)
    save(viewer)
    assert viewer.read("file.txt") == b"theirs\nb\nc\nd\nmine\n"


def test_unsaved_text_is_restored_after_another_file_was_opened(viewer: FileViewer) -> None:
    viewer.write("b.txt", b"b\n")
    edit(viewer, "a.txt", b"a\n").fill("written\n")
    viewer.show("b.txt")
    expect(viewer.canvas.locator(".row").first).to_have_text("b")
    viewer.show("a.txt")
    area = viewer.preview.get_by_label("Edit a.txt")
    expect(lines(area)).to_have_text(["written", ""])
    viewer.button("Discard changes").click()
    expect(lines(area)).to_have_text(["a", ""])
    viewer.button("Done").click()
    expect(viewer.canvas.locator(".row").first).to_have_text("a")


def test_a_large_file_or_one_that_saving_would_damage_cannot_be_edited(viewer: FileViewer) -> None:
    canvas = viewer.view("large.txt", b"x\n" * 1_100_000)
    expect(canvas.locator(".row").first).to_have_text("x")
    expect(viewer.button("Edit")).to_have_count(0)
    area = edit(viewer, "broken.txt", "mostly right äöü\n".encode() * 20 + b"\xff broken\n")
    expect(viewer.preview.get_by_role("alert")).to_contain_text("would lose them")
    expect(area).to_have_count(0)
    expect(viewer.button("Save")).to_be_disabled()


def test_the_editor_colours_folds_and_matches_brackets(viewer: FileViewer) -> None:
    area = edit(viewer, "tool.py", b"def main(value):\n    return 'x'\n")
    expect(area.locator(".syn-keyword")).to_have_text(["def", "return"])
    expect(area.locator(".syn-string")).to_have_text("'x'")
    area.press("Control+Home")
    for _ in "def main":
        area.press("ArrowRight")
    expect(area.locator(".cm-matchingBracket")).to_have_text(["(", ")"])
    viewer.preview.get_by_title("Fold", exact=True).click()
    expect(lines(area)).to_have_text("def main(value):⋯")


def test_text_is_found_and_replaced(viewer: FileViewer) -> None:
    area = edit(viewer, "file.txt", b"one two one\nOne\n")
    area.press("Control+f")
    viewer.page.get_by_label("Find", exact=True).fill("one")
    viewer.page.get_by_role("checkbox", name="Match case").check()
    viewer.page.get_by_label("Replace with").fill("1")
    viewer.page.get_by_role("button", name="Replace all").click()
    expect(lines(area)).to_have_text(["1 two 1", "One", ""])
    viewer.page.get_by_label("Replace with").press("Escape")
    expect(area).to_be_focused()
    save(viewer)
    assert viewer.read("file.txt") == b"1 two 1\nOne\n"


def test_a_hostile_text_is_marked_and_kept(viewer: FileViewer) -> None:
    hostile = "access \u202elevel\u2066\x07\n<img src=x onerror='window.hacked=1'>\n".encode()
    area = edit(viewer, "file.txt", hostile)
    expect(area.locator(".invisible")).to_have_text(["U+202E", "U+2066", "BEL"])
    area.press("Control+End")
    area.press_sequentially("end")
    save(viewer)
    assert viewer.read("file.txt") == hostile + b"end"


def test_the_end_of_a_long_text_and_a_long_line_can_be_edited(viewer: FileViewer) -> None:
    for name, long in (("lines.txt", b"x\n" * 200_000), ("line.txt", b"[" + b"1234," * 390_000)):
        area = edit(viewer, name, long)
        area.press("Control+End")
        area.press_sequentially("end")
        save(viewer)
        assert viewer.read(name) == long + b"end"
        viewer.button("Done").click()


def test_a_change_on_disk_is_shown_without_taking_the_focus(viewer: FileViewer) -> None:
    area = edit(viewer, "file.txt", b"one\ntwo\n")
    expect(area).to_be_focused()
    viewer.stage.task.focus()
    viewer.write("file.txt", b"one\n2\n")
    expect(lines(area)).to_have_text(["one", "2", ""])
    expect(viewer.stage.task).to_be_focused()
    expect(state(viewer)).to_have_text("")


def test_without_the_library_the_editor_says_how_to_install_it(viewer: FileViewer) -> None:
    viewer.remove("codemirror.js")
    edit(viewer, "file.txt", b"one\n")
    expect(viewer.preview.get_by_role("alert")).to_contain_text("make vendor")
