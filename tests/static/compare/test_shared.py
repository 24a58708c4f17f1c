"""A comparison over a shared link: it can be read and followed, and not changed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from agent.settings import Settings
from sandbox_ui.auth.passwords import hash_password
from tests.static.compare.test_compare import TASK, CompareTab, answers_by_mode
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

PASSWORD = "correct horse"


@pytest.fixture
def studio_url(tmp_path: Path) -> Iterator[str]:
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with Endpoint(answers_by_mode) as endpoint:
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="m", users=users)
        with run_server(create_app(settings, LocalSandboxProvider(tmp_path))) as url:
            yield url


@pytest.fixture
def link(studio_url: str, browser: Browser) -> str:
    """The shared link of a comparison of Ann's."""
    page = browser.new_page()
    page.goto(studio_url)
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    tab = CompareTab(page)
    tab.task.fill(TASK)
    tab.button("Compare").click()
    tab.button("Start comparison").click()
    expect(tab.state).to_have_text("2 of 2 finished")
    tab.button("Share").click()
    tab.button("Create link").click()
    field = page.get_by_label("Link", exact=True)
    expect(field).to_have_value(re.compile(r"/shared/[\w-]+\.[\w-]+$"))
    address = field.input_value()
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
