"""Replays on the page: started from the menu, their verdicts; examples that were saved."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.events import CheckedCall, Event, ReplayStarted, StepVerified
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.agent.api.conftest import bash
from tests.support.component.accessibility import check_accessible, violations
from tests.support.component.events import bash as command
from tests.support.component.events import ended, started, step
from tests.support.component.routes import LocalStudio
from tests.support.component.stage import LOOKS, Look, Stage, looks
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.tab import open_studio

pytestmark = pytest.mark.component

HOSTILE = "<img src=x onerror=window.hacked=1>"
SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))
WORDS = ("Same", "Same but for volatile parts", "Differs", "Same")


def record(data: Path, *turns: ScriptedTurn) -> RunFolder:
    provider = LocalSandboxProvider(data)
    folder = RunFolder.create(data, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        list(run.start(Task("Do it."), ScriptedModel([*turns, SUBMIT]), Limits()))
    return folder


@pytest.mark.browser
@pytest.mark.e2e("replays a run and sees for each step whether it does the same again")
def test_a_replay_shows_a_verdict_for_each_step_and_over_the_run(
    browser: Browser, studio_url: str, data: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.write_text("before\n")
    turns = [bash("echo always"), bash("date +%s.%N"), bash(f"cat {state}; echo after > {state}")]
    run = record(data, *turns).id
    with open_studio(browser, f"{studio_url}/?run={run}") as tab:
        page = tab.page
        tab.button("Export").click()
        page.get_by_role("menuitem", name="Replay").click()
        banner = page.get_by_role("status", name="Replay")
        expect(banner).to_contain_text("4 steps: 1 different, 1 volatile, 2 same")
        badges = page.locator(".step .verdict-badge")
        expect(badges).to_have_text(WORDS)
        banner.get_by_role("button", name="Compare").click()
        columns = page.locator("section.comparison .column")
        expect(columns).to_have_count(2)
        columns.nth(1).scroll_into_view_if_needed()
        expect(columns.nth(1).locator(".verdict-badge").first).to_be_visible()
        page.goto(f"{studio_url}/?run={run}")
        expect(banner).to_contain_text("Replayed:Differs")
        banner.get_by_role("link", name="Differs").click()
        expect(banner).to_contain_text("Replay of the recorded run")


def verified() -> list[Event]:
    """A replay whose third step differs."""
    diff = f"--- recorded\n+++ replayed\n@@ -1 +1 @@\n-before\n+{HOSTILE}\n"
    differing = CheckedCall("call-3-1", "differs", reason="Other output.", diff=diff)
    events: list[Event] = [started(), ReplayStarted(run="recorded", steps=(1, 2, 3, 4))]
    for number, verdict in enumerate(("same", "volatile", "differs", "same"), 1):
        calls = (differing,) if verdict == "differs" else ()
        events += step(number, command("cat state", "x\n"))
        events.append(StepVerified(step=number, verdict=verdict, calls=calls))  # type: ignore[arg-type]
    return [*events, ended()]


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_replay_shows_its_verdicts_and_what_differs(stage: Stage, look: Look) -> None:
    stage.mount("header", "timeline", run=verified(), look=look)
    banner = stage.page.get_by_role("status", name="Replay")
    expect(banner).to_contain_text("Replay of the recorded run")
    expect(banner).to_contain_text("4 steps: 1 different, 1 volatile, 2 same")
    expect(banner.locator(".verdict-badge")).to_have_text("Differs")
    expect(banner.get_by_role("button", name="Compare")).to_have_count(int(look.can_edit))
    expect(stage.page.locator(".step .verdict-badge")).to_have_text(WORDS)
    diff = stage.page.get_by_role("group", name="Difference").first
    expect(diff.locator(".del")).to_have_text("-before\n")
    expect(diff.locator(".add")).to_have_text(f"+{HOSTILE}\n")
    assert stage.page.evaluate("window.hacked") is None
    assert violations(stage.page) == []
    assert stage.page.evaluate("document.documentElement.scrollWidth") <= look.size[0]


def test_a_saved_example_is_deleted_after_a_confirmation(studio: LocalStudio) -> None:
    page = studio.page
    studio.show(record(studio.data, bash("echo always")))
    studio.stage.button("Export").click()
    page.get_by_role("menuitem", name="Save as example").click()
    expect(page.get_by_role("alert")).to_contain_text("Saved as an example")
    studio.stage.button("Examples").click()
    dialog = page.get_by_role("dialog", name="Examples")
    examples = dialog.locator("div.example", has_text="yours, about")
    expect(examples).to_have_count(1)
    delete = dialog.get_by_role("button", name="Delete…: Do it.")
    confirm = dialog.get_by_role("button", name="Delete", exact=True)
    delete.click()
    expect(confirm).to_be_focused()
    check_accessible(studio.stage, "dialog.examples", looks(roles=["owner"]))
    dialog.get_by_role("button", name="Cancel").click()
    expect(delete).to_be_focused()
    delete.click()
    confirm.click()
    expect(dialog.get_by_role("status")).to_have_text("Deleted “Do it.”.")
    expect(examples).to_have_count(0)
    page.keyboard.press("Escape")
    studio.stage.button("Examples").click()
    expect(dialog.get_by_role("button").first).to_be_visible()
    expect(examples).to_have_count(0)
