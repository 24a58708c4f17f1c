"""The built-in model on the page: offered, used, replaced by an endpoint, and not installed."""

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
from sandbox_ui.page import build as page_build
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab, open_studio

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
requires_builtin = pytest.mark.builtin

ENDED = re.compile("answered|submitted|limit")
RUN_TIMEOUT_MS = 200_000
"""Time limit of a run on a busy machine, in milliseconds."""


@pytest.fixture
def open_tab(browser: Browser, studio_url: str) -> Callable[..., AbstractContextManager[StudioTab]]:
    if find_files() is None:
        pytest.skip("the built-in model is not installed (requirements-builtin.txt)")
    return lambda size=WIDE: open_studio(browser, studio_url, size)


def builtin_tasks(studio: StudioTab) -> Locator:
    return studio.page.get_by_role("region", name=BUILTIN_NAME, exact=True)


@requires_builtin
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_builtin_model_offers_tasks_beside_the_demonstrations(
    open_tab: Callable[..., AbstractContextManager[StudioTab]], size: tuple[int, int]
) -> None:
    with open_tab(size) as studio:
        expect(builtin_tasks(studio)).to_contain_text(BUILTIN_DESCRIPTION)
        expect(builtin_tasks(studio).get_by_role("button")).to_have_count(6)
        expect(studio.page.locator(".welcome")).to_contain_text("Demonstrations: scripted model")


@requires_builtin
def test_an_offered_task_runs_with_its_files_and_can_be_continued(
    open_tab: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with open_tab() as studio:
        studio.button("Try: Average a column").click()
        expect(studio.timeline.locator(".task .chip")).to_have_text("museum.csv")
        expect(studio.page.locator(".pill.model")).to_have_text(BUILTIN_NAME)
        expect(studio.state).to_have_text(ENDED, timeout=RUN_TIMEOUT_MS)
        expect(studio.timeline.get_by_role("group", name="Totals")).to_contain_text("tokens in")
        studio.send("How many lines does museum.csv have?")
        expect(studio.timeline.locator(".task")).to_have_count(2)
        expect(studio.state).to_have_text(ENDED, timeout=RUN_TIMEOUT_MS)


@requires_builtin
def test_an_endpoint_replaces_the_builtin_model_until_it_is_selected_again(
    open_tab: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with open_tab() as studio:
        studio.button("Settings").click()
        drawer = studio.page.get_by_role("dialog", name="Settings")
        expect(drawer).to_contain_text("Empty for the built-in model")
        drawer.get_by_label("Endpoint").first.fill("http://127.0.0.1:9/v1")
        expect(builtin_tasks(studio)).to_be_hidden()
        drawer.get_by_label("Model", exact=True).click()
        drawer.get_by_role("option", name=BUILTIN_NAME).click()
        expect(builtin_tasks(studio)).to_be_visible()
        studio.button("Test").click()
        expect(drawer.get_by_label("Test result")).to_contain_text(f"{BUILTIN_DESCRIPTION}.")


@requires_builtin
def test_the_builtin_model_does_not_continue_a_demonstration(
    open_tab: Callable[..., AbstractContextManager[StudioTab]],
) -> None:
    with open_tab() as studio:
        studio.send(demonstration.load("physics").task)
        expect(studio.page.locator(".pill.model")).to_have_text("Demonstration")
        studio.button("Stop").click()
        expect(studio.state).to_have_text("stopped")
        studio.task.fill("Make it blue.")
        studio.button("Run").click()
        expect(studio.page.get_by_role("alert")).to_contain_text("Connect a model first")


def test_without_the_builtin_model_the_page_explains_installation_and_demonstrations_play(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_build, "find_files", lambda: None)
    with (
        run_server(
            create_app(Settings(data=tmp_path), LocalSandboxProvider(tmp_path))
        ) as studio_url,
        open_studio(browser, studio_url) as studio,
    ):
        expect(studio.page.locator(".welcome")).to_contain_text(BUILTIN_MISSING_MESSAGE)
        expect(builtin_tasks(studio)).to_be_hidden()
        studio.page.get_by_role("button", name="Watch:").first.click()
        expect(studio.page.locator(".pill.model")).to_have_text("Demonstration")
        studio.button("Stop").click()
        expect(studio.state).to_have_text("stopped")
