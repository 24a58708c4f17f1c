"""Network requests of a run, measured by the proxy, are shown on the page and to the model."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.support.docker_page import open_docker_studio
from tests.support.models.endpoint import Endpoint
from tests.support.page_states import SUBMIT, bash

pytestmark = [pytest.mark.browser, pytest.mark.engine]

COMMAND = "pip download -q --no-deps -d /tmp/x six; curl -s -m 20 http://10.0.0.1/ -o /dev/null"


def test_a_command_shows_its_downloads_and_blocked_hosts(
    browser: Browser, image: str, tmp_path: Path
) -> None:
    with Endpoint([bash(COMMAND), SUBMIT]) as endpoint:
        settings = Settings(
            data=tmp_path, image=image, base_url=endpoint.url, model="m", warm_sandboxes=0
        )
        with open_docker_studio(browser, settings) as studio:
            studio.send("Fetch something")
            expect(studio.state).to_contain_text("submitted", timeout=90_000)
            card = studio.timeline.locator(".card").first
            card.locator("summary").click()
            expect(card.locator(".host", has_text="pypi.org")).to_have_attribute(
                "title", re.compile("received")
            )
            expect(card.locator(".host.bad")).to_have_text("10.0.0.1 blocked")
        messages = str(endpoint.requests[-1].body["messages"])
        assert "The network refused 10.0.0.1:80: this run may not reach it" in messages
