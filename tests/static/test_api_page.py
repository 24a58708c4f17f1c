"""The API documentation page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import WIDE, StudioTab

pytestmark = pytest.mark.browser

# Gradio's page requests a schema that exists only with MCP.
EXPECTED_ERRORS = ("mcp/schema",)


@pytest.fixture(scope="module")
def studio_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as studio_url:
        yield studio_url


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    tab = StudioTab(context.new_page())
    yield tab
    context.close()
    assert [
        error for error in tab.errors if not any(each in error for each in EXPECTED_ERRORS)
    ] == []


def test_the_settings_link_to_the_api_documentation(studio: StudioTab, studio_url: str) -> None:
    studio.open(studio_url)
    studio.button("Settings").click()
    studio.button("API").click()
    expect(studio.page.get_by_text("/start", exact=True).first).to_be_visible()
