"""The tree of files in the real browser: seen, walked, selected, changed, whatever the names."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, expect

from agent.events import FileChange, RunStarted, StepEnded, StepStarted, Totals, WorkspaceChanged
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from tests.sandbox_ui.preview.file_viewer import FileViewer, open_file_viewer
from tests.support.server import wait_until

pytestmark = pytest.mark.browser

# A change that is refused; a look at a file that has gone since.
REFUSED = ("/changes'", "/view/")


class Files:
    """A page with a run's files, and the workspace itself."""

    def __init__(self, viewer: FileViewer, data: Path) -> None:
        self.page, self.studio = viewer.page, viewer.studio
        self.open, self.show = viewer.open, viewer.show
        self.canvas, self.preview = viewer.canvas, viewer.preview
        self.studio_url = viewer.studio_url
        self.folder = RunFolder.open(data, viewer.run)

    @property
    def root(self) -> Path:
        return self.folder.workspace

    def write(self, *paths: str) -> None:
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(f"This is {path}.")

    def row(self, name: str) -> Locator:
        return self.studio.file(name)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def tree(self) -> Locator:
        return self.page.get_by_role("tree", name="Files")

    @property
    def selected(self) -> Locator:
        return self.tree.locator("[aria-selected=true]")

    @property
    def focused(self) -> Locator:
        return self.tree.locator("[role=treeitem]:focus")

    def names(self) -> list[str]:
        rows = self.tree.get_by_role("treeitem").all()
        return [str(row.get_attribute("aria-label")) for row in rows]

    def do(self, row: str, *path: str) -> None:
        """Choose something in a row's menu."""
        self.row(row).click(button="right")
        for name in path:
            self.page.get_by_role("menuitem", name=name).click()


@pytest.fixture
def files(browser: Browser, studio_url: str, data: Path) -> Iterator[Files]:
    expect.set_options(timeout=20_000)
    with open_file_viewer(browser, studio_url, excused=REFUSED) as viewer:
        yield Files(viewer, data)


def many(files: Files, folder: str = "output", count: int = 10_000) -> None:
    (files.root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (files.root / folder / f"{number}.txt").write_text(str(number))


def note_step(folder: RunFolder, changes: list[FileChange]) -> None:
    """Write down a step that did this."""
    started = RunStarted(
        run=folder.id,
        task="t",
        mode="sandbox",
        model="m",
        metered=True,
        prompt="",
        system="",
        user="",
    )
    journal = Journal(folder.journal)
    journal.append(started)
    journal.append(StepStarted(step=1, note=""))
    journal.append(WorkspaceChanged(step=1, changes=tuple(changes), total=len(changes)))
    journal.append(StepEnded(step=1, totals=Totals(steps=1)))
    journal.close()


# What is seen


def test_folders_are_first_and_input_and_output_are_open(files: Files) -> None:
    files.write("input/given.txt", "output/made.txt", "a/inner.txt", "b.txt")
    files.open()
    expect(files.row("made.txt")).to_be_visible()
    assert files.names() == ["input", "given.txt", "output", "made.txt", "a", "b.txt"]
    expect(files.row("made.txt")).to_have_attribute("aria-level", "2")
    expect(files.row("a")).to_have_attribute("aria-expanded", "false")
    expect(files.row("a")).to_have_attribute("aria-posinset", "3")
    expect(files.row("a")).to_have_attribute("aria-setsize", "4")
    expect(files.row("a")).to_contain_text("1 item")
    expect(files.row("b.txt")).to_contain_text("14 B")


def test_what_is_written_moved_and_removed_is_seen_at_once(files: Files) -> None:
    files.open()
    expect(files.row("output")).to_contain_text("empty")
    files.write("output/a.txt")
    expect(files.row("a.txt")).to_be_visible()
    (files.root / "output" / "a.txt").rename(files.root / "output" / "b.txt")
    expect(files.row("b.txt")).to_be_visible()
    expect(files.row("a.txt")).to_have_count(0)
    files.write("output/inner/c.txt")
    files.row("inner").click()
    expect(files.row("c.txt")).to_be_visible()
    (files.root / "output" / "inner" / "c.txt").unlink()
    expect(files.row("c.txt")).to_have_count(0)
    expect(files.row("inner")).to_contain_text("empty")


def test_the_order_is_chosen_and_remembered(files: Files) -> None:
    for age, (name, size) in enumerate([("b.txt", 5), ("a.txt", 70), ("c.txt", 900)]):
        (files.root / "output" / name).write_bytes(b"x" * size)
        os.utime(files.root / "output" / name, (1e9 - age, 1e9 - age))
    files.open()
    order = files.page.get_by_label("Sort files")
    expect(files.row("c.txt")).to_be_visible()
    assert files.names()[2:] == ["a.txt", "b.txt", "c.txt"]
    order.select_option("Newest first")
    expect(files.row("b.txt")).to_have_attribute("aria-posinset", "1")
    assert files.names()[2:] == ["b.txt", "a.txt", "c.txt"]
    files.page.reload()
    expect(files.row("b.txt")).to_have_attribute("aria-posinset", "1")
    order.select_option("Largest first")
    expect(files.row("c.txt")).to_have_attribute("aria-posinset", "1")
    assert files.names()[2:] == ["c.txt", "a.txt", "b.txt"]


def test_hidden_files_are_shown_when_wanted(files: Files) -> None:
    files.write("output/.hidden", "output/seen")
    files.open()
    expect(files.row("seen")).to_be_visible()
    expect(files.row(".hidden")).to_have_count(0)
    files.studio.button("More actions").click()
    files.page.get_by_role("menuitemcheckbox", name="Show hidden files").click()
    expect(files.row(".hidden")).to_be_visible()
    files.page.reload()
    expect(files.row(".hidden")).to_be_visible()


def test_the_filter_finds_files_in_closed_folders_and_goes_again(files: Files) -> None:
    files.write("a/deep/down/treasure.txt", "b.txt")
    files.open()
    box = files.page.get_by_label("Filter files")
    box.fill("treas")
    expect(files.row("treasure.txt")).to_contain_text("in a/deep/down")
    assert files.names() == ["treasure.txt"]
    files.write("c/treaserous.txt")
    expect(files.row("treaserous.txt")).to_be_visible()
    box.fill("nothing like it")
    expect(files.studio.workspace).to_contain_text("No file names match “nothing like it”.")
    box.press("Escape")
    expect(files.row("b.txt")).to_be_visible()
    box.fill("down")
    files.row("down").click()
    expect(files.row("treasure.txt")).to_have_attribute("aria-level", "4")
    expect(box).to_have_value("")


def test_a_folder_is_shown_alone_and_the_way_back_stands_above(files: Files) -> None:
    files.write("a/b/c/inner.txt", "beside.txt")
    files.open()
    files.row("a").click()
    files.do("b", "Show only this folder")
    expect(files.row("c")).to_have_attribute("aria-level", "1")
    expect(files.row("beside.txt")).to_have_count(0)
    crumbs = files.page.get_by_role("navigation", name="Current folder")
    expect(crumbs).to_have_text("workspace/a/b")
    crumbs.get_by_role("button", name="a", exact=True).click()
    expect(files.row("b")).to_have_attribute("aria-level", "1")
    crumbs.get_by_role("button", name="workspace").click()
    expect(files.row("beside.txt")).to_be_visible()


def test_a_folder_that_is_shown_alone_and_goes_leads_to_the_one_above(files: Files) -> None:
    files.write("a/b/inner.txt")
    files.open()
    files.row("a").click()
    files.do("b", "Show only this folder")
    expect(files.row("inner.txt")).to_be_visible()
    (files.root / "a" / "b" / "inner.txt").unlink()
    (files.root / "a" / "b").rmdir()
    expect(files.page.get_by_role("navigation", name="Current folder")).to_have_text("workspace/a")


def test_new_and_changed_files_are_marked_with_their_step_until_looked_at(files: Files) -> None:
    files.write("output/new.txt", "output/old.txt", "sub/inner.txt")
    changes = [
        FileChange("output/new.txt", "added"),
        FileChange("output/old.txt", "changed"),
        FileChange("sub/inner.txt", "added"),
    ]
    note_step(files.folder, changes)
    files.open()
    expect(files.row("new.txt")).to_contain_text("new · step 1")
    expect(files.row("old.txt")).to_contain_text("changed · step 1")
    expect(files.row("sub")).to_contain_text("1 new")
    files.show("new.txt")
    expect(files.row("new.txt").locator(".new")).to_have_text("step 1")
    files.page.reload()
    expect(files.row("old.txt")).to_contain_text("changed · step 1")
    expect(files.row("new.txt").locator(".new")).to_have_text("step 1")
    files.studio.button("More actions").click()
    files.page.get_by_role("menuitem", name="Mark all as read").click()
    expect(files.row("old.txt").locator(".new")).to_have_text("step 1")
    expect(files.row("sub").locator(".new")).to_have_text("")


def test_a_file_that_is_open_while_its_step_ends_is_not_marked_as_unread(
    files: Files,
) -> None:
    files.write("output/shown.txt", "output/other.txt")
    files.open()
    files.show("shown.txt")
    note_step(
        files.folder, [FileChange(f"output/{name}.txt", "added") for name in ("shown", "other")]
    )
    expect(files.row("other.txt")).to_contain_text("new · step 1")
    expect(files.row("shown.txt").locator(".new")).to_have_text("step 1")


def test_of_a_name_that_does_not_fit_the_end_is_seen(files: Files) -> None:
    name = f"{'a very long name of a ' * 6}photograph_0042.jpeg"
    files.write(f"output/{name}")
    files.open()
    whole = files.row(name).locator(".name")
    expect(whole).to_have_text(name)
    assert whole.evaluate("it => it.scrollWidth <= it.clientWidth")
    head, end = whole.locator(".head"), whole.locator(".tail")
    expect(end).to_have_text("0042.jpeg")
    assert head.evaluate("it => it.scrollWidth > it.clientWidth")
    assert end.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_before_there_is_a_run_the_workspace_says_what_it_is_for(files: Files) -> None:
    files.studio.open(files.studio_url)
    expect(files.studio.workspace.locator(".none")).to_contain_text("Drop files or folders")
    files.open()
    expect(files.studio.workspace.locator(".none")).to_be_hidden()


def test_under_a_document_stands_what_it_would_cost_in_a_prompt(files: Files) -> None:
    files.write("output/other.txt")
    (files.root / "output" / "long.md").write_text("word " * 5000)
    (files.root / "output" / "raw.bin").write_bytes(bytes(100))
    files.open()
    cost = files.preview.locator(".cost")
    files.show("long.md")
    expect(cost).to_contain_text(re.compile(r"^5,000 words · ≈ [\d.]+k tokens if pasted$"))
    files.show("other.txt")
    expect(cost).to_contain_text("3 words")
    files.show("raw.bin")
    expect(cost).to_be_hidden()


# Ten thousand files, a hundred levels, any name


def test_10000_files_in_one_folder_are_reached_and_opened(files: Files) -> None:
    many(files)
    files.open()
    expect(files.row("0.txt")).to_be_visible()
    expect(files.row("0.txt")).to_have_attribute("aria-setsize", "10000")
    assert files.tree.locator(".row").count() < 100
    files.row("0.txt").click()
    files.press("End")
    expect(files.focused).to_have_attribute("aria-label", "9999.txt")
    expect(files.focused).to_have_attribute("aria-posinset", "10000")
    assert files.tree.locator(".row").count() < 100
    files.press("Enter")
    expect(files.canvas).to_contain_text("9999")
    files.tree.evaluate("tree => { tree.scrollTop = tree.scrollHeight / 2; }")
    expect(files.row("5000.txt")).to_be_visible()
    files.show("5000.txt")
    expect(files.canvas).to_contain_text("5000")
    files.tree.evaluate("tree => { tree.scrollTop = 0; }")
    files.write("output/!.txt")
    expect(files.row("!.txt")).to_be_visible()


def test_a_file_that_is_chosen_elsewhere_is_scrolled_to(files: Files) -> None:
    many(files, "far/away", 3000)
    files.open()
    expect(files.row("far")).to_be_visible()
    files.page.evaluate(
        "async () => (await import(new URL('ui/core/event_stream.js', document.baseURI)))"
        ".emit('open-file', 'far/away/1500.txt')"
    )
    expect(files.row("1500.txt")).to_be_in_viewport()
    expect(files.row("1500.txt")).to_have_attribute("aria-selected", "true")
    expect(files.canvas).to_contain_text("1500")


def test_a_hundred_levels_deep_is_reached(files: Files) -> None:
    names = [f"level {number}" for number in range(100)]
    files.write("/".join([*names, "bottom.txt"]))
    files.open()
    expect(files.row("level 0")).to_be_visible()
    files.page.evaluate(
        "async path => (await import(new URL('ui/core/event_stream.js', document.baseURI)))"
        ".emit('open-file', path)",
        quote("/".join([*names, "bottom.txt"])),
    )
    expect(files.row("bottom.txt")).to_be_in_viewport()
    expect(files.row("bottom.txt")).to_have_attribute("aria-level", "101")
    expect(files.canvas).to_contain_text("This is level 0")
    assert files.tree.evaluate("tree => tree.scrollWidth <= tree.clientWidth")


HOSTILE = {
    b"two\nlines.txt": "two↵lines.txt",
    b"\"quotes\" 'and' <b>tags<b>.txt": "\"quotes\" 'and' <b>tags<b>.txt",
    "photo\u202egnp.exe".encode(): "photoRLOgnp.exe",
    "مرحبا.txt".encode(): "مرحبا.txt",
    b"raw-\xff\xfe.txt": "raw-%FF%FE.txt",
    b"x" * 251 + b".txt": "x" * 251 + ".txt",
    b"${alert(1)} %41 #?.txt": "${alert(1)} %41 #?.txt",
}


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name[:12]))
def test_any_name_is_shown_opened_and_downloaded(files: Files, name: bytes) -> None:
    with open(bytes(files.root) + b"/output/" + name, "wb") as file:  # noqa: PTH123
        file.write(b"What it says.")
    files.open()
    row = files.tree.locator(".row.file")
    expect(row).to_have_count(1)
    assert row.locator(".name").text_content() == HOSTILE[name]
    expect(row.locator(".name")).to_have_css("unicode-bidi", "isolate")
    row.click()
    expect(files.canvas).to_contain_text("What it says.")
    with files.page.expect_download() as download:
        row.click(button="right")
        files.page.get_by_role("menuitem", name="Download").click()
    assert Path(download.value.path()).read_bytes() == b"What it says."


def test_a_link_is_shown_with_where_it_points_and_not_followed(files: Files) -> None:
    (files.root / "output" / "out").symlink_to("/etc/passwd")
    files.open()
    row = files.row("out")
    expect(row).to_contain_text("→ /etc/passwd")
    row.click()
    expect(files.canvas).to_contain_text("This is a link to “/etc/passwd”.")
    expect(files.canvas).not_to_contain_text("root:")


# By keyboard


def test_the_keyboard_walks_opens_and_closes(files: Files) -> None:
    files.write("a/b/c.txt", "a/d.txt", "alpha.txt", "beta.txt", "bravo.txt")
    files.open()
    files.row("input").focus()
    files.press("End", "ArrowUp", "Home", "ArrowDown", "ArrowDown")
    expect(files.row("a")).to_be_focused()
    files.press("ArrowRight")
    expect(files.row("b")).to_be_visible()
    files.press("ArrowRight", "ArrowRight")
    expect(files.row("c.txt")).to_be_visible()
    files.press("ArrowDown", "Enter")
    expect(files.canvas).to_contain_text("This is a/b/c.txt.")
    files.press("ArrowLeft", "ArrowLeft")
    expect(files.row("b")).to_have_attribute("aria-expanded", "false")
    files.press("b")
    expect(files.row("beta.txt")).to_be_focused()
    files.press("b")
    expect(files.row("bravo.txt")).to_be_focused()


def test_typing_finds_a_name_that_is_far_away(files: Files) -> None:
    many(files, count=3000)
    files.write("output/wanted.txt")
    files.open()
    files.row("5.txt").click()
    files.page.keyboard.type("wan")
    expect(files.row("wanted.txt")).to_be_focused()
    expect(files.row("wanted.txt")).to_be_in_viewport()


def test_several_are_selected_by_keyboard_and_by_pointer(files: Files) -> None:
    files.write(*(f"output/{letter}.txt" for letter in "abcdef"))
    files.open()
    files.row("b.txt").click()
    files.press("Shift+ArrowDown", "Shift+ArrowDown")
    expect(files.selected).to_have_count(3)
    files.press("Escape")
    expect(files.selected).to_have_count(1)
    files.row("f.txt").click(modifiers=["Shift"])
    files.row("a.txt").click(modifiers=["ControlOrMeta"])
    expect(files.selected).to_have_count(4)
    expect(files.studio.workspace.locator(".count")).to_have_text("4 selected")
    files.press("Control+a")
    expect(files.selected).to_have_count(6)
    files.press("Control+ArrowDown", "Control+Space")
    expect(files.selected).to_have_count(5)


def test_all_of_a_large_folder_is_selected_though_few_rows_are_there(files: Files) -> None:
    many(files, count=2500)
    files.open()
    files.row("3.txt").click()
    files.press("Control+a")
    expect(files.studio.workspace.locator(".count")).to_have_text("2,500 selected")


def test_the_menu_opens_by_keyboard_and_gives_the_focus_back(files: Files) -> None:
    files.write("output/a.txt")
    files.open()
    files.row("a.txt").click()
    files.press("Shift+F10")
    expect(files.page.get_by_role("menuitem", name="Open", exact=True)).to_be_focused()
    files.press("ArrowUp")
    expect(files.page.get_by_role("menuitem", name="Delete")).to_be_focused()
    files.press("r")
    expect(files.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    files.press("Escape")
    expect(files.page.get_by_role("menu")).to_have_count(0)
    expect(files.row("a.txt")).to_be_focused()


# Beside the tree


def test_next_and_previous_go_through_the_files_in_their_order(files: Files) -> None:
    files.write("output/a.txt", "output/inner/b.txt", "output/z.txt")
    files.open()
    files.show("a.txt")
    files.studio.button("Next file").click()
    expect(files.canvas).to_contain_text("This is output/z.txt.")
    files.canvas.press("ArrowLeft")
    expect(files.canvas).to_contain_text("This is output/a.txt.")


def test_the_preview_follows_its_file_and_says_when_it_is_gone(files: Files) -> None:
    files.write("a/b/c.txt")
    files.open()
    files.row("a").click()
    files.row("b").click()
    files.show("c.txt")
    files.row("a").click()
    (files.root / "a" / "b" / "c.txt").write_text("It says something else.")
    expect(files.canvas).to_contain_text("It says something else.")
    (files.root / "a").rename(files.root.parent / "moved")
    expect(files.preview).to_contain_text("This file was deleted.")


def test_the_divider_moves_by_keyboard_and_stays_where_it_was_put(files: Files) -> None:
    files.write("output/a.txt")
    files.open()
    files.show("a.txt")
    divider = files.page.get_by_role("separator", name="Resize file tree")
    before = files.preview.bounding_box()
    divider.press("ArrowDown")
    divider.press("ArrowDown")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    after = files.preview.bounding_box()
    assert before
    assert after
    assert after["y"] > before["y"] + 10
    files.page.reload()
    files.show("a.txt")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    width = files.page.get_by_role("separator", name="Resize conversation")
    width.press("End")
    expect(width).to_have_attribute("aria-valuenow", "80")


# What is changed


def test_a_new_folder_and_a_new_file_are_made_where_they_are_wanted(files: Files) -> None:
    files.open()
    files.do("output", "New folder")
    files.page.get_by_label("New folder in “output”").last.fill("plans")
    files.press("Enter")
    expect(files.row("plans")).to_be_focused()
    files.do("plans", "New file")
    files.page.get_by_label("New file in “plans”").last.fill("größe 1.txt")
    files.press("Enter")
    expect(files.row("größe 1.txt")).to_be_focused()
    assert (files.root / "output" / "plans" / "größe 1.txt").read_bytes() == b""


def test_a_file_is_renamed_in_its_place_and_the_preview_goes_with_it(files: Files) -> None:
    files.write("output/a.txt")
    files.open()
    files.show("a.txt")
    files.press("F2")
    field = files.page.get_by_label("New name for a.txt")
    expect(field).to_have_value("a.txt")
    files.page.keyboard.type("b")
    files.press("Enter")
    expect(files.row("b.txt")).to_be_focused()
    expect(files.preview.locator(".hd b")).to_have_text("b.txt")
    assert (files.root / "output" / "b.txt").exists()
    files.press("F2", "Escape")
    expect(files.row("b.txt")).to_be_focused()
    files.write("output/c.txt")
    expect(files.row("c.txt")).to_be_visible()
    files.row("c.txt").focus()
    files.press("F2")
    files.page.get_by_label("New name for c.txt").fill("b.txt")
    files.press("Enter")
    expect(files.studio.workspace.locator(".toast")).to_contain_text(
        "Renamed “c.txt” to “b (2).txt”."
    )
    expect(files.row("b (2).txt")).to_be_focused()
    files.press("F2")
    files.page.get_by_label("New name for b (2).txt").fill("in/side.txt")
    files.press("Enter")
    expect(files.studio.workspace.locator(".toast.bad")).to_contain_text("not a single name")


def test_what_is_deleted_can_be_taken_back(files: Files) -> None:
    files.write("output/a.txt", "output/b.txt", "output/c.txt")
    files.open()
    files.row("a.txt").click()
    files.press("Shift+ArrowDown", "Delete")
    expect(files.row("a.txt")).to_have_count(0)
    expect(files.row("b.txt")).to_have_count(0)
    expect(files.row("c.txt")).to_be_focused()
    expect(files.studio.workspace.locator(".toast")).to_contain_text("Deleted 2 items.")
    files.studio.button("Undo").click()
    expect(files.row("b.txt")).to_be_visible()
    assert (files.root / "output" / "a.txt").read_text() == "This is output/a.txt."


def test_files_are_moved_by_cut_and_paste_by_dragging_and_by_choosing(files: Files) -> None:
    files.write("output/a.txt", "output/b.txt", "output/c.txt", "store/x.txt")
    files.open()
    files.row("a.txt").click()
    files.press("Control+x")
    files.row("store").focus()
    files.press("Control+v")
    wait_until(lambda: (files.root / "store" / "a.txt").exists())
    expect(files.row("output")).to_contain_text("2 items")
    expect(files.row("a.txt")).to_have_attribute("aria-level", "2")  # nothing moves any more
    files.row("b.txt").drag_to(files.row("store"))
    wait_until(lambda: (files.root / "store" / "b.txt").exists())
    expect(files.row("output")).to_contain_text("1 item")
    expect(files.row("b.txt")).to_be_focused()  # what was moved is brought, and then nothing moves
    files.do("c.txt", "Move to…")
    dialog = files.page.get_by_role("dialog", name="Move “c.txt” to")
    dialog.get_by_role("button", name="Parent folder").click()
    dialog.get_by_role("button", name="store").click()
    expect(dialog).to_contain_text("workspace / store")
    dialog.get_by_role("button", name="Move here").click()
    wait_until(lambda: (files.root / "store" / "c.txt").exists())
    files.row("output").focus()
    files.press("Control+z")
    wait_until(lambda: (files.root / "output" / "c.txt").exists())


def test_several_files_are_downloaded_as_one_zip(files: Files) -> None:
    files.write("output/a.txt", "output/b.txt")
    files.open()
    files.row("a.txt").click()
    files.press("Shift+ArrowDown", "Shift+F10")
    with files.page.expect_download() as download:
        files.page.get_by_role("menuitem", name="Download 2 items as zip").click()
    assert Path(download.value.path()).read_bytes().startswith(b"PK")


def test_files_dropped_on_a_folder_go_into_it(files: Files) -> None:
    files.write("store/x.txt")
    files.open()
    row = files.row("store")
    expect(row).to_be_visible()
    data = files.page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        " data.items.add(new File(['dropped'], 'dropped.txt')); return data; }"
    )
    row.dispatch_event("dragover", {"dataTransfer": data})
    expect(row).to_have_class("row folder target")
    row.dispatch_event("drop", {"dataTransfer": data})
    wait_until(lambda: (files.root / "store" / "dropped.txt").exists())
    assert (files.root / "store" / "dropped.txt").read_text() == "dropped"
    assert not list((files.root / "input").iterdir())
