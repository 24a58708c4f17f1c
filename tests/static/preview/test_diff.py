"""The diff view of a file that a step changed."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support import file_run
from tests.support.browser.page_pool import release_page, take_page
from tests.support.file_run import ServedRun
from tests.support.tab import WIDE, StudioTab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data")) as served_run:
        yield served_run


class DiffTab(StudioTab):
    """A tab on the recorded run, with locators for the diff view."""

    def chip(self, step: int, name: str) -> Locator:
        return self.page.locator(f"#step-{step} .chip.file", has_text=name)

    def open_diff(
        self, step: int, name: str, label: str = "Changes to {name} in step {step}"
    ) -> Locator:
        label = label.format(step=step, name=name)
        self.page.get_by_role("button", name=label, exact=True).click()
        shown = self.page.locator(".preview .difference")
        expect(shown.locator(".about")).to_contain_text(f"by step {step}")
        return shown


@pytest.fixture
def tab(browser: Browser, served_run: ServedRun) -> Iterator[DiffTab]:
    tab = DiffTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
    tab.open(f"{served_run.studio_url}/?run={served_run.run}")
    expect(tab.page.locator("#step-7")).to_be_attached()
    expect(tab.file("output")).to_be_visible()
    yield tab
    assert tab.page.evaluate("window.hacked") is None
    release_page(tab.page)
    assert tab.errors == []


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


def test_unchanged_lines_can_be_expanded(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    gap = shown.get_by_role("button", name="unchanged lines")
    expect(gap).to_have_text("⋯ 5 unchanged lines")
    gap.focus()
    tab.page.keyboard.press("Enter")
    expect(gap).to_have_count(0)
    expect(shown.locator(".cm-content")).to_contain_text('draw(read("input/rows.csv"))')
    expect(shown.get_by_label("Changes to draw.py")).to_be_focused()


def test_a_diff_is_searched_and_its_changes_are_visited(tab: DiffTab) -> None:
    shown = tab.open_diff(3, "draw.py")
    shown.get_by_label("Changes to draw.py").press("Control+f")
    tab.page.get_by_label("Find", exact=True).press_sequentially("csv")
    expect(shown.locator(".cm-searchMatch").first).to_have_text("csv")
    expect(shown.get_by_label("Replace with")).to_have_count(0)
    tab.button("Next change").click()
    tab.button("Next change").click()
    expect(shown.get_by_text("print(row, len(row))")).to_be_in_viewport()


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
    assert colours == [[0x24, 0x74, 0xB5], [0x2C, 0x7A, 0x4B]]
    tab.button("Swipe").click()
    slider = shown.get_by_role("slider")
    slider.fill("20")
    expect(shown.locator(".after")).to_have_css("clip-path", "inset(0px 0px 0px 80%)")
    tab.button("Blend").click()
    expect(shown.locator(".after")).to_have_css("opacity", "0.2")


def test_a_changed_image_offers_compare(tab: DiffTab) -> None:
    tab.chip(3, "output/chart.png").locator(".name").click()
    tab.button("Compare").click()
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


def test_clicking_a_chip_name_opens_the_file(tab: DiffTab) -> None:
    tab.chip(3, "output/chart.png").locator(".name").click()
    expect(tab.page.locator(".preview .header b")).to_have_text("chart.png")
    expect(tab.page.locator(".preview .difference")).to_have_count(0)


def test_the_tree_marks_the_file_whose_diff_is_shown(tab: DiffTab) -> None:
    tab.file("page.html").click()
    tab.open_diff(3, "draw.py")
    current = tab.workspace.locator("[role=treeitem][aria-current=true]")
    expect(current).to_have_accessible_name("draw.py")
    selected = tab.workspace.locator("[role=treeitem][aria-selected=true]")
    expect(selected).to_have_accessible_name("draw.py")
    tab.open_diff(1, "notes.txt")  # the file was deleted later
    expect(selected).to_have_count(0)
    expect(current).to_have_count(0)


def test_a_diff_has_its_own_url(tab: DiffTab, served_run: ServedRun) -> None:
    tab.open_diff(3, "draw.py")
    with tab.page.context.expect_page() as opened:
        tab.page.get_by_role("link", name="Open in new tab").click()
    page = opened.value
    expect(page.locator(".difference .cm-changedLine").first).to_be_visible()
    assert (
        page.url
        == f"{served_run.studio_url}/look?run={served_run.run}&path=draw.py&step=3&compared=1"
    )
    page.get_by_role("link", name="After step 3").click()
    expect(page.locator(".canvas")).to_contain_text("WIDTH = 800")
    expect(page.locator(".difference")).to_have_count(0)


def test_a_diff_stays_open_while_the_workspace_changes(tab: DiffTab, served_run: ServedRun) -> None:
    shown = tab.open_diff(3, "draw.py")
    (served_run.workspace / "later.txt").write_text("later")
    expect(tab.file("later.txt")).to_be_visible()
    expect(shown.locator(".cm-changedLine")).to_have_count(2)
    (served_run.workspace / "later.txt").unlink()
