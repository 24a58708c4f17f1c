"""Approval of calls, from the page to the model."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.models.turns import SUBMIT, Call, Turn, bash
from tests.support.page_states import ScriptedStudio, open_scripted, serve_scripted
from tests.support.tab import StudioTab


def approval(studio: StudioTab) -> Locator:
    return studio.timeline.get_by_role("group", name="Approval").last


@pytest.mark.browser
@pytest.mark.e2e("lets every call wait, allows one, edits two, denies one, and sees what ran")
def test_calls_wait_and_are_allowed_edited_and_denied(browser: Browser, tmp_path: Path) -> None:
    with serve_scripted(tmp_path / "data") as stage, open_scripted(browser, stage) as studio:
        decide(studio, stage, tmp_path)
    assert studio.errors == []


def decide(studio: StudioTab, stage: ScriptedStudio, tmp_path: Path) -> None:
    """Allow a call, edit two, deny one."""
    edit = {"command": "create", "path": f"{tmp_path}/b.txt", "file_text": "old\n"}
    stage.set_turns(
        bash("echo allowed", text="First I look."),
        bash("rm -rf output\nls", text="Then I tidy up."),
        Turn(calls=[Call("str_replace_editor", edit)]),
        bash("curl https://example.org/"),
        SUBMIT,
    )
    studio.button("Settings").click()
    studio.page.get_by_role("radio", name="Every call").check()
    studio.button("Close settings").click()
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
