"""The first screen: what it says, how it begins, and what the right half shows."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Route, expect

from agent.models import demonstration
from agent.models.builtin.install import find_files
from agent.settings import Settings
from tests.support import httpx
from tests.support.browser.page_pool import release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.page_states import SCHEMES, set_appearance
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
COMPARISON_TIMEOUT_MS = 120_000

OpenTab = Callable[..., AbstractContextManager[StudioTab]]


@pytest.fixture(scope="module")
def studio_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as url:
        yield url


@pytest.fixture
def open_tab(browser: Browser, studio_url: str) -> OpenTab:
    @contextmanager
    def open_tab(size: tuple[int, int] = WIDE, **options: str) -> Iterator[StudioTab]:
        viewport = {"width": size[0], "height": size[1]}
        studio = StudioTab(take_page(browser, viewport=viewport, **options))
        studio.open(studio_url)
        yield studio
        release_page(studio.page)
        assert studio.errors == []

    return open_tab


def showcase(studio: StudioTab) -> Locator:
    return studio.page.locator("#workspace .showcase")


def tile(studio: StudioTab, name: str) -> Locator:
    return studio.button(f"Watch: {demonstration.load(name).title}")


def test_it_says_what_this_is_and_offers_three_ways_to_begin(open_tab: OpenTab) -> None:
    with open_tab() as studio:
        welcome = studio.page.locator(".welcome")
        expect(welcome).to_contain_text("LLM-in-Sandbox: the same model, with a shell and a folder")
        with studio.page.expect_file_chooser():
            studio.button("Open files").click()
        studio.button("Connect a model").click()
        expect(studio.page.get_by_role("dialog", name="Settings")).to_be_visible()
        studio.page.keyboard.press("Escape")
        studio.button("Play a demonstration").click()
        expect(studio.timeline.get_by_text("Demonstration: scripted model")).to_be_visible()


def test_late_lists_of_runs_are_shown_once(open_tab: OpenTab, studio_url: str) -> None:
    draft = httpx.post(f"{studio_url}/api/runs").json()["run"]
    httpx.put(f"{studio_url}/api/runs/{draft}/files/input/a.txt", content=b"a").raise_for_status()
    held: list[Route] = []
    with open_tab() as studio:
        studio.page.route("**/api/runs?limit=*", lambda route: held.append(route))
        studio.page.goto(f"{studio_url}/?run={draft}")  # the first screen is made anew for it
        while len(held) < 2:
            studio.page.wait_for_timeout(20)  # lets Playwright call the handler
        for route in reversed(held):
            route.continue_()
        expect(studio.page.get_by_role("heading", name="Your drafts and runs")).to_have_count(1)
        expect(studio.page.get_by_role("region", name="Your runs")).to_have_count(1)
    httpx.delete(f"{studio_url}/api/runs/{draft}").raise_for_status()


def test_the_right_half_shows_what_the_example_under_the_pointer_makes(open_tab: OpenTab) -> None:
    with open_tab() as studio:
        expect(showcase(studio).locator("img")).to_have_attribute("src", re.compile("journey"))
        tile(studio, "poster").hover()
        expect(showcase(studio)).to_contain_text("Illustrate a poster")
        expect(showcase(studio).locator("img")).to_have_attribute(
            "src", re.compile(r"poster\.webp")
        )
        expect(studio.workspace.locator(".empty-message")).to_be_hidden()
        studio.task.fill("A task of my own")
        expect(showcase(studio)).to_be_hidden()
        expect(studio.workspace.locator(".empty-message")).to_be_visible()
        studio.task.fill("")
        expect(showcase(studio)).to_be_visible()


def test_pictures_load_late_keep_their_space_and_move_under_the_pointer(open_tab: OpenTab) -> None:
    with open_tab() as studio:
        picture = tile(studio, "chart").locator("img")
        expect(picture).to_have_attribute("loading", "lazy")
        expect(picture).to_have_attribute("src", re.compile("chart-still"))
        width, height = picture.evaluate("image => [image.clientWidth, image.clientHeight]")
        assert height == pytest.approx(width * 5 / 8, abs=1)
        tile(studio, "chart").hover()
        expect(picture).to_have_attribute("src", re.compile(r"chart\.webp"))
        expect(picture).to_have_js_property("complete", True)
        studio.page.mouse.move(0, 0)
        expect(picture).to_have_attribute("src", re.compile("chart-still"))


def test_nothing_moves_for_those_who_prefer_less_motion(open_tab: OpenTab) -> None:
    with open_tab(reduced_motion="reduce") as studio:
        expect(showcase(studio).locator("img")).to_have_attribute(
            "src", re.compile("journey-still")
        )
        tile(studio, "chart").hover()
        expect(showcase(studio).locator("img")).to_have_attribute("src", re.compile("chart-still"))
        expect(tile(studio, "chart").locator("img")).to_have_attribute(
            "src", re.compile("chart-still")
        )


def test_it_fits_every_screen_and_is_accessible(open_tab: OpenTab) -> None:
    widths = "thread => [thread.scrollWidth - thread.clientWidth, thread.clientWidth > 300]"
    with open_tab(reduced_motion="reduce") as studio:  # colours change at once
        expect(studio.page.locator(".welcome .tile")).to_have_count(6)
        for size in ((360, 740), NARROW, WIDE, (2560, 1300)):
            for scheme in SCHEMES:
                set_appearance(studio, size, scheme)
                thread = studio.page.locator("#timeline .thread")
                assert thread.evaluate(widths) == [0, True], size
                results = Axe().run(studio.page, context=".welcome")
                assert results.violations_count == 0, results.generate_report()


@pytest.mark.builtin
def test_one_click_plays_a_comparison_to_its_end(open_tab: OpenTab) -> None:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    with open_tab() as studio:
        card = studio.page.get_by_role("button", name="Compare: Add up a column")
        card.hover()
        expect(card.locator(".versus-answer").last).to_contain_text("71978")
        card.click()
        comparison = studio.page.get_by_role("region", name="Comparison", exact=True)
        expect(comparison).to_contain_text("What is the sum of visitors in tickets.csv?")
        expect(comparison).to_contain_text(
            re.compile("Without: wrong"), timeout=COMPARISON_TIMEOUT_MS
        )
