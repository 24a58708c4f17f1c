"""Steering a run from the page to the model: a message that is left, approval of calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.models.endpoint import Call, Turn
from tests.support.page_states import (
    SUBMIT,
    ScriptedStudio,
    bash,
    open_scripted,
    serve_scripted,
)
from tests.support.tab import StudioTab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedStudio]:
    with serve_scripted(tmp_path_factory.mktemp("data")) as stage:
        yield stage


@pytest.fixture
def studio(browser: Browser, stage: ScriptedStudio) -> Iterator[StudioTab]:
    with open_scripted(browser, stage) as studio:
        yield studio
    assert studio.errors == []


def gated(gate: Path, command: str = "echo first") -> Turn:
    """A command that ends when a file appears."""
    return bash(f"{command}; until [ -e {gate} ]; do sleep 0.05; done")


def queue(studio: StudioTab) -> Locator:
    return studio.page.get_by_role("group", name="Messages that wait")


def ask_every_call(studio: StudioTab, choice: str = "Every call") -> None:
    studio.button("Settings").click()
    studio.page.get_by_role("radio", name=choice).check()
    studio.button("Close settings").click()


def approval(studio: StudioTab) -> Locator:
    return studio.timeline.get_by_role("group", name="Approval").last


def test_a_message_that_was_not_delivered_is_offered_again(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    stage.set_turns(gated(tmp_path / "never"), SUBMIT, SUBMIT)
    studio.send("Count")
    expect(studio.state).to_contain_text("running a command")
    studio.task.fill("And then?")
    studio.button("Send").click()
    expect(queue(studio)).to_contain_text("And then?")
    studio.button("Stop").click()
    expect(queue(studio)).to_contain_text("Not delivered")
    queue(studio).get_by_role("button", name="Send now").click()
    expect(studio.timeline.locator(".task").last).to_contain_text("And then?")
    expect(queue(studio)).to_be_hidden()
    expect(studio.state).to_have_text("submitted")


@pytest.mark.e2e("lets every call wait, allows one, edits two, denies one, and sees what ran")
def test_calls_wait_and_are_allowed_edited_and_denied(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    edit = {"command": "create", "path": f"{tmp_path}/b.txt", "file_text": "old\n"}
    stage.set_turns(
        bash("echo allowed", text="First I look."),
        bash("rm -rf output\nls", text="Then I tidy up."),
        Turn(calls=[Call("str_replace_editor", edit)]),
        bash("curl https://example.org/"),
        SUBMIT,
    )
    ask_every_call(studio)
    studio.send("Tidy up")
    expect(studio.state).to_contain_text("waiting for approval")
    expect(approval(studio)).to_contain_text("Waits for your approval")
    expect(studio.page.locator("#hint")).to_contain_text("waits for your approval")
    studio.page.reload()
    approval(studio).get_by_role("button", name="Allow").click()
    expect(approval(studio)).to_contain_text("Waits for your approval")

    # By keyboard, outside of fields: edit the command.
    second = studio.timeline.locator("#step-2")
    expect(second.get_by_role("button", name="Edit…")).to_be_visible()
    second.locator(".card summary").first.focus()
    studio.page.keyboard.press("e")
    field = studio.page.get_by_role("textbox", name="Command")
    expect(field).to_be_focused()
    expect(field).to_have_value("rm -rf output\nls")
    studio.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(studio.state).to_contain_text("waiting for approval")  # Escape did not stop the run
    approval(studio).get_by_role("button", name="Edit…").click()
    field.fill(" ")
    studio.page.keyboard.press("Control+Enter")
    expect(approval(studio).get_by_role("alert")).to_contain_text("No command")
    field.fill("echo kept")
    studio.page.keyboard.press("Control+Enter")
    expect(second).to_contain_text("You edited this call")
    expect(second.locator(".reviewed")).to_have_text("edited")

    # The parameters of another tool.
    approval(studio).get_by_role("button", name="Edit…").click()
    field = studio.page.get_by_role("textbox", name="Parameters (JSON)")
    field.fill("{")
    approval(studio).get_by_role("button", name="Execute").click()
    expect(approval(studio).get_by_role("alert")).to_contain_text("not JSON")
    field.fill('{"file_text": "new\\n"}')
    approval(studio).get_by_role("button", name="Execute").click()

    fourth = studio.timeline.locator("#step-4")
    expect(fourth.get_by_role("button", name="Deny…")).to_be_visible()
    fourth.locator(".card summary").first.focus()
    studio.page.keyboard.press("d")
    studio.page.get_by_role("textbox", name="Reason").fill("Not from the <b>network</b>.")
    studio.page.keyboard.press("Enter")
    expect(studio.state).to_have_text("submitted")
    expect(fourth.locator(".card > summary")).to_contain_text("denied")
    expect(fourth).to_contain_text("Not from the <b>network</b>.")
    studio.page.reload()
    expect(studio.timeline.locator("#step-2 .reviewed")).to_have_text("edited")
    assert (tmp_path / "b.txt").read_text() == "new\n"
    third = studio.timeline.locator("#step-3 .card").first
    third.locator("summary").first.click()
    expect(third.get_by_label("Command", exact=True)).to_contain_text("new")
    studio.errors = [each for each in studio.errors if "400" not in each]  # the invalid edits
