"""The age of a previewed file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support import file_run
from tests.support.file_run import ServedRun, bash
from tests.support.models.endpoint import Call, Turn
from tests.support.tab import open_studio

pytestmark = pytest.mark.browser

SUBMIT = Turn(text="Done.", calls=[Call("submit")])


@pytest.fixture
def served_run(tmp_path: Path) -> Iterator[ServedRun]:
    with file_run.serve_recorded_run(tmp_path, [SUBMIT]) as served_run:
        yield served_run


def test_the_age_of_a_file_is_updated(browser: Browser, served_run: ServedRun) -> None:
    url = f"{served_run.studio_url}/?run={served_run.run}"
    with open_studio(browser, url) as studio:
        studio.page.clock.install()
        studio.page.reload()
        served_run.turns[:] = [bash("", "echo x > output/x.txt"), SUBMIT]
        studio.send("Write")
        expect(studio.state).to_have_text("submitted")
        studio.file("x.txt").click()
        about = studio.page.locator(".preview .header small")
        expect(about).to_contain_text("modified just now")
        studio.page.clock.fast_forward("05:00")
        expect(about).to_contain_text("modified 5 min ago")
