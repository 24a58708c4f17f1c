"""The file tree: display, keyboard, selection, changes and unusual names."""

import os
import re
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from agent.events import Event, FileChange
from tests.support.component.events import started, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import Stage
from tests.support.server import wait_until

pytestmark = pytest.mark.component


class TreeStage:
    """The workspace's view, with locators for the file tree, and the files on disk."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.page = stage, stage.page
        self.root = stage.run.folder.workspace
        self.preview = stage.workspace.locator(".preview")
        self.canvas = self.preview.locator(".canvas")
        self.tree = stage.page.get_by_role("tree", name="Files")
        self.selected = self.tree.locator("[aria-selected=true]")
        self.focused = self.tree.locator("[role=treeitem]:focus")
        self.menu_item = partial(stage.page.get_by_role, "menuitem")

    def open(self, *paths: str, run: Iterable[Event] = ()) -> None:
        """Mount the workspace of a run, or of a draft, with these files."""
        self.write(*paths)
        self.stage.mount("timeline", "attachments", "workspace", run=run)

    def write(self, *paths: str) -> None:
        """Write files, before or after the workspace is mounted."""
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(f"This is {path}.")
        self.notify()

    def notify(self) -> None:
        """Tell the page that files have changed."""
        self.stage.run.change_files()

    def row(self, name: str) -> Locator:
        return self.stage.file(name)

    def show(self, name: str) -> None:
        """Click on a file, which opens in the preview."""
        self.row(name).click()
        expect(self.preview.locator(".header b")).to_have_text(name)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def names(self) -> list[str]:
        rows = self.tree.get_by_role("treeitem").all()
        return [str(row.locator(".name").get_attribute("title")) for row in rows]

    def choose_in_menu(self, row: str, *path: str) -> None:
        self.row(row).click(button="right")
        for name in path:
            self.menu_item(name=name).click()

    def open_file(self, path: str) -> None:
        """Open a file as a link in the conversation does."""
        self.stage.evaluate(
            "core/event_stream.js", "({ emit }, path) => emit('open-file', path)", path
        )


@pytest.fixture
def tree(stage: Stage) -> TreeStage:
    stage.use_routes(LocalRoutes(stage.data))
    return TreeStage(stage)


def write_many(tree: TreeStage, folder: str = "output", count: int = 10_000) -> None:
    (tree.root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (tree.root / folder / f"{number}.txt").write_text(str(number))


def test_folders_come_first_and_input_and_output_are_expanded(tree: TreeStage) -> None:
    tree.open("input/given.txt", "output/made.txt", "a/inner.txt", "b.txt")
    expect(tree.row("made.txt")).to_be_visible()
    assert tree.names() == ["input", "given.txt", "output", "made.txt", "a", "b.txt"]
    expect(tree.row("made.txt")).to_have_attribute("aria-level", "2")
    expect(tree.row("a")).to_have_attribute("aria-expanded", "false")
    expect(tree.row("a")).to_have_attribute("aria-posinset", "3")
    expect(tree.row("a")).to_have_attribute("aria-setsize", "4")
    expect(tree.row("a")).to_contain_text("1 item")
    expect(tree.row("b.txt")).to_contain_text("14 B")


def test_file_changes_are_shown_immediately(tree: TreeStage) -> None:
    tree.open()
    expect(tree.row("output")).to_contain_text("empty")
    tree.write("output/a.txt")
    expect(tree.row("a.txt")).to_be_visible()
    (tree.root / "output" / "a.txt").rename(tree.root / "output" / "b.txt")
    tree.notify()
    expect(tree.row("b.txt")).to_be_visible()
    expect(tree.row("a.txt")).to_have_count(0)
    tree.write("output/inner/c.txt")
    tree.row("inner").click()
    expect(tree.row("c.txt")).to_be_visible()
    (tree.root / "output" / "inner" / "c.txt").unlink()
    tree.notify()
    expect(tree.row("c.txt")).to_have_count(0)
    expect(tree.row("inner")).to_contain_text("empty")


def test_the_sort_order_is_remembered(tree: TreeStage) -> None:
    for age, (name, size) in enumerate([("b.txt", 5), ("a.txt", 70), ("c.txt", 900)]):
        (tree.root / "output" / name).write_bytes(b"x" * size)
        os.utime(tree.root / "output" / name, (1e9 - age, 1e9 - age))
    tree.open()
    order = tree.page.get_by_label("Sort files")
    expect(tree.row("c.txt")).to_be_visible()
    assert tree.names()[2:] == ["a.txt", "b.txt", "c.txt"]
    order.select_option("Newest first")
    expect(tree.row("b.txt")).to_have_attribute("aria-posinset", "1")
    assert tree.names()[2:] == ["b.txt", "a.txt", "c.txt"]
    tree.stage.reload()
    expect(tree.row("b.txt")).to_have_attribute("aria-posinset", "1")
    order.select_option("Largest first")
    expect(tree.row("c.txt")).to_have_attribute("aria-posinset", "1")
    assert tree.names()[2:] == ["c.txt", "a.txt", "b.txt"]


def test_hidden_files_are_shown_on_request(tree: TreeStage) -> None:
    tree.open("output/.hidden", "output/seen")
    expect(tree.row("seen")).to_be_visible()
    expect(tree.row(".hidden")).to_have_count(0)
    tree.stage.button("More actions").click()
    tree.page.get_by_role("menuitemcheckbox", name="Show hidden files").click()
    expect(tree.row(".hidden")).to_be_visible()
    tree.stage.reload()
    expect(tree.row(".hidden")).to_be_visible()


def test_the_filter_finds_files_in_collapsed_folders_and_can_be_cleared(tree: TreeStage) -> None:
    tree.open("a/deep/down/treasure.txt", "b.txt")
    box = tree.page.get_by_label("Filter files")
    box.fill("treas")
    expect(tree.row("treasure.txt")).to_contain_text("in a/deep/down")
    assert tree.names() == ["treasure.txt"]
    tree.write("c/treaserous.txt")
    expect(tree.row("treaserous.txt")).to_be_visible()
    box.fill("nothing like it")
    expect(tree.stage.workspace).to_contain_text("No file names match “nothing like it”.")
    box.press("Escape")
    expect(tree.row("b.txt")).to_be_visible()
    box.fill("down")
    tree.row("down").click()
    expect(tree.row("treasure.txt")).to_have_attribute("aria-level", "4")
    expect(box).to_have_value("")


def test_a_folder_can_be_shown_alone_with_breadcrumbs(tree: TreeStage) -> None:
    tree.open("a/b/c/inner.txt", "beside.txt")
    tree.row("a").click()
    tree.choose_in_menu("b", "Show only this folder")
    expect(tree.row("c")).to_have_attribute("aria-level", "1")
    expect(tree.row("beside.txt")).to_have_count(0)
    crumbs = tree.page.get_by_role("navigation", name="Current folder")
    expect(crumbs).to_have_text("workspace/a/b")
    crumbs.get_by_role("button", name="a", exact=True).click()
    expect(tree.row("b")).to_have_attribute("aria-level", "1")
    tree.choose_in_menu("b", "Show only this folder")
    expect(crumbs).to_have_text("workspace/a/b")
    shutil.rmtree(tree.root / "a" / "b")
    tree.notify()
    expect(crumbs).to_have_text("workspace/a")  # its parent
    crumbs.get_by_role("button", name="workspace").click()
    expect(tree.row("beside.txt")).to_be_visible()


def test_new_and_changed_files_are_marked_until_opened(tree: TreeStage) -> None:
    changes = [
        FileChange("output/new.txt", "added"),
        FileChange("output/old.txt", "changed"),
        FileChange("sub/inner.txt", "added"),
    ]
    run = [started(), *step(1, changes=changes)]
    tree.open("output/new.txt", "output/old.txt", "sub/inner.txt", run=run)
    expect(tree.row("new.txt")).to_contain_text("new · step 1")
    expect(tree.row("old.txt")).to_contain_text("changed · step 1")
    expect(tree.row("sub")).to_contain_text("1 new")
    tree.show("new.txt")
    expect(tree.row("new.txt").locator(".new")).to_have_text("step 1")
    tree.stage.reload()
    expect(tree.row("old.txt")).to_contain_text("changed · step 1")
    expect(tree.row("new.txt").locator(".new")).to_have_text("step 1")
    tree.stage.button("More actions").click()
    tree.menu_item(name="Mark all as read").click()
    expect(tree.row("old.txt").locator(".new")).to_have_text("step 1")
    expect(tree.row("sub").locator(".new")).to_have_text("")
    tree.show("old.txt")  # a file that is open when its step ends is no news
    changes = [FileChange(f"output/{name}.txt", "changed") for name in ("new", "old")]
    tree.stage.run.add(*step(2, changes=changes))
    expect(tree.row("new.txt")).to_contain_text("changed · step 2")
    expect(tree.row("old.txt").locator(".new")).to_have_text("step 2")


def test_a_long_name_is_truncated_in_the_middle(tree: TreeStage) -> None:
    name = f"{'a very long name of a ' * 6}photograph_0042.jpeg"
    tree.open(f"output/{name}")
    label = tree.row(name).locator(".name")
    expect(label).to_have_text(name)
    assert label.evaluate("it => it.scrollWidth <= it.clientWidth")
    head, end = label.locator(".head"), label.locator(".tail")
    expect(end).to_have_text("0042.jpeg")
    assert head.evaluate("it => it.scrollWidth > it.clientWidth")
    assert end.evaluate("it => it.scrollWidth <= it.clientWidth")


def test_the_workspace_explains_itself_before_a_run(tree: TreeStage) -> None:
    tree.stage.mount("timeline", "workspace")
    expect(tree.stage.workspace.locator(".empty-message")).to_contain_text("Drop files or folders")
    tree.open()
    expect(tree.stage.workspace.locator(".empty-message")).to_be_hidden()


def test_a_document_shows_its_prompt_token_count(tree: TreeStage) -> None:
    tree.write("output/other.txt")
    (tree.root / "output" / "long.md").write_text("word " * 5000)
    (tree.root / "output" / "raw.bin").write_bytes(bytes(100))
    tree.open()
    cost = tree.preview.locator(".cost")
    tree.show("long.md")
    expect(cost).to_contain_text(re.compile(r"^5,000 words · ≈ [\d.]+k tokens if pasted$"))
    tree.show("other.txt")
    expect(cost).to_contain_text("3 words")
    tree.show("raw.bin")
    expect(cost).to_be_hidden()


# Many files, deep folders, unusual names


def test_a_closed_folder_is_counted_up_to_a_thousand(tree: TreeStage) -> None:
    tree.open(*(f"output/many/{number}.txt" for number in range(1000)))
    expect(tree.row("many")).to_contain_text("1,000+ items")


@pytest.mark.nightly
def test_ten_thousand_files_in_one_folder_can_be_scrolled_and_opened(tree: TreeStage) -> None:
    write_many(tree)
    tree.open()
    expect(tree.row("0.txt")).to_be_visible()
    expect(tree.row("0.txt")).to_have_attribute("aria-setsize", "10000")
    assert tree.tree.locator(".row").count() < 100
    tree.row("0.txt").click()
    tree.press("End")
    expect(tree.focused).to_have_attribute("aria-label", re.compile(r"^9999\.txt, "))
    expect(tree.focused).to_have_attribute("aria-posinset", "10000")
    assert tree.tree.locator(".row").count() < 100
    tree.press("Enter")
    expect(tree.canvas).to_contain_text("9999")
    tree.tree.evaluate("tree => { tree.scrollTop = tree.scrollHeight / 2; }")
    expect(tree.row("5000.txt")).to_be_visible()
    tree.show("5000.txt")
    expect(tree.canvas).to_contain_text("5000")
    tree.tree.evaluate("tree => { tree.scrollTop = 0; }")
    tree.write("output/!.txt")
    expect(tree.row("!.txt")).to_be_visible()


def test_a_file_opened_elsewhere_is_scrolled_into_view(tree: TreeStage) -> None:
    write_many(tree, "far/away", 3000)
    tree.open()
    expect(tree.row("far")).to_be_visible()
    tree.open_file("far/away/1500.txt")
    expect(tree.row("1500.txt")).to_be_in_viewport()
    expect(tree.row("1500.txt")).to_have_attribute("aria-selected", "true")
    expect(tree.canvas).to_contain_text("1500")


def test_a_file_a_hundred_levels_deep_can_be_opened(tree: TreeStage) -> None:
    names = [f"level {number}" for number in range(100)]
    tree.open("/".join([*names, "bottom.txt"]))
    expect(tree.row("level 0")).to_be_visible()
    tree.open_file(quote("/".join([*names, "bottom.txt"])))
    expect(tree.row("bottom.txt")).to_be_in_viewport()
    expect(tree.row("bottom.txt")).to_have_attribute("aria-level", "101")
    expect(tree.canvas).to_contain_text("This is level 0")
    assert tree.tree.evaluate("tree => tree.scrollWidth <= tree.clientWidth")


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
def test_unusual_names_are_shown_opened_and_downloaded(tree: TreeStage, name: bytes) -> None:
    with open(bytes(tree.root) + b"/output/" + name, "wb") as file:  # noqa: PTH123
        file.write(b"What it says.")
    tree.open()
    row = tree.tree.locator(".row.file")
    expect(row).to_have_count(1)
    assert row.locator(".name").text_content() == HOSTILE[name]
    expect(row.locator(".name")).to_have_css("unicode-bidi", "isolate")
    row.click()
    expect(tree.canvas).to_contain_text("What it says.")
    with tree.page.expect_download() as download:
        row.click(button="right")
        tree.menu_item(name="Download").click()
    assert Path(download.value.path()).read_bytes() == b"What it says."


def test_a_symlink_shows_its_target_and_is_not_followed(tree: TreeStage) -> None:
    (tree.root / "output" / "out").symlink_to("/etc/passwd")
    tree.open()
    row = tree.row("out")
    expect(row).to_contain_text("→ /etc/passwd")
    row.click()
    expect(tree.canvas).to_contain_text("This is a link to “/etc/passwd”.")
    expect(tree.canvas).not_to_contain_text("root:")


def test_the_tree_works_by_keyboard(tree: TreeStage) -> None:
    tree.open("a/b/c.txt", "a/d.txt", "alpha.txt", "beta.txt", "bravo.txt")
    tree.row("input").focus()
    tree.press("End", "ArrowUp", "Home", "ArrowDown", "ArrowDown")
    expect(tree.row("a")).to_be_focused()
    tree.press("ArrowRight")
    expect(tree.row("b")).to_be_visible()
    tree.press("ArrowRight", "ArrowRight")
    expect(tree.row("c.txt")).to_be_visible()
    tree.press("ArrowDown", "Enter")
    expect(tree.canvas).to_contain_text("This is a/b/c.txt.")
    tree.press("ArrowLeft", "ArrowLeft")
    expect(tree.row("b")).to_have_attribute("aria-expanded", "false")
    tree.press("b")
    expect(tree.row("beta.txt")).to_be_focused()
    tree.press("b")
    expect(tree.row("bravo.txt")).to_be_focused()


def test_keys_reach_and_select_rows_that_are_not_rendered(tree: TreeStage) -> None:
    write_many(tree, count=2499)
    tree.open("output/wanted.txt")
    tree.row("5.txt").click()
    tree.page.keyboard.type("wan")
    expect(tree.row("wanted.txt")).to_be_focused()
    expect(tree.row("wanted.txt")).to_be_in_viewport()
    tree.press("Control+a")
    expect(tree.stage.workspace.locator(".count")).to_have_text("2,500 selected")


def test_several_files_are_selected_by_keyboard_and_by_mouse(tree: TreeStage) -> None:
    tree.open(*(f"output/{letter}.txt" for letter in "abcdef"))
    tree.row("b.txt").click()
    tree.press("Shift+ArrowDown", "Shift+ArrowDown")
    expect(tree.selected).to_have_count(3)
    tree.press("Escape")
    expect(tree.selected).to_have_count(1)
    tree.row("f.txt").click(modifiers=["Shift"])
    tree.row("a.txt").click(modifiers=["ControlOrMeta"])
    expect(tree.selected).to_have_count(4)
    expect(tree.stage.workspace.locator(".count")).to_have_text("4 selected")
    tree.press("Control+a")
    expect(tree.selected).to_have_count(6)
    tree.press("Control+ArrowDown", "Control+Space")
    expect(tree.selected).to_have_count(5)


def test_the_context_menu_works_by_keyboard_and_restores_the_focus(tree: TreeStage) -> None:
    tree.open("output/a.txt")
    tree.row("a.txt").click()
    tree.press("Shift+F10")
    expect(tree.menu_item(name="Open", exact=True)).to_be_focused()
    tree.press("ArrowUp")
    expect(tree.menu_item(name="Delete")).to_be_focused()
    tree.press("r")
    expect(tree.menu_item(name="Rename")).to_be_focused()
    tree.press("Escape")
    expect(tree.page.get_by_role("menu")).to_have_count(0)
    expect(tree.row("a.txt")).to_be_focused()


def test_next_and_previous_follow_the_order_of_the_tree(tree: TreeStage) -> None:
    tree.open("output/a.txt", "output/inner/b.txt", "output/z.txt")
    tree.show("a.txt")
    tree.stage.button("Next file").click()
    expect(tree.canvas).to_contain_text("This is output/z.txt.")
    tree.canvas.press("ArrowLeft")
    expect(tree.canvas).to_contain_text("This is output/a.txt.")


def test_the_preview_updates_and_reports_a_deleted_file(tree: TreeStage) -> None:
    tree.stage.expected_errors = ["/view/"]  # it may ask for the file as it goes
    tree.open("a/b/c.txt")
    tree.row("a").click()
    tree.row("b").click()
    tree.show("c.txt")
    tree.row("a").click()
    (tree.root / "a" / "b" / "c.txt").write_text("It says something else.")
    tree.notify()
    expect(tree.canvas).to_contain_text("It says something else.")
    (tree.root / "a").rename(tree.root.parent / "moved")
    tree.notify()
    expect(tree.preview).to_contain_text("This file was deleted.")


def test_the_divider_moves_by_keyboard_and_keeps_its_position(tree: TreeStage) -> None:
    tree.open("output/a.txt")
    tree.show("a.txt")
    divider = tree.page.get_by_role("separator", name="Resize file tree")
    before = tree.preview.bounding_box()
    divider.press("ArrowDown")
    divider.press("ArrowDown")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    after = tree.preview.bounding_box()
    assert before
    assert after
    assert after["y"] > before["y"] + 10
    tree.stage.reload()
    tree.show("a.txt")
    expect(divider).to_have_attribute("aria-valuenow", "42")
    width = tree.page.get_by_role("separator", name="Resize conversation")
    width.press("End")
    expect(width).to_have_attribute("aria-valuenow", "80")


def test_folders_and_files_are_created_in_the_chosen_folder(tree: TreeStage) -> None:
    tree.open()
    tree.choose_in_menu("output", "New folder")
    tree.page.get_by_label("New folder in “output”").last.fill("plans")
    tree.press("Enter")
    expect(tree.row("plans")).to_be_focused()
    tree.choose_in_menu("plans", "New file")
    tree.page.get_by_label("New file in “plans”").last.fill("größe 1.txt")
    tree.press("Enter")
    expect(tree.row("größe 1.txt")).to_be_focused()
    assert (tree.root / "output" / "plans" / "größe 1.txt").read_bytes() == b""


def test_a_file_is_renamed_in_the_tree_and_in_the_preview(tree: TreeStage) -> None:
    # A name that the server refuses; the preview may ask for the old name while it is changed.
    tree.stage.expected_errors = ["/changes", "/view/output/a.txt"]
    tree.open("output/a.txt")
    tree.show("a.txt")
    tree.press("F2")
    field = tree.page.get_by_label("New name for a.txt")
    expect(field).to_have_value("a.txt")
    tree.page.keyboard.type("b")
    tree.press("Enter")
    expect(tree.row("b.txt")).to_be_focused()
    expect(tree.preview.locator(".header b")).to_have_text("b.txt")
    assert (tree.root / "output" / "b.txt").exists()
    tree.press("F2", "Escape")
    expect(tree.row("b.txt")).to_be_focused()
    tree.write("output/c.txt")
    expect(tree.row("c.txt")).to_be_visible()
    tree.row("c.txt").focus()
    tree.press("F2")
    tree.page.get_by_label("New name for c.txt").fill("b.txt")
    tree.press("Enter")
    expect(tree.stage.workspace.locator(".toast")).to_contain_text(
        "Renamed “c.txt” to “b (2).txt”."
    )
    expect(tree.row("b (2).txt")).to_be_focused()
    tree.press("F2")
    tree.page.get_by_label("New name for b (2).txt").fill("in/side.txt")
    tree.press("Enter")
    expect(tree.stage.workspace.locator(".toast.bad")).to_contain_text("not a single name")


def test_deleted_files_can_be_restored(tree: TreeStage) -> None:
    tree.stage.expected_errors = ["/output/a.txt"]  # a click opens its preview
    tree.open("output/a.txt", "output/b.txt", "output/c.txt")
    tree.row("a.txt").click()
    tree.press("Shift+ArrowDown", "Delete")
    expect(tree.row("a.txt")).to_have_count(0)
    expect(tree.row("b.txt")).to_have_count(0)
    expect(tree.row("c.txt")).to_be_focused()
    expect(tree.stage.workspace.locator(".toast")).to_contain_text("Deleted 2 items.")
    tree.stage.button("Undo").click()
    expect(tree.row("b.txt")).to_be_visible()
    assert (tree.root / "output" / "a.txt").read_text() == "This is output/a.txt."


def test_files_are_moved_by_cut_and_paste_by_dragging_and_by_dialog(tree: TreeStage) -> None:
    tree.open("output/a.txt", "output/b.txt", "output/c.txt", "store/x.txt")
    tree.row("a.txt").focus()  # a click opens its preview, which the move would overtake
    tree.press("Control+x")
    tree.row("store").focus()
    tree.press("Control+v")
    wait_until(lambda: (tree.root / "store" / "a.txt").exists())
    expect(tree.row("output")).to_contain_text("2 items")
    expect(tree.row("a.txt")).to_have_attribute("aria-level", "2")  # the layout is stable
    tree.row("b.txt").drag_to(tree.row("store"))
    wait_until(lambda: (tree.root / "store" / "b.txt").exists())
    expect(tree.row("output")).to_contain_text("1 item")
    expect(tree.row("b.txt")).to_be_focused()  # it is revealed, and the layout is stable
    tree.choose_in_menu("c.txt", "Move to…")
    dialog = tree.page.get_by_role("dialog", name="Move “c.txt” to")
    dialog.get_by_role("button", name="Parent folder").click()
    dialog.get_by_role("button", name="store").click()
    expect(dialog).to_contain_text("workspace / store")
    dialog.get_by_role("button", name="Move here").click()
    wait_until(lambda: (tree.root / "store" / "c.txt").exists())
    tree.row("output").focus()
    tree.press("Control+z")
    wait_until(lambda: (tree.root / "output" / "c.txt").exists())


def test_several_files_are_downloaded_as_one_zip(tree: TreeStage) -> None:
    tree.open("output/a.txt", "output/b.txt")
    tree.row("a.txt").click()
    tree.press("Shift+ArrowDown", "Shift+F10")
    with tree.page.expect_download() as download:
        tree.menu_item(name="Download 2 items as zip").click()
    assert Path(download.value.path()).read_bytes().startswith(b"PK")


def test_files_dropped_on_a_folder_are_uploaded_into_it(tree: TreeStage) -> None:
    tree.open("store/x.txt")
    row = tree.row("store")
    expect(row).to_be_visible()
    data = tree.page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        " data.items.add(new File(['dropped'], 'dropped.txt')); return data; }"
    )
    row.dispatch_event("dragover", {"dataTransfer": data})
    expect(row).to_have_class("row folder target")
    row.dispatch_event("drop", {"dataTransfer": data})
    wait_until(lambda: (tree.root / "store" / "dropped.txt").exists())
    assert (tree.root / "store" / "dropped.txt").read_text() == "dropped"
    assert not list((tree.root / "input").iterdir())


def test_a_folder_whose_connection_was_lost_stays_open_and_is_read_again(tree: TreeStage) -> None:
    def asked() -> int:
        return sum(each.query["folder"] == "output" for each in tree.stage.asked("files"))

    output = "files?folder=output&sort=name&from=0&count=300"
    tree.stage.expected_errors = ["/files?folder=output"]
    tree.stage.fail(output)
    tree.open("output/chart.txt", "input/data.txt")
    expect(tree.row("data.txt")).to_be_visible()
    tree.stage.wait_until(lambda: asked() > 15)  # beyond the repetitions of one request
    expect(tree.row("output")).to_have_attribute("aria-expanded", "true")
    expect(tree.row("chart.txt")).to_have_count(0)
    tree.stage.answer_again(output)
    expect(tree.row("chart.txt")).to_be_visible()


def test_output_that_was_gone_for_a_moment_opens_again(tree: TreeStage) -> None:
    output = "files?folder=output&sort=name&from=0&count=300"
    tree.stage.answer(output, {"missing": True})
    tree.open("output/chart.txt", "input/data.txt")
    expect(tree.row("output")).to_have_attribute("aria-expanded", "false")
    tree.stage.answer_again(output)
    tree.write("output/table.txt")
    expect(tree.row("chart.txt")).to_be_visible()
