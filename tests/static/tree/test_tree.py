"""The file tree in the browser: display, keyboard, selection, changes and unusual names."""

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

EVENT_STREAM = (
    "import(new URL(document.querySelector('meta[name=studio-modules]').content"
    " + 'core/event_stream.js', document.baseURI))"
)
"""The page's module, bundled or not."""

# A rejected change; a request for a file that was deleted.
EXPECTED_ERRORS = ("/changes'", "/view/")


class TreeTab:
    """A tab with locators for the file tree, and the workspace on disk."""

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

    def choose_in_menu(self, row: str, *path: str) -> None:
        """Choose an item of a row's context menu."""
        self.row(row).click(button="right")
        for name in path:
            self.page.get_by_role("menuitem", name=name).click()


@pytest.fixture
def tree_tab(browser: Browser, studio_url: str, data: Path) -> Iterator[TreeTab]:
    with open_file_viewer(browser, studio_url, excused=EXPECTED_ERRORS) as viewer:
        yield TreeTab(viewer, data)


def write_many(tree_tab: TreeTab, folder: str = "output", count: int = 10_000) -> None:
    (tree_tab.root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (tree_tab.root / folder / f"{number}.txt").write_text(str(number))


def write_step(folder: RunFolder, changes: list[FileChange]) -> None:
    """Write the journal of a step with these changes."""
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


# Display


def test_folders_come_first_and_input_and_output_are_expanded(tree_tab: TreeTab) -> None:
    tree_tab.write("input/given.txt", "output/made.txt", "a/inner.txt", "b.txt")
    tree_tab.open()
    expect(tree_tab.row("made.txt")).to_be_visible()
    assert tree_tab.names() == ["input", "given.txt", "output", "made.txt", "a", "b.txt"]
    expect(tree_tab.row("made.txt")).to_have_attribute("aria-level", "2")
    expect(tree_tab.row("a")).to_have_attribute("aria-expanded", "false")
    expect(tree_tab.row("a")).to_have_attribute("aria-posinset", "3")
    expect(tree_tab.row("a")).to_have_attribute("aria-setsize", "4")
    expect(tree_tab.row("a")).to_contain_text("1 item")
    expect(tree_tab.row("b.txt")).to_contain_text("14 B")


def test_file_changes_are_shown_immediately(tree_tab: TreeTab) -> None:
    tree_tab.open()
    expect(tree_tab.row("output")).to_contain_text("empty")
    tree_tab.write("output/a.txt")
    expect(tree_tab.row("a.txt")).to_be_visible()
    (tree_tab.root / "output" / "a.txt").rename(tree_tab.root / "output" / "b.txt")
    expect(tree_tab.row("b.txt")).to_be_visible()
    expect(tree_tab.row("a.txt")).to_have_count(0)
    tree_tab.write("output/inner/c.txt")
    tree_tab.row("inner").click()
    expect(tree_tab.row("c.txt")).to_be_visible()
    (tree_tab.root / "output" / "inner" / "c.txt").unlink()
    expect(tree_tab.row("c.txt")).to_have_count(0)
    expect(tree_tab.row("inner")).to_contain_text("empty")


def test_the_sort_order_is_remembered(tree_tab: TreeTab) -> None:
    for age, (name, size) in enumerate([("b.txt", 5), ("a.txt", 70), ("c.txt", 900)]):
        (tree_tab.root / "output" / name).write_bytes(b"x" * size)
        os.utime(tree_tab.root / "output" / name, (1e9 - age, 1e9 - age))
    tree_tab.open()
    order = tree_tab.page.get_by_label("Sort files")
    expect(tree_tab.row("c.txt")).to_be_visible()
    assert tree_tab.names()[2:] == ["a.txt", "b.txt", "c.txt"]
    order.select_option("Newest first")
    expect(tree_tab.row("b.txt")).to_have_attribute("aria-posinset", "1")
    assert tree_tab.names()[2:] == ["b.txt", "a.txt", "c.txt"]
    tree_tab.page.reload()
    expect(tree_tab.row("b.txt")).to_have_attribute("aria-posinset", "1")
    order.select_option("Largest first")
    expect(tree_tab.row("c.txt")).to_have_attribute("aria-posinset", "1")
    assert tree_tab.names()[2:] == ["c.txt", "a.txt", "b.txt"]


def test_hidden_files_are_shown_on_request(tree_tab: TreeTab) -> None:
    tree_tab.write("output/.hidden", "output/seen")
    tree_tab.open()
    expect(tree_tab.row("seen")).to_be_visible()
    expect(tree_tab.row(".hidden")).to_have_count(0)
    tree_tab.studio.button("More actions").click()
    tree_tab.page.get_by_role("menuitemcheckbox", name="Show hidden files").click()
    expect(tree_tab.row(".hidden")).to_be_visible()
    tree_tab.page.reload()
    expect(tree_tab.row(".hidden")).to_be_visible()


def test_the_filter_finds_files_in_collapsed_folders_and_can_be_cleared(tree_tab: TreeTab) -> None:
    tree_tab.write("a/deep/down/treasure.txt", "b.txt")
    tree_tab.open()
    box = tree_tab.page.get_by_label("Filter files")
    box.fill("treas")
    expect(tree_tab.row("treasure.txt")).to_contain_text("in a/deep/down")
    assert tree_tab.names() == ["treasure.txt"]
    tree_tab.write("c/treaserous.txt")
    expect(tree_tab.row("treaserous.txt")).to_be_visible()
    box.fill("nothing like it")
    expect(tree_tab.studio.workspace).to_contain_text("No file names match “nothing like it”.")
    box.press("Escape")
    expect(tree_tab.row("b.txt")).to_be_visible()
    box.fill("down")
    tree_tab.row("down").click()
    expect(tree_tab.row("treasure.txt")).to_have_attribute("aria-level", "4")
    expect(box).to_have_value("")


def test_a_folder_can_be_shown_alone_with_breadcrumbs(tree_tab: TreeTab) -> None:
    tree_tab.write("a/b/c/inner.txt", "beside.txt")
    tree_tab.open()
    tree_tab.row("a").click()
    tree_tab.choose_in_menu("b", "Show only this folder")
    expect(tree_tab.row("c")).to_have_attribute("aria-level", "1")
    expect(tree_tab.row("beside.txt")).to_have_count(0)
    crumbs = tree_tab.page.get_by_role("navigation", name="Current folder")
    expect(crumbs).to_have_text("workspace/a/b")
    crumbs.get_by_role("button", name="a", exact=True).click()
    expect(tree_tab.row("b")).to_have_attribute("aria-level", "1")
    crumbs.get_by_role("button", name="workspace").click()
    expect(tree_tab.row("beside.txt")).to_be_visible()


def test_deleting_the_folder_shown_alone_shows_its_parent(tree_tab: TreeTab) -> None:
    tree_tab.write("a/b/inner.txt")
    tree_tab.open()
    tree_tab.row("a").click()
    tree_tab.choose_in_menu("b", "Show only this folder")
    expect(tree_tab.row("inner.txt")).to_be_visible()
    (tree_tab.root / "a" / "b" / "inner.txt").unlink()
    (tree_tab.root / "a" / "b").rmdir()
    expect(tree_tab.page.get_by_role("navigation", name="Current folder")).to_have_text(
        "workspace/a"
    )


def test_new_and_changed_files_are_marked_until_opened(tree_tab: TreeTab) -> None:
    tree_tab.write("output/new.txt", "output/old.txt", "sub/inner.txt")
    changes = [
        FileChange("output/new.txt", "added"),
        FileChange("output/old.txt", "changed"),
        FileChange("sub/inner.txt", "added"),
    ]
    write_step(tree_tab.folder, changes)
    tree_tab.open()
    expect(tree_tab.row("new.txt")).to_contain_text("new · step 1")
    expect(tree_tab.row("old.txt")).to_contain_text("changed · step 1")
    expect(tree_tab.row("sub")).to_contain_text("1 new")
    tree_tab.show("new.txt")
    expect(tree_tab.row("new.txt").locator(".new")).to_have_text("step 1")
    tree_tab.page.reload()
    expect(tree_tab.row("old.txt")).to_contain_text("changed · step 1")
    expect(tree_tab.row("new.txt").locator(".new")).to_have_text("step 1")
    tree_tab.studio.button("More actions").click()
    tree_tab.page.get_by_role("menuitem", name="Mark all as read").click()
    expect(tree_tab.row("old.txt").locator(".new")).to_have_text("step 1")
    expect(tree_tab.row("sub").locator(".new")).to_have_text("")


def test_a_file_open_when_its_step_ends_is_not_marked_as_new(
    tree_tab: TreeTab,
) -> None:
    tree_tab.write("output/shown.txt", "output/other.txt")
    tree_tab.open()
    tree_tab.show("shown.txt")
    write_step(
        tree_tab.folder, [FileChange(f"output/{name}.txt", "added") for name in ("shown", "other")]
    )
    expect(tree_tab.row("other.txt")).to_contain_text("new · step 1")
    expect(tree_tab.row("shown.txt").locator(".new")).to_have_text("step 1")


def test_a_long_name_is_truncated_in_the_middle(tree_tab: TreeTab) -> None:
    name = f"{'a very long name of a ' * 6}photograph_0042.jpeg"
    tree_tab.write(f"output/{name}")
    tree_tab.open()
    label = tree_tab.row(name).locator(".name")
    expect(label).to_have_text(name)
    assert label.evaluate("it => it.scrollWidth <= it.clientWidth")
    head, end = label.locator(".head"), label.locator(".tail")
    expect(end).to_have_text("0042.jpeg")
    assert head.evaluate("it => it.scrollWidth > it.clientWidth")
    assert end.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_the_workspace_explains_itself_before_a_run(tree_tab: TreeTab) -> None:
    tree_tab.studio.open(tree_tab.studio_url)
    expect(tree_tab.studio.workspace.locator(".empty-message")).to_contain_text(
        "Drop files or folders"
    )
    tree_tab.open()
    expect(tree_tab.studio.workspace.locator(".empty-message")).to_be_hidden()


def test_a_document_shows_its_prompt_token_count(tree_tab: TreeTab) -> None:
    tree_tab.write("output/other.txt")
    (tree_tab.root / "output" / "long.md").write_text("word " * 5000)
    (tree_tab.root / "output" / "raw.bin").write_bytes(bytes(100))
    tree_tab.open()
    cost = tree_tab.preview.locator(".cost")
    tree_tab.show("long.md")
    expect(cost).to_contain_text(re.compile(r"^5,000 words · ≈ [\d.]+k tokens if pasted$"))
    tree_tab.show("other.txt")
    expect(cost).to_contain_text("3 words")
    tree_tab.show("raw.bin")
    expect(cost).to_be_hidden()


# Many files, deep folders, unusual names


def test_a_closed_folder_is_counted_up_to_a_thousand(tree_tab: TreeTab) -> None:
    tree_tab.write(*(f"output/many/{number}.txt" for number in range(1000)))
    tree_tab.open()
    expect(tree_tab.row("many")).to_contain_text("1,000+ items")


def test_ten_thousand_files_in_one_folder_can_be_scrolled_and_opened(tree_tab: TreeTab) -> None:
    write_many(tree_tab)
    tree_tab.open()
    expect(tree_tab.row("0.txt")).to_be_visible()
    expect(tree_tab.row("0.txt")).to_have_attribute("aria-setsize", "10000")
    assert tree_tab.tree.locator(".row").count() < 100
    tree_tab.row("0.txt").click()
    tree_tab.press("End")
    expect(tree_tab.focused).to_have_attribute("aria-label", "9999.txt")
    expect(tree_tab.focused).to_have_attribute("aria-posinset", "10000")
    assert tree_tab.tree.locator(".row").count() < 100
    tree_tab.press("Enter")
    expect(tree_tab.canvas).to_contain_text("9999")
    tree_tab.tree.evaluate("tree => { tree.scrollTop = tree.scrollHeight / 2; }")
    expect(tree_tab.row("5000.txt")).to_be_visible()
    tree_tab.show("5000.txt")
    expect(tree_tab.canvas).to_contain_text("5000")
    tree_tab.tree.evaluate("tree => { tree.scrollTop = 0; }")
    tree_tab.write("output/!.txt")
    expect(tree_tab.row("!.txt")).to_be_visible()


def test_a_file_opened_elsewhere_is_scrolled_into_view(tree_tab: TreeTab) -> None:
    write_many(tree_tab, "far/away", 3000)
    tree_tab.open()
    expect(tree_tab.row("far")).to_be_visible()
    tree_tab.page.evaluate(
        f"async () => (await {EVENT_STREAM}).emit('open-file', 'far/away/1500.txt')"
    )
    expect(tree_tab.row("1500.txt")).to_be_in_viewport()
    expect(tree_tab.row("1500.txt")).to_have_attribute("aria-selected", "true")
    expect(tree_tab.canvas).to_contain_text("1500")


def test_a_file_a_hundred_levels_deep_can_be_opened(tree_tab: TreeTab) -> None:
    names = [f"level {number}" for number in range(100)]
    tree_tab.write("/".join([*names, "bottom.txt"]))
    tree_tab.open()
    expect(tree_tab.row("level 0")).to_be_visible()
    tree_tab.page.evaluate(
        f"async path => (await {EVENT_STREAM}).emit('open-file', path)",
        quote("/".join([*names, "bottom.txt"])),
    )
    expect(tree_tab.row("bottom.txt")).to_be_in_viewport()
    expect(tree_tab.row("bottom.txt")).to_have_attribute("aria-level", "101")
    expect(tree_tab.canvas).to_contain_text("This is level 0")
    assert tree_tab.tree.evaluate("tree => tree.scrollWidth <= tree.clientWidth")


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
def test_unusual_names_are_shown_opened_and_downloaded(tree_tab: TreeTab, name: bytes) -> None:
    with open(bytes(tree_tab.root) + b"/output/" + name, "wb") as file:  # noqa: PTH123
        file.write(b"What it says.")
    tree_tab.open()
    row = tree_tab.tree.locator(".row.file")
    expect(row).to_have_count(1)
    assert row.locator(".name").text_content() == HOSTILE[name]
    expect(row.locator(".name")).to_have_css("unicode-bidi", "isolate")
    row.click()
    expect(tree_tab.canvas).to_contain_text("What it says.")
    with tree_tab.page.expect_download() as download:
        row.click(button="right")
        tree_tab.page.get_by_role("menuitem", name="Download").click()
    assert Path(download.value.path()).read_bytes() == b"What it says."


def test_a_symlink_shows_its_target_and_is_not_followed(tree_tab: TreeTab) -> None:
    (tree_tab.root / "output" / "out").symlink_to("/etc/passwd")
    tree_tab.open()
    row = tree_tab.row("out")
    expect(row).to_contain_text("→ /etc/passwd")
    row.click()
    expect(tree_tab.canvas).to_contain_text("This is a link to “/etc/passwd”.")
    expect(tree_tab.canvas).not_to_contain_text("root:")


# Keyboard


def test_the_tree_works_by_keyboard(tree_tab: TreeTab) -> None:
    tree_tab.write("a/b/c.txt", "a/d.txt", "alpha.txt", "beta.txt", "bravo.txt")
    tree_tab.open()
    tree_tab.row("input").focus()
    tree_tab.press("End", "ArrowUp", "Home", "ArrowDown", "ArrowDown")
    expect(tree_tab.row("a")).to_be_focused()
    tree_tab.press("ArrowRight")
    expect(tree_tab.row("b")).to_be_visible()
    tree_tab.press("ArrowRight", "ArrowRight")
    expect(tree_tab.row("c.txt")).to_be_visible()
    tree_tab.press("ArrowDown", "Enter")
    expect(tree_tab.canvas).to_contain_text("This is a/b/c.txt.")
    tree_tab.press("ArrowLeft", "ArrowLeft")
    expect(tree_tab.row("b")).to_have_attribute("aria-expanded", "false")
    tree_tab.press("b")
    expect(tree_tab.row("beta.txt")).to_be_focused()
    tree_tab.press("b")
    expect(tree_tab.row("bravo.txt")).to_be_focused()


def test_typing_selects_a_row_that_is_not_rendered(tree_tab: TreeTab) -> None:
    write_many(tree_tab, count=3000)
    tree_tab.write("output/wanted.txt")
    tree_tab.open()
    tree_tab.row("5.txt").click()
    tree_tab.page.keyboard.type("wan")
    expect(tree_tab.row("wanted.txt")).to_be_focused()
    expect(tree_tab.row("wanted.txt")).to_be_in_viewport()


def test_several_files_are_selected_by_keyboard_and_by_mouse(tree_tab: TreeTab) -> None:
    tree_tab.write(*(f"output/{letter}.txt" for letter in "abcdef"))
    tree_tab.open()
    tree_tab.row("b.txt").click()
    tree_tab.press("Shift+ArrowDown", "Shift+ArrowDown")
    expect(tree_tab.selected).to_have_count(3)
    tree_tab.press("Escape")
    expect(tree_tab.selected).to_have_count(1)
    tree_tab.row("f.txt").click(modifiers=["Shift"])
    tree_tab.row("a.txt").click(modifiers=["ControlOrMeta"])
    expect(tree_tab.selected).to_have_count(4)
    expect(tree_tab.studio.workspace.locator(".count")).to_have_text("4 selected")
    tree_tab.press("Control+a")
    expect(tree_tab.selected).to_have_count(6)
    tree_tab.press("Control+ArrowDown", "Control+Space")
    expect(tree_tab.selected).to_have_count(5)


def test_select_all_includes_rows_that_are_not_rendered(tree_tab: TreeTab) -> None:
    write_many(tree_tab, count=2500)
    tree_tab.open()
    tree_tab.row("3.txt").click()
    tree_tab.press("Control+a")
    expect(tree_tab.studio.workspace.locator(".count")).to_have_text("2,500 selected")


def test_the_context_menu_works_by_keyboard_and_restores_the_focus(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt")
    tree_tab.open()
    tree_tab.row("a.txt").click()
    tree_tab.press("Shift+F10")
    expect(tree_tab.page.get_by_role("menuitem", name="Open", exact=True)).to_be_focused()
    tree_tab.press("ArrowUp")
    expect(tree_tab.page.get_by_role("menuitem", name="Delete")).to_be_focused()
    tree_tab.press("r")
    expect(tree_tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    tree_tab.press("Escape")
    expect(tree_tab.page.get_by_role("menu")).to_have_count(0)
    expect(tree_tab.row("a.txt")).to_be_focused()


# Preview and layout


def test_next_and_previous_follow_the_order_of_the_tree(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt", "output/inner/b.txt", "output/z.txt")
    tree_tab.open()
    tree_tab.show("a.txt")
    tree_tab.studio.button("Next file").click()
    expect(tree_tab.canvas).to_contain_text("This is output/z.txt.")
    tree_tab.canvas.press("ArrowLeft")
    expect(tree_tab.canvas).to_contain_text("This is output/a.txt.")


def test_the_preview_updates_and_reports_a_deleted_file(tree_tab: TreeTab) -> None:
    tree_tab.write("a/b/c.txt")
    tree_tab.open()
    tree_tab.row("a").click()
    tree_tab.row("b").click()
    tree_tab.show("c.txt")
    tree_tab.row("a").click()
    (tree_tab.root / "a" / "b" / "c.txt").write_text("It says something else.")
    expect(tree_tab.canvas).to_contain_text("It says something else.")
    (tree_tab.root / "a").rename(tree_tab.root.parent / "moved")
    expect(tree_tab.preview).to_contain_text("This file was deleted.")


def test_the_divider_moves_by_keyboard_and_keeps_its_position(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt")
    tree_tab.open()
    tree_tab.show("a.txt")
    divider = tree_tab.page.get_by_role("separator", name="Resize file tree")
    before = tree_tab.preview.bounding_box()
    divider.press("ArrowDown")
    divider.press("ArrowDown")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    after = tree_tab.preview.bounding_box()
    assert before
    assert after
    assert after["y"] > before["y"] + 10
    tree_tab.page.reload()
    tree_tab.show("a.txt")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    width = tree_tab.page.get_by_role("separator", name="Resize conversation")
    width.press("End")
    expect(width).to_have_attribute("aria-valuenow", "80")


# Changes


def test_folders_and_files_are_created_in_the_chosen_folder(tree_tab: TreeTab) -> None:
    tree_tab.open()
    tree_tab.choose_in_menu("output", "New folder")
    tree_tab.page.get_by_label("New folder in “output”").last.fill("plans")
    tree_tab.press("Enter")
    expect(tree_tab.row("plans")).to_be_focused()
    tree_tab.choose_in_menu("plans", "New file")
    tree_tab.page.get_by_label("New file in “plans”").last.fill("größe 1.txt")
    tree_tab.press("Enter")
    expect(tree_tab.row("größe 1.txt")).to_be_focused()
    assert (tree_tab.root / "output" / "plans" / "größe 1.txt").read_bytes() == b""


def test_a_file_is_renamed_in_the_tree_and_in_the_preview(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt")
    tree_tab.open()
    tree_tab.show("a.txt")
    tree_tab.press("F2")
    field = tree_tab.page.get_by_label("New name for a.txt")
    expect(field).to_have_value("a.txt")
    tree_tab.page.keyboard.type("b")
    tree_tab.press("Enter")
    expect(tree_tab.row("b.txt")).to_be_focused()
    expect(tree_tab.preview.locator(".header b")).to_have_text("b.txt")
    assert (tree_tab.root / "output" / "b.txt").exists()
    tree_tab.press("F2", "Escape")
    expect(tree_tab.row("b.txt")).to_be_focused()
    tree_tab.write("output/c.txt")
    expect(tree_tab.row("c.txt")).to_be_visible()
    tree_tab.row("c.txt").focus()
    tree_tab.press("F2")
    tree_tab.page.get_by_label("New name for c.txt").fill("b.txt")
    tree_tab.press("Enter")
    expect(tree_tab.studio.workspace.locator(".toast")).to_contain_text(
        "Renamed “c.txt” to “b (2).txt”."
    )
    expect(tree_tab.row("b (2).txt")).to_be_focused()
    tree_tab.press("F2")
    tree_tab.page.get_by_label("New name for b (2).txt").fill("in/side.txt")
    tree_tab.press("Enter")
    expect(tree_tab.studio.workspace.locator(".toast.bad")).to_contain_text("not a single name")


@pytest.mark.e2e("deletes files of the workspace and restores them")
@pytest.mark.main_path
def test_deleted_files_can_be_restored(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt", "output/b.txt", "output/c.txt")
    tree_tab.open()
    tree_tab.row("a.txt").click()
    tree_tab.press("Shift+ArrowDown", "Delete")
    expect(tree_tab.row("a.txt")).to_have_count(0)
    expect(tree_tab.row("b.txt")).to_have_count(0)
    expect(tree_tab.row("c.txt")).to_be_focused()
    expect(tree_tab.studio.workspace.locator(".toast")).to_contain_text("Deleted 2 items.")
    tree_tab.studio.button("Undo").click()
    expect(tree_tab.row("b.txt")).to_be_visible()
    assert (tree_tab.root / "output" / "a.txt").read_text() == "This is output/a.txt."


def test_files_are_moved_by_cut_and_paste_by_dragging_and_by_dialog(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt", "output/b.txt", "output/c.txt", "store/x.txt")
    tree_tab.open()
    tree_tab.row("a.txt").click()
    tree_tab.press("Control+x")
    tree_tab.row("store").focus()
    tree_tab.press("Control+v")
    wait_until(lambda: (tree_tab.root / "store" / "a.txt").exists())
    expect(tree_tab.row("output")).to_contain_text("2 items")
    expect(tree_tab.row("a.txt")).to_have_attribute("aria-level", "2")  # the layout is stable
    tree_tab.row("b.txt").drag_to(tree_tab.row("store"))
    wait_until(lambda: (tree_tab.root / "store" / "b.txt").exists())
    expect(tree_tab.row("output")).to_contain_text("1 item")
    expect(
        tree_tab.row("b.txt")
    ).to_be_focused()  # the moved file is revealed, and the layout is stable
    tree_tab.choose_in_menu("c.txt", "Move to…")
    dialog = tree_tab.page.get_by_role("dialog", name="Move “c.txt” to")
    dialog.get_by_role("button", name="Parent folder").click()
    dialog.get_by_role("button", name="store").click()
    expect(dialog).to_contain_text("workspace / store")
    dialog.get_by_role("button", name="Move here").click()
    wait_until(lambda: (tree_tab.root / "store" / "c.txt").exists())
    tree_tab.row("output").focus()
    tree_tab.press("Control+z")
    wait_until(lambda: (tree_tab.root / "output" / "c.txt").exists())


def test_several_files_are_downloaded_as_one_zip(tree_tab: TreeTab) -> None:
    tree_tab.write("output/a.txt", "output/b.txt")
    tree_tab.open()
    tree_tab.row("a.txt").click()
    tree_tab.press("Shift+ArrowDown", "Shift+F10")
    with tree_tab.page.expect_download() as download:
        tree_tab.page.get_by_role("menuitem", name="Download 2 items as zip").click()
    assert Path(download.value.path()).read_bytes().startswith(b"PK")


def test_files_dropped_on_a_folder_are_uploaded_into_it(tree_tab: TreeTab) -> None:
    tree_tab.write("store/x.txt")
    tree_tab.open()
    row = tree_tab.row("store")
    expect(row).to_be_visible()
    data = tree_tab.page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        " data.items.add(new File(['dropped'], 'dropped.txt')); return data; }"
    )
    row.dispatch_event("dragover", {"dataTransfer": data})
    expect(row).to_have_class("row folder target")
    row.dispatch_event("drop", {"dataTransfer": data})
    wait_until(lambda: (tree_tab.root / "store" / "dropped.txt").exists())
    assert (tree_tab.root / "store" / "dropped.txt").read_text() == "dropped"
    assert not list((tree_tab.root / "input").iterdir())
