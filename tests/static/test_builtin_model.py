"""The built-in model on the page: offered, asked, left for another, and missing."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from agent.models import demonstration
from agent.models.builtin.install import (
    BUILTIN_DESCRIPTION,
    BUILTIN_MISSING_MESSAGE,
    BUILTIN_NAME,
    find_files,
)
from agent.settings import Settings
from sandbox_ui.page import build as page_of_ours
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
model_needed = pytest.mark.builtin

OVER = re.compile("answered|submitted|limit")
LONG = 200_000
"""Milliseconds that a run may take on processors that are busy."""


@pytest.fixture
def visit(browser: Browser, studio_url: str) -> Callable[..., AbstractContextManager[StudioTab]]:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    return lambda size=WIDE: open_studio(browser, studio_url, size)


def offers(studio: StudioTab) -> Locator:
    return studio.page.get_by_role("region", name=BUILTIN_NAME, exact=True)


@model_needed
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_what_it_knows_is_told_and_offered_beside_the_demonstrations(
    visit: Callable[..., AbstractContextManager[StudioTab]], size: tuple[int, int]
) -> None:
    with visit(size) as studio:
        expect(offers(studio)).to_contain_text(BUILTIN_DESCRIPTION)
        expect(offers(studio).get_by_role("button")).to_have_count(6)
        expect(studio.page.locator(".welcome")).to_contain_text("Watch a demonstration")


@model_needed
def test_an_offered_task_brings_its_files_and_a_message_goes_on(
    visit: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with visit() as studio:
        studio.button("Try: Average a column").click()
        expect(studio.timeline.locator(".task .chip")).to_have_text("museum.csv")
        expect(studio.page.locator(".pill.model")).to_have_text(BUILTIN_NAME)
        expect(studio.state).to_have_text(OVER, timeout=LONG)
        expect(studio.timeline.get_by_role("group", name="Totals")).to_contain_text("tokens in")
        studio.send("How many lines does museum.csv have?")
        expect(studio.timeline.locator(".task")).to_have_count(2)
        expect(studio.state).to_have_text(OVER, timeout=LONG)


@model_needed
def test_it_is_left_for_an_endpoint_and_chosen_again(
    visit: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with visit() as studio:
        studio.button("Settings").click()
        drawer = studio.page.get_by_role("dialog", name="Settings")
        expect(drawer).to_contain_text("empty for the built-in model")
        drawer.get_by_label("Endpoint").first.fill("http://127.0.0.1:9/v1")
        expect(offers(studio)).to_be_hidden()
        drawer.get_by_label("Model", exact=True).click()
        drawer.get_by_role("option", name=BUILTIN_NAME).click()
        expect(offers(studio)).to_be_visible()
        studio.button("Test").click()
        expect(drawer.get_by_label("Test result")).to_have_value(f"{BUILTIN_DESCRIPTION}.")


@model_needed
def test_what_a_demonstration_began_it_does_not_go_on_with(
    visit: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with visit() as studio:
        studio.send(demonstration.load("physics").task)
        expect(studio.page.locator(".pill.model")).to_have_text("Demonstration")
        studio.button("Stop").click()
        expect(studio.state).to_have_text("stopped")
        studio.task.fill("Make it blue.")
        studio.button("Run").click()
        expect(studio.page.get_by_role("alert")).to_contain_text("Connect a model first")


def test_where_it_is_missing_the_page_says_how_to_have_it_and_demonstrations_play(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_ours, "find_files", lambda: None)
    with (
        run_server(
            create_app(Settings(data=tmp_path), LocalSandboxProvider(tmp_path))
        ) as studio_url,
        open_studio(browser, studio_url) as studio,
    ):
        expect(studio.page.locator(".welcome")).to_contain_text(BUILTIN_MISSING_MESSAGE)
        expect(offers(studio)).to_be_hidden()
        studio.page.get_by_role("button", name="Watch:").first.click()
        expect(studio.page.locator(".pill.model")).to_have_text("Demonstration")
        studio.button("Stop").click()
        expect(studio.state).to_have_text("stopped")
