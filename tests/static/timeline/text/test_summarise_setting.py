"""The setting that lets the model summarise older steps, from the drawer to the timeline."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import serve_studio
from tests.support.tab import open_studio

SUMMARY = Turn(text="The rows 1 to 1,200 were counted; rows.txt has them.", usage=(4000, 30))
SUBMIT = Turn(text="All rows were counted.", calls=[Call("submit")], usage=(2000, 10))


def count_from(number: int, prompt_tokens: int) -> Turn:
    command = {"command": f"seq {number} {number + 400}"}
    return Turn(calls=[Call("execute_bash", command)], usage=(prompt_tokens, 20))


STEPS = [count_from(1000 * n, 700 * n) for n in range(1, 5)] + [count_from(5000, 4200)]


@pytest.mark.e2e("lets the model summarise older steps and reads the summary")
@pytest.mark.browser
def test_a_user_lets_the_model_summarise_older_steps(browser: Browser, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": "test-model", "conversation_tokens": 5000}
    with (
        Endpoint([*STEPS, SUMMARY, SUBMIT]) as endpoint,
        serve_studio(tmp_path, base_url=endpoint.url, **settings) as url,
        open_studio(browser, url) as studio,
    ):
        studio.button("Settings").click()
        setting = studio.page.get_by_label("Summarise older steps near the context limit")
        expect(setting).not_to_be_checked()
        setting.check()
        studio.page.keyboard.press("Escape")
        studio.send("Count all rows.")
        expect(studio.state).to_have_text("submitted")
        studio.page.reload()
        summary = studio.page.locator("#step-6 .context-summary")
        summary.locator("summary").click()
        expect(summary.locator(".text")).to_contain_text("rows.txt has them")
