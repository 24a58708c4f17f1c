"""The diff view of a file that a step changed."""

from collections.abc import Iterator
from itertools import chain

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from agent.events import Event
from agent.runs.sandbox_session import workspace_changed
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import ManifestLog
from agent.workspace.versions.snapshots import SnapshotTracker
from tests.sandbox_ui.preview.media.images import encode_image
from tests.support.component.events import bash, ended, started, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import Stage
from tests.support.file_run import PROGRAM
from tests.support.tab import row_name

pytestmark = pytest.mark.component

COLOURS = (0x24, 0x74, 0xB5), (0x2C, 0x7A, 0x4B)
CHARTS = [encode_image(Image.new("RGB", (640, 400), each), "png") for each in COLOURS]
EDITED = PROGRAM.replace("WIDTH = 640", "WIDTH = 800").replace("print(row)", "print(row, len(row))")
STEPS: list[dict[str, str | bytes | None]] = [
    {"draw.py": PROGRAM, "notes.txt": "notes\n"},
    {"output/chart.png": CHARTS[0]},
    {"draw.py": EDITED, "output/chart.png": CHARTS[1]},
    {},
    {"output/data.bin": bytes(3000), "output/page.html": "<p>A page.", "notes.txt": None}
    | {f"many/{number}.txt": str(number) for number in range(53)},
]


class DiffTab:
    """A run whose steps change files, with locators for the diff view."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.page = stage, stage.page
        self.workspace, self.file, self.button = stage.workspace, stage.file, stage.button
        self.root = stage.run.folder.workspace
        self._versions = ManifestLog(stage.run.folder.manifests)
        self._snapshots = SnapshotTracker(self.root, BlobStore(stage.data / "blobs"))
        self._versions.append(0, self._snapshots.take())
        steps = (self._step(at, files) for at, files in enumerate(STEPS, 1))
        stage.use_routes(LocalRoutes(stage.data))
        stage.mount("timeline", "workspace", run=[started(), *chain(*steps), ended()])
        expect(self.file("output")).to_be_visible()

    def _step(self, number: int, files: dict[str, str | bytes | None]) -> Iterator[Event]:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        delta = self._snapshots.take()
        self._versions.append(number, delta)
        yield from step(number, bash("make"), changes=workspace_changed(number, delta).changes)

    def chip(self, step: int, name: str) -> Locator:
        return self.page.locator(f"#step-{step} .chip.file", has_text=name)

    def open_diff(
        self, step: int, name: str, label: str = "Changes to {name} in step {step}"
    ) -> Locator:
        self.button(label.format(step=step, name=name)).click()
        shown = self.page.locator(".preview .difference")
        expect(shown.locator(".about")).to_contain_text(f"by step {step}")
        return shown


@pytest.fixture
def tab(stage: Stage) -> DiffTab:
    return DiffTab(stage)


def test_text_is_compared_by_line_and_by_word(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    expect(shown.locator(".cm-deletedLine")).to_have_text(["WIDTH = 640", "print(row)"])
    expect(shown.locator(".cm-changedLine")).to_have_text(["WIDTH = 800", "print(row, len(row))"])
    expect(shown.locator(".cm-changedText")).to_have_text(["800", ", len(row)"])
    expect(shown.locator(".cm-deletedText")).to_have_text(["640"])
    expect(shown.locator(".cm-deletedChunk").last).to_have_css("counter-set", "removed 14")
    expect(shown.get_by_label("2 lines added")).to_be_visible()
    expect(shown.locator(".syn-keyword").first).to_have_text("import")


def test_a_wide_view_shows_versions_side_by_side(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    expect(shown.locator(".cm-mergeView")).to_have_count(0)
    tab.button("Full screen").click()
    expect(shown.locator(".cm-mergeView")).to_have_count(1)
    expect(shown.get_by_label("draw.py before step 3")).to_contain_text("WIDTH = 640")
    expect(shown.get_by_label("draw.py after step 3")).to_contain_text("WIDTH = 800")
    tab.button("Side by side").click()
    expect(shown.locator(".cm-mergeView")).to_have_count(0)
    tab.page.keyboard.press("Escape")
    expect(tab.workspace).to_be_visible()


def test_a_diff_is_searched_its_changes_visited_and_its_gaps_expanded(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    shown.get_by_label("Changes to draw.py").press("Control+f")
    tab.page.get_by_label("Find", exact=True).press_sequentially("csv")
    expect(shown.locator(".cm-searchMatch").first).to_have_text("csv")
    expect(shown.get_by_label("Replace with")).to_have_count(0)
    tab.button("Next change").click()
    tab.button("Next change").click()
    expect(shown.get_by_text("print(row, len(row))")).to_be_in_viewport()
    gap = shown.get_by_role("button", name="unchanged lines")
    expect(gap).to_have_text("⋯ 5 unchanged lines")
    gap.focus()
    tab.page.keyboard.press("Enter")
    expect(gap).to_have_count(0)
    expect(shown.locator(".cm-content")).to_contain_text('draw(read("input/rows.csv"))')
    expect(shown.get_by_label("Changes to draw.py")).to_be_focused()


def test_created_and_deleted_files_are_shown_completely(tab: DiffTab) -> None:
    shown = tab.open_diff(1, "notes.txt")
    expect(shown.locator(".about")).to_contain_text("created by step 1")
    expect(shown.locator(".cm-merge-b .cm-line")).to_have_text(["notes"])
    tab.page.locator("#step-5").get_by_role("button", name="more").click()
    tab.button("Deleted: notes.txt").click()
    expect(shown.locator(".about")).to_contain_text("deleted by step 5")
    expect(shown.locator(".cm-merge-a .cm-line")).to_have_text(["notes"])


def test_the_version_after_a_step_can_be_opened(tab: DiffTab) -> None:
    tab.open_diff(1, "draw.py")
    tab.button("After step 1").click()
    expect(tab.page.locator(".preview .canvas")).to_contain_text("WIDTH = 640")
    expect(tab.page.locator(".preview .header")).to_contain_text("version after step 1")


def test_images_are_compared_side_by_side_or_overlaid(tab: DiffTab) -> None:
    expect(tab.chip(3, "output/chart.png").locator(".differs")).to_have_text("compare")
    shown = tab.open_diff(3, "output/chart.png", "Compare {name} before and after step {step}")
    expect(tab.button("Swipe")).to_have_attribute("aria-pressed", "true")
    tab.button("Side by side").click()
    pictures = shown.get_by_role("img")
    expect(pictures).to_have_count(2)
    for at in (0, 1):
        expect(pictures.nth(at)).to_have_js_property("naturalWidth", 640)
    colours = pictures.evaluate_all(
        """all => all.map((image) => {
          const paint = new OffscreenCanvas(640, 400).getContext("2d");
          paint.drawImage(image, 0, 0);
          return [...paint.getImageData(560, 300, 1, 1).data.slice(0, 3)];
        })"""
    )
    assert colours == [list(each) for each in COLOURS]
    tab.button("Swipe").click()
    slider = shown.get_by_role("slider")
    slider.fill("20")
    expect(shown.locator(".after")).to_have_css("clip-path", "inset(0px 0px 0px 80%)")
    tab.button("Blend").click()
    expect(shown.locator(".after")).to_have_css("opacity", "0.2")


def test_a_chip_opens_the_file_and_a_changed_image_offers_compare(tab: DiffTab) -> None:
    tab.chip(3, "output/chart.png").locator(".name").click()
    expect(tab.page.locator(".preview .header b")).to_have_text("chart.png")
    expect(tab.page.locator(".preview .difference")).to_have_count(0)
    tab.workspace.get_by_role("button", name="Compare").click()
    expect(tab.page.locator(".preview .difference .about")).to_contain_text("changed by step 3")
    expect(tab.page.locator(".preview .difference").get_by_role("slider")).to_be_visible()


def test_a_binary_file_shows_size_and_hash(tab: DiffTab) -> None:
    tab.page.locator("#step-5").get_by_role("button", name="more").click()
    shown = tab.open_diff(5, "output/data.bin")
    expect(shown.locator(".facts")).to_contain_text("3,000 bytes")
    expect(shown.locator(".facts")).to_contain_text("SHA-256")


def test_the_file_list_of_a_step_can_be_expanded_and_collapsed(tab: DiffTab) -> None:
    step = tab.page.locator("#step-5")
    expect(step.locator(".chip")).to_have_count(8)
    more = step.get_by_role("button", name="and 48 more")
    more.focus()
    tab.page.keyboard.press("Enter")
    expect(step.locator(".chip")).to_have_count(56)
    fewer = step.get_by_role("button", name="fewer")
    expect(fewer).to_be_focused()
    fewer.click()
    expect(step.locator(".chip")).to_have_count(8)


def test_the_tree_marks_the_file_whose_diff_is_shown(tab: DiffTab) -> None:
    tab.file("page.html").click()
    tab.open_diff(3, "draw.py")
    current = tab.workspace.locator("[role=treeitem][aria-current=true]")
    expect(current).to_have_accessible_name(row_name("draw.py"))
    selected = tab.workspace.locator("[role=treeitem][aria-selected=true]")
    expect(selected).to_have_accessible_name(row_name("draw.py"))
    tab.open_diff(1, "notes.txt")  # the file was deleted later
    expect(selected).to_have_count(0)
    expect(current).to_have_count(0)


def test_a_diff_has_its_own_url(tab: DiffTab) -> None:
    tab.open_diff(3, "draw.py")
    with tab.page.context.expect_page() as opened:
        tab.page.get_by_role("link", name="Open in new tab").click()
    page = opened.value
    expect(page.locator(".difference .cm-changedLine").first).to_be_visible()
    query = f"run={tab.stage.run.id}&path=draw.py&step=3&compared=1"
    assert page.url == f"{tab.stage.url}look?{query}"
    page.get_by_role("link", name="After step 3").click()
    expect(page.locator(".canvas")).to_contain_text("WIDTH = 800")
    expect(page.locator(".difference")).to_have_count(0)


def test_a_diff_stays_open_while_the_workspace_changes(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    (tab.root / "later.txt").write_text("later")
    tab.stage.run.change_files()
    expect(tab.file("later.txt")).to_be_visible()
    expect(shown.locator(".cm-changedLine")).to_have_count(2)
