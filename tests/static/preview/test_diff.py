"""How a step changed a file, in the real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support import made_run
from tests.support.made_run import ServedRun
from tests.support.tab import WIDE, StudioTab

pytestmark = pytest.mark.browser
PATIENCE = 60_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    with made_run.serve_recorded_run(tmp_path_factory.mktemp("data")) as world:
        yield world


class Tab(StudioTab):
    """A tab on the run that made files."""

    def chip(self, step: int, name: str) -> Locator:
        return self.page.locator(f"#step-{step} .chip.file", has_text=name)

    def compare(
        self, step: int, name: str, label: str = "Changes to {name} in step {step}"
    ) -> Locator:
        label = label.format(step=step, name=name)
        self.page.get_by_role("button", name=label, exact=True).click()
        shown = self.page.locator(".preview .difference")
        expect(shown.locator(".about")).to_contain_text(f"by step {step}")
        return shown


@pytest.fixture
def tab(browser: Browser, world: ServedRun) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    tab = Tab(context.new_page())
    tab.open(f"{world.studio_url}/?run={world.run}")
    expect(tab.page.locator("#step-7")).to_be_attached()
    yield tab
    assert tab.page.evaluate("window.hacked") is None
    context.close()
    assert tab.errors == []


def texts(rows: Locator) -> list[str]:
    """What the rows' lines say."""
    said: list[str] = rows.evaluate_all(
        "all => all.map((row) => row.querySelector('td:last-child').textContent)"
    )
    return said


def test_a_text_is_compared_line_by_line_and_word_by_word(tab: Tab) -> None:
    shown = tab.compare(3, "draw.py")
    expect(shown.locator("tr.del")).to_have_count(2)
    assert texts(shown.locator("tr.del")) == ["WIDTH = 640", "        print(row)"]
    assert texts(shown.locator("tr.add")) == ["WIDTH = 800", "        print(row, len(row))"]
    expect(shown.locator("ins")).to_have_text(["800", ", len(row)"])
    expect(shown.locator("del")).to_have_text(["640"])
    expect(shown.locator("tr.add th").last).to_have_attribute("data-at", "15")
    expect(shown.get_by_label("2 lines added")).to_be_visible()


def test_where_there_is_room_the_versions_stand_side_by_side(tab: Tab) -> None:
    shown = tab.compare(3, "draw.py")
    expect(shown.locator("table.split")).to_have_count(0)
    tab.button("Full screen").click()
    expect(shown.locator("table.split")).to_have_count(1)
    row = shown.locator("tr", has_text="WIDTH")
    expect(row.locator("td")).to_have_text(["WIDTH = 640", "WIDTH = 800"])
    tab.button("Side by side").click()
    expect(shown.locator("table.split")).to_have_count(0)
    tab.page.keyboard.press("Escape")
    expect(tab.workspace).to_be_visible()


def test_lines_that_are_the_same_unfold(tab: Tab) -> None:
    shown = tab.compare(3, "draw.py")
    gap = shown.get_by_role("button", name="unchanged lines")
    expect(gap).to_have_text("⋯ 4 unchanged lines")
    gap.focus()
    tab.page.keyboard.press("Enter")
    expect(gap).to_have_count(0)
    expect(shown.locator("tr").last.locator("td").last).to_have_text('draw(read("input/rows.csv"))')
    expect(shown.locator("table")).to_be_focused()


def test_the_lines_have_the_room_whatever_comes_first(tab: Tab) -> None:
    shown = tab.compare(3, "draw.py")
    shown.locator("tbody").evaluate("it => it.prepend(it.querySelector('.gap'))")
    expect(shown.locator("tr").first).to_have_class("gap")
    number, _, line = shown.locator("tr.add").first.locator("th, td:not(.sign)").all()
    narrow, wide = number.bounding_box(), line.bounding_box()
    assert narrow is not None
    assert wide is not None
    assert narrow["width"] < 60
    assert wide["width"] > 300


def test_what_was_made_and_what_was_removed_is_shown_whole(tab: Tab) -> None:
    shown = tab.compare(1, "notes.txt")
    expect(shown.locator(".about")).to_contain_text("created by step 1")
    assert texts(shown.locator("tr.add")) == ["notes"]
    tab.page.locator("#step-5").get_by_role("button", name="more").click()
    tab.button("Deleted: notes.txt").click()
    expect(shown.locator(".about")).to_contain_text("deleted by step 5")
    assert texts(shown.locator("tr.del")) == ["notes"]


def test_the_version_after_a_step_is_looked_at_too(tab: Tab) -> None:
    tab.compare(1, "draw.py")
    tab.button("After step 1").click()
    expect(tab.page.locator(".preview .canvas")).to_contain_text("WIDTH = 640")
    expect(tab.page.locator(".preview .hd")).to_contain_text("version after step 1")


def test_pictures_are_compared_side_by_side_or_one_over_the_other(tab: Tab) -> None:
    expect(tab.chip(3, "output/chart.png").locator(".differs")).to_have_text("compare")
    shown = tab.compare(3, "output/chart.png", "Compare {name} before and after step {step}")
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


def test_a_picture_that_a_step_changed_offers_the_comparison(tab: Tab) -> None:
    tab.chip(3, "output/chart.png").locator(".name").click()
    tab.button("Compare").click()
    expect(tab.page.locator(".preview .difference .about")).to_contain_text("changed by step 3")
    expect(tab.page.locator(".preview .difference").get_by_role("slider")).to_be_visible()


def test_of_bytes_the_facts_are_told(tab: Tab) -> None:
    tab.page.locator("#step-5").get_by_role("button", name="more").click()
    shown = tab.compare(5, "output/data.bin")
    expect(shown.locator(".facts")).to_contain_text("3,000 bytes")
    expect(shown.locator(".facts")).to_contain_text("SHA-256")


def test_a_step_with_many_files_unfolds_them_and_folds_them_again(tab: Tab) -> None:
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


def test_a_chip_s_name_looks_at_the_file(tab: Tab) -> None:
    tab.chip(3, "output/chart.png").locator(".name").click()
    expect(tab.page.locator(".preview .hd b")).to_have_text("chart.png")
    expect(tab.page.locator(".preview .difference")).to_have_count(0)


def test_the_tree_marks_the_file_whose_difference_is_shown(tab: Tab) -> None:
    tab.file("page.html").click()
    tab.compare(3, "draw.py")
    current = tab.workspace.locator("[role=treeitem][aria-current=true]")
    expect(current).to_have_accessible_name("draw.py")
    selected = tab.workspace.locator("[role=treeitem][aria-selected=true]")
    expect(selected).to_have_accessible_name("draw.py")
    tab.compare(1, "notes.txt")  # it is gone since
    expect(selected).to_have_count(0)
    expect(current).to_have_count(0)


def test_a_difference_has_an_address_of_its_own(tab: Tab, world: ServedRun) -> None:
    tab.compare(3, "draw.py")
    with tab.page.context.expect_page() as opened:
        tab.page.get_by_role("link", name="Open in new tab").click()
    page = opened.value
    expect(page.locator(".difference tr.add, .difference td.add").first).to_be_visible()
    assert page.url == f"{world.studio_url}/look?run={world.run}&path=draw.py&step=3&compared=1"
    page.get_by_role("link", name="After step 3").click()
    expect(page.locator(".canvas")).to_contain_text("WIDTH = 800")
    expect(page.locator(".difference")).to_have_count(0)


def test_a_difference_stays_while_the_workspace_is_written_to(tab: Tab, world: ServedRun) -> None:
    shown = tab.compare(3, "draw.py")
    (world.workspace / "later.txt").write_text("later")
    expect(tab.file("later.txt")).to_be_visible()
    expect(shown.locator("tr.add")).to_have_count(2)
    (world.workspace / "later.txt").unlink()
