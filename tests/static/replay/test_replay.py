"""A replay in a browser: started from the menu, its verdicts, compared with the recorded run."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.agent.api.conftest import bash
from tests.support.browser.page_pool import release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HOSTILE = "<img src=x onerror=window.hacked=1>"
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


@pytest.fixture
def tab(browser: Browser) -> Iterator[StudioTab]:
    tab = StudioTab(take_page(browser, viewport={"width": WIDE[0], "height": WIDE[1]}))
    yield tab
    release_page(tab.page)
    assert tab.errors == []


def shoot(studio: StudioTab, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        studio.page.screenshot(path=f"{folder}/{name}.png")


def record(data: Path, state: Path) -> str:
    """Record a run whose third step depends on a file that the step changes."""
    state.write_text("before\n")
    provider = LocalSandboxProvider(data)
    folder = RunFolder.create(data, provider.create_workspace())
    turns = [
        bash("echo always"),
        bash("date +%s.%N"),
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


def test_a_saved_example_is_deleted_after_a_confirmation(
    tab: StudioTab, studio_url: str, data: Path, tmp_path: Path
) -> None:
    page, run = tab.page, record(data, tmp_path / "state")
    page.goto(f"{studio_url}/?run={run}")
    page.get_by_role("button", name="Export").click()
    page.get_by_role("menuitem", name="Save as example").click()
    expect(page.get_by_role("alert")).to_contain_text("Saved as an example")
    page.get_by_role("button", name="Examples", exact=True).click()
    dialog = page.get_by_role("dialog", name="Examples")
    examples = dialog.locator("div.example", has_text="yours, about")
    expect(examples).to_have_count(1)
    dialog.get_by_role("button", name="Delete…: Do it.").click()
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_be_focused()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for size in (NARROW, WIDE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            shoot(tab, f"example-{scheme}-{size[0]}")
    violations = Axe().run(page, context="dialog.examples").response["violations"]
    assert [each["id"] for each in violations] == []
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog.get_by_role("button", name="Delete…: Do it.")).to_be_focused()
    dialog.get_by_role("button", name="Delete…: Do it.").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text("Deleted “Do it.”.")
    expect(examples).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Examples", exact=True).click()
    expect(dialog.get_by_role("button").first).to_be_visible()
    expect(examples).to_have_count(0)
