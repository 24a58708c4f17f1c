"""The built-in model, installed: a task that the page offers, and the Test button."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from agent.models import demonstration
from agent.models.builtin.install import BUILTIN_DESCRIPTION, BUILTIN_NAME, find_files
from tests.support.tab import StudioTab, open_studio

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.builtin,
    pytest.mark.timeout(300),
]

ENDED = re.compile("answered|submitted|limit")
RUN_TIMEOUT_MS = 200_000


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    with open_studio(browser, studio_url) as studio:
        yield studio


def test_an_offered_task_runs_with_its_files_and_can_be_continued(studio: StudioTab) -> None:
    studio.button("Try: Average a column").click()
    expect(studio.timeline.locator(".task .chip")).to_have_text("museum.csv")
    expect(studio.page.locator(".pill.model")).to_have_text(BUILTIN_NAME)
    expect(studio.state).to_have_text(ENDED, timeout=RUN_TIMEOUT_MS)
    expect(studio.timeline.get_by_role("group", name="Totals")).to_contain_text("tokens in")
    studio.send("How many lines does museum.csv have?")
    expect(studio.timeline.locator(".task")).to_have_count(2)
    expect(studio.state).to_have_text(ENDED, timeout=RUN_TIMEOUT_MS)


def test_it_is_selected_and_tested_in_the_settings(studio: StudioTab) -> None:
    studio.button("Settings").click()
    drawer = studio.page.get_by_role("dialog", name="Settings")
    expect(drawer).to_contain_text("Empty for the built-in model")
    drawer.get_by_label("Endpoint").first.fill("http://127.0.0.1:9/v1")
    drawer.get_by_label("Model", exact=True).click()
    drawer.get_by_role("option", name=BUILTIN_NAME).click()
    studio.button("Test").click()
    expect(drawer.get_by_label("Test result")).to_contain_text(f"{BUILTIN_DESCRIPTION}.")


def test_it_does_not_continue_a_demonstration(studio: StudioTab) -> None:
    studio.send(demonstration.load("physics").task)
    expect(studio.page.locator(".pill.model")).to_have_text("Demonstration")
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")
    studio.task.fill("Make it blue.")
    studio.button("Run").click()
    expect(studio.page.get_by_role("alert")).to_contain_text("Connect a model first")
