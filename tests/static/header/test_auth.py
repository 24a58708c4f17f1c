"""Login and shared links, as users take them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from agent.models.demonstration import load_all
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.server import serve_studio
from tests.support.tab import StudioTab

pytestmark = pytest.mark.browser
PASSWORD = "correct horse"
USERS = (("ann", hash_password(PASSWORD, log_n=10)),)


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    with serve_studio(data, users=USERS) as studio_url:
        yield studio_url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def create_link(page: Page) -> str:
    page.get_by_role("button", name="Create link").click()
    field = page.get_by_label("Link", exact=True)
    expect(field).to_have_value(re.compile(r"/shared/[\w-]+\.[\w-]+$"))
    return field.input_value()


@pytest.mark.e2e("mistypes the password, signs in to the page asked for, and signs out")
def test_a_user_signs_in_to_the_requested_page_and_out_again(studio_url: str, page: Page) -> None:
    page.goto(f"{studio_url}/?run=notarunatall")
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
    expect(page.get_by_label("Name")).to_have_value("ann")
    sign_in(page)
    studio = StudioTab(page)
    studio.task.wait_for()
    expect(page.get_by_text("There is no such run")).to_be_visible()
    studio.button("Settings").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()


@pytest.mark.e2e("shares a link; a guest watches the live run with it until it is revoked")
@pytest.mark.main_path
def test_a_guest_follows_a_shared_run_until_the_link_is_revoked(
    studio_url: str, browser: Browser, page: Page
) -> None:
    page.goto(studio_url)
    sign_in(page)
    ann = StudioTab(page)
    ann.task.wait_for()
    ann.send(load_all()[0].task)
    ann.button("Export").click()
    page.get_by_role("menuitem", name="Share").click()
    link = create_link(page)

    guest_page = browser.new_page()
    guest = StudioTab(guest_page)
    guest_page.goto(link)
    expect(guest.timeline.locator(".task")).to_contain_text(load_all()[0].task[:40])
    expect(guest.task).to_be_hidden()
    assert guest.errors == []
    page.get_by_role("button", name="Revoke all links").click()
    expect(page.get_by_text("No active links.")).to_be_visible()
    expect(guest_page.get_by_label("Password")).to_be_visible()
    assert httpx.get(link).status_code == 404
    guest_page.close()
