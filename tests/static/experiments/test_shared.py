"""A comparison over a shared link: it can be read and followed, and not changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.static.experiments.test_comparisons import TASK, CompareTab, answers_by_mode
from tests.static.header.test_auth import USERS, create_link, sign_in
from tests.support.models.endpoint import Endpoint
from tests.support.server import serve_studio

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def studio_url(tmp_path: Path) -> Iterator[str]:
    with (
        Endpoint(answers_by_mode) as endpoint,
        serve_studio(tmp_path, base_url=endpoint.url, model="m", users=USERS) as url,
    ):
        yield url


@pytest.fixture
def link(studio_url: str, browser: Browser) -> str:
    """The shared link of a comparison of Ann's."""
    page = browser.new_page()
    page.goto(studio_url)
    sign_in(page)
    tab = CompareTab(page)
    tab.task.fill(TASK)
    tab.button("Compare").click()
    tab.button("Start comparison").click()
    expect(tab.state).to_have_text("2 of 2 finished")
    tab.button("Share").click()
    address = create_link(page)
    page.close()
    return address


def test_a_guest_reads_a_shared_comparison_and_its_runs(browser: Browser, link: str) -> None:
    guest: Page = browser.new_page()
    guest.goto(link)
    tab = CompareTab(guest)
    expect(tab.verdict).to_contain_text("The answers differ.")
    expect(tab.columns.nth(1)).to_contain_text("echo 12 words")
    expect(tab.button("Present p")).to_be_visible()
    for name in ("Delete the comparison", "Share", "History", "Run"):
        expect(tab.button(name)).to_be_hidden()
    tab.comparison.get_by_role("link", name="Open this run").nth(1).click()
    expect(tab.timeline.locator(".round-end")).to_contain_text("12 words")
    expect(tab.task).to_be_hidden()
    assert tab.errors == []
    guest.close()
