"""The API documentation page."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.tab import open_studio


@pytest.mark.browser
@pytest.mark.e2e("opens the documentation of the API from the settings")
def test_the_settings_link_to_the_api_documentation(browser: Browser, studio_url: str) -> None:
    with open_studio(browser, studio_url) as studio:
        studio.button("Settings").click()
        studio.button("API").click()
        expect(studio.page.get_by_text("/start", exact=True).first).to_be_visible()
        # Gradio's page requests a schema that exists only with MCP.
        studio.errors = [error for error in studio.errors if "mcp/schema" not in error]
