"""The setting that lets the model summarise older steps, from the drawer to the timeline."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.settings import Settings
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, ScriptedTurns, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import open_studio

SUMMARY = Turn(text="The rows 1 to 1,200 were counted; rows.txt has them.", usage=(4000, 30))
SUBMIT = Turn(text="All rows were counted.", calls=[Call("submit")], usage=(2000, 10))


def count_from(number: int, prompt_tokens: int) -> Turn:
    command = {"command": f"seq {number} {number + 400}"}
    return Turn(calls=[Call("execute_bash", command)], usage=(prompt_tokens, 20))


STEPS = [count_from(1000 * n, 700 * n) for n in range(1, 5)] + [count_from(5000, 4200)]


@pytest.fixture
def studio_url(data: Path) -> Iterator[str]:
    turns = ScriptedTurns()
    turns.turns = [*STEPS, SUMMARY, SUBMIT]
    with Endpoint(turns) as endpoint:
        settings = Settings(
            data=data, base_url=endpoint.url, model="test-model", conversation_tokens=5000
        )
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


@pytest.mark.e2e("lets the model summarise older steps and reads the summary")
@pytest.mark.browser
def test_a_user_lets_the_model_summarise_older_steps(browser: Browser, studio_url: str) -> None:
    with open_studio(browser, studio_url) as studio:
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
