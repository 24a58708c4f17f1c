"""A full disk is reported to the user under the step that filled it, and to the model."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.contract.sandbox_helpers import MEGABYTE
from tests.support.docker_page import open_docker_studio
from tests.support.models.endpoint import Endpoint
from tests.support.page_states import SUBMIT, bash

pytestmark = [pytest.mark.browser, pytest.mark.engine]

FILL = "for i in 1 2 3 4; do head -c 30M /dev/zero > big$i; done; sleep 20"


def test_a_full_disk_is_reported_under_its_step(
    browser: Browser, image: str, tmp_path: Path
) -> None:
    with Endpoint([bash(FILL), bash("rm big*; echo room again"), SUBMIT]) as endpoint:
        settings = Settings(
            data=tmp_path,
            image=image,
            base_url=endpoint.url,
            model="m",
            warm_sandboxes=0,
            disk=60 * MEGABYTE,
        )
        with open_docker_studio(browser, settings) as studio:
            studio.send("Fill it")
            expect(studio.state).to_contain_text("submitted", timeout=90_000)
            card = studio.timeline.locator(".card").first
            expect(card.locator(".state")).to_contain_text("disk full")
            expect(card.locator(".card-footer .bad")).to_contain_text("of 60 MB used")
        messages = str(endpoint.requests[-1].body["messages"])
        assert "Delete files that are no longer needed before you continue." in messages
        assert "room again" in messages
