"""A replay in a browser: started from the menu, its verdicts, compared with the recorded run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.agent.api.conftest import bash
from tests.support.local_provider import LocalSandboxProvider
from tests.support.tab import WIDE, StudioTab, release_context, take_context

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=window.hacked=1>"
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


@pytest.fixture
def tab(browser: Browser) -> Iterator[StudioTab]:
    context = take_context(browser, viewport={"width": WIDE[0], "height": WIDE[1]})
    tab = StudioTab(context.new_page())
    yield tab
    release_context(context)
    assert tab.errors == []


def record(data: Path, state: Path) -> str:
    """Record a run whose third step depends on a file that the step changes."""
    state.write_text("before\n")
    provider = LocalSandboxProvider(data)
    folder = RunFolder.create(data, provider.create_workspace())
    turns = [
        bash("echo always"),
        bash("date +%s"),
        bash(f"cat {state}; echo '{HOSTILE}' > {state}"),
        SUBMIT,
    ]
    with RecordedRun(folder, provider) as run:
        list(run.start(Task("Do it."), ScriptedModel(turns), Limits()))
    return folder.id


def test_a_replay_shows_a_verdict_for_each_step_and_over_the_run(
    tab: StudioTab, studio_url: str, data: Path, tmp_path: Path
) -> None:
    page, run = tab.page, record(data, tmp_path / "state")
    page.goto(f"{studio_url}/?run={run}")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("menuitem", name="Replay").click()
    banner = page.get_by_role("status", name="Replay")
    expect(banner).to_contain_text("Replay of the recorded run")
    expect(banner).to_contain_text("4 steps: 1 different, 1 volatile, 2 same")
    expect(banner.locator(".verdict-badge")).to_have_text("Differs")

    badges = page.locator(".step .verdict-badge")
    words = ["Same", "Same but for volatile parts", "Differs", "Same"]
    expect(badges).to_have_text(words)
    diff = page.get_by_role("group", name="Difference").first
    expect(diff.locator(".del")).to_have_text("-before\n")
    expect(diff.locator(".add")).to_have_text(f"+{HOSTILE}\n")
    assert page.evaluate("window.hacked") is None

    page.reload()
    expect(badges).to_have_text(words)
    expect(diff).to_be_visible()
    banner.get_by_role("button", name="Compare").click()
    columns = page.locator("section.comparison .column")
    expect(columns).to_have_count(2)
    columns.nth(1).scroll_into_view_if_needed()
    expect(columns.nth(1).locator(".verdict-badge").first).to_be_visible()

    page.goto(f"{studio_url}/?run={run}")
    expect(banner).to_contain_text("Replayed:Differs")
    banner.get_by_role("link", name="Differs").click()
    expect(banner).to_contain_text("Replay of the recorded run")
