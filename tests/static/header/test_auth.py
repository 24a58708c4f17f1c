"""Login, shared links and access tokens in the browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from agent.models.demonstration import load_all
from agent.settings import Settings
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab

pytestmark = pytest.mark.browser
PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def studio_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with run_server(
        create_app(Settings(data=data, users=users), LocalSandboxProvider(data))
    ) as studio_url:
        yield studio_url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def sign_in(page: Page) -> None:
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture
def run(studio_url: str, browser: Browser) -> Iterator[tuple[StudioTab, str]]:
    """Ann's tab with a run of hers, and the shared link of the run."""
    page = browser.new_page()
    page.goto(studio_url)
    sign_in(page)
    studio = StudioTab(page)
    studio.task.wait_for()
    studio.send(load_all()[0].task)
    studio.button("Export").click()
    page.get_by_role("menuitem", name="Share").click()
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Link", exact=True)
    expect(link).to_have_value(re.compile(r"/shared/[\w-]+\.[\w-]+$"))
    yield studio, link.input_value()
    page.close()


def test_login_reports_a_wrong_password_and_returns_to_the_requested_page(
    studio_url: str, page: Page
) -> None:
    page.goto(f"{studio_url}/?run=notarunatall")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
    expect(page.get_by_label("Name")).to_have_value("ann")
    sign_in(page)
    StudioTab(page).task.wait_for()
    expect(page.get_by_text("There is no such run")).to_be_visible()


@pytest.mark.e2e("shares a link, with which a guest watches the live run and can change nothing")
@pytest.mark.main_path
def test_a_shared_link_shows_the_live_run_read_only(
    studio_url: str, page: Page, run: tuple[StudioTab, str]
) -> None:
    page.goto(run[1])
    guest = StudioTab(page)
    expect(guest.timeline.locator(".task")).to_contain_text(load_all()[0].task[:40])
    expect(page.get_by_text("This run was shared with you")).to_have_count(0)  # it is no element
    for name in ("Run", "Stop", "Settings", "History"):
        expect(guest.button(name)).to_be_hidden()
    expect(guest.task).to_be_hidden()
    guest.file("input").click(button="right")
    expect(page.get_by_role("menuitem", name="Copy path")).to_be_visible()
    expect(page.get_by_role("menuitem", name="New file")).to_have_count(0)
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert guest.errors == []


def test_revoking_links_ends_shared_views(
    studio_url: str, page: Page, run: tuple[StudioTab, str]
) -> None:
    studio, link = run
    page.goto(link)
    expect(StudioTab(page).timeline.locator(".task")).to_be_visible()
    studio.page.get_by_role("button", name="Revoke all links").click()
    expect(studio.page.get_by_text("No active links.")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_visible()
    assert httpx.get(link).status_code == 404


def test_a_token_is_shown_once_and_can_be_revoked(
    studio_url: str, run: tuple[StudioTab, str]
) -> None:
    page = run[0].page
    page.keyboard.press("Escape")
    run[0].button("Settings").click()
    page.get_by_label("Token name").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    token = page.locator(".access .token").inner_text()
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{studio_url}/api/runs", headers=headers).status_code == 200
    page.get_by_role("button", name="Revoke laptop").click()
    expect(page.locator(".access .token")).to_have_count(0)
    expect(page.locator(".access li")).to_have_count(0)
    assert httpx.get(f"{studio_url}/api/runs", headers=headers).status_code == 401


def test_signing_out_shows_the_login_page(run: tuple[StudioTab, str]) -> None:
    page = run[0].page
    page.keyboard.press("Escape")
    run[0].button("Settings").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()
