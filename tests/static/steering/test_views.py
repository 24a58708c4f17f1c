"""What the page shows and sends while a run is steered: controls, messages, approval."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, expect

from agent.events import (
    ApprovalRequested,
    CallDelta,
    CallReviewed,
    Event,
    MessageDelivered,
    ObservationEdited,
    Paused,
    Resumed,
)
from agent.loop.steering import QueuedMessage, SteeringState, WaitingCall
from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step, step_end
from tests.support.component.stage import LOOKS, Look, Stage, looks
from tests.support.server import wait_until

pytestmark = pytest.mark.component

WORKING = SteeringState(False, (), (), None, (), 1)
PAUSED = replace(WORKING, paused=True, version=2)
COMMAND = {"command": "rm -rf output\nls"}
WAITING = replace(WORKING, waiting=WaitingCall(1, "call-1-1", "execute_bash", COMMAND, ("delete",)))
NEWLINES = "\n" * 300
MESSAGES = (QueuedMessage("m1", "In French, please.", 1.0), QueuedMessage("m2", "Forget it.", 2.0))


def running() -> Iterator[Event]:
    yield started("Count")
    yield from step(1, replace(bash("echo first", "first\n"), is_running=True))


def asking(name: str = "execute_bash", **arguments: str) -> Iterator[Event]:
    yield started("Tidy up")
    yield from list(step(1, replace(bash("rm -rf output\nls"), is_running=True)))[:-1]
    yield ApprovalRequested(
        step=1, call_id="call-1-1", name=name, arguments=arguments or COMMAND,
        summary="rm -rf output", reasons=("delete",),
    )  # fmt: skip


def approval(stage: Stage) -> Locator:
    return stage.timeline.get_by_role("group", name="Approval").last


def queue(stage: Stage) -> Locator:
    return stage.page.get_by_role("group", name="Messages that wait")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_only_the_owner_decides_on_a_call_that_waits(stage: Stage, look: Look) -> None:
    stage.run.send_steering(WAITING)
    stage.mount("header", "timeline", "attachments", run=asking(), look=look)
    who = "your" if look.can_edit else "the owner’s"
    expect(approval(stage)).to_contain_text(f"Waits for {who} approval: it deletes files.")
    expect(stage.state).to_contain_text("waiting for approval")
    names = ["Allow a", "Edit… e", "Deny… d"] if look.can_edit else []
    expect(approval(stage).locator("button")).to_have_text(names)
    check_accessible(stage, "#timeline")
    stage.run.add(CallReviewed(step=1, call_id="call-1-1", decision="allowed"))
    decided = "You allowed this call." if look.can_edit else "The owner allowed this call."
    expect(stage.timeline).to_contain_text(decided)


def test_a_call_is_allowed_once_its_end_was_in_view(stage: Stage) -> None:
    stage.answer("approval", {}, "POST")
    stage.run.send_steering(WAITING)
    command = f"echo ok{NEWLINES}rm -rf \u202e/etc"
    stage.mount("timeline", "attachments", run=asking(command=command))
    allow = stage.button("Allow")
    extent = approval(stage).get_by_role("status")
    expect(extent).to_have_text("301 lines, 319 characters: scroll to the end to allow it")
    expect(allow).to_be_disabled()
    stage.timeline.locator(".card summary").first.focus()
    stage.page.keyboard.press("a")  # shows the end first
    expect(allow).to_be_enabled()
    expect(extent).to_have_text("301 lines, 319 characters")
    program = stage.timeline.get_by_label("Command")
    expect(program.locator(".hidden-character")).to_have_text("⟨U+202E⟩")
    expect(program.locator(".hidden-character")).to_be_in_viewport(ratio=1)
    expect(program).to_contain_text("rm -rf ⟨U+202E⟩/etc")
    check_accessible(stage, "#timeline")
    allow.click()
    stage.wait_until(lambda: bool(stage.asked("approval", "POST")))


def test_after_a_decision_the_focus_goes_to_the_next_call_that_waits(stage: Stage) -> None:
    stage.answer("approval", {}, "POST")
    stage.run.send_steering(WAITING)
    stage.mount("header", "timeline", "attachments", run=asking())
    said = stage.page.locator(".announcer")
    expect(said).to_have_text("Step 1 waits for your approval: rm -rf output")
    approval(stage).get_by_role("button", name="Allow").press("Enter")
    stage.wait_until(lambda: bool(stage.asked("approval", "POST")))
    stage.run.send_steering(WORKING)
    decided = CallReviewed(step=1, call_id="call-1-1", decision="allowed")
    events = list(step(2, replace(bash("curl x"), is_running=True)))[:-1]
    asks = ApprovalRequested(
        step=2, call_id="call-2-1", name="execute_bash", arguments={"command": "curl x"},
        summary="curl x", reasons=("network",),
    )  # fmt: skip
    stage.run.add(decided, *step_end(1), *events, asks)
    waiting = WaitingCall(2, "call-2-1", "execute_bash", {"command": "curl x"}, ("network",))
    stage.run.send_steering(replace(WORKING, waiting=waiting, version=3))
    expect(stage.step(2).get_by_role("group", name="Approval")).to_be_focused()
    expect(said).to_have_text("Step 2 waits for your approval: curl x")
    stage.page.keyboard.press("a")
    stage.wait_until(lambda: len(stage.asked("approval", "POST")) == 2)


def test_hidden_characters_of_a_call_are_codes_while_it_is_written_and_in_the_status_line(
    stage: Stage,
) -> None:
    stage.run.send_steering(WAITING)
    *events, asks = asking(command="rm \u202e/crs")
    assert isinstance(asks, ApprovalRequested)
    draft = CallDelta(step=1, index=1, name="str_replace_editor", arguments='{"path": "\u202ecrs"')
    stage.mount("header", "timeline", "attachments", run=[*events, draft])
    expect(stage.timeline.locator(".card summary").last).to_contain_text("⟨U+202E⟩crs")
    stage.run.add(replace(asks, summary="rm \u202e/crs"))
    expect(stage.timeline.locator(".status")).to_contain_text("rm ⟨U+202E⟩/crs")
    expect(stage.timeline.locator(".card.asks summary")).to_contain_text("rm ⟨U+202E⟩/crs")
    assert "\u202e" not in stage.page.inner_text("body")


def test_all_parameters_of_another_tool_are_shown_before_it_is_allowed(stage: Stage) -> None:
    stage.run.send_steering(WAITING)
    path = f"/workspace/{'deep/' * 40}a.txt"
    edit = {"command": "create", "path": path, "file_text": "new"}
    stage.mount("timeline", "attachments", run=asking("str_replace_editor", **edit))
    expect(approval(stage).get_by_label("Parameters")).to_contain_text(path)
    expect(stage.timeline.get_by_label("Command")).to_contain_text("new")
    expect(stage.button("Allow")).to_be_enabled()


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_messages_that_wait_are_shown_to_all_and_taken_back_by_the_owner(
    stage: Stage, look: Look
) -> None:
    stage.run.send_steering(replace(WORKING, messages=MESSAGES))
    stage.mount("header", "timeline", "attachments", run=running(), look=look)
    expect(queue(stage)).to_contain_text("In French, please.")
    expect(queue(stage)).to_contain_text("Waits to be delivered with the next result")
    buttons = queue(stage).locator("button:visible")
    expect(buttons).to_have_text(["Take back"] * 2 if look.can_edit else [])
    check_accessible(stage, "#timeline")
    delivered = MessageDelivered(step=2, text="In French, please.", message="m1", sent=1.0)
    stage.run.add(*step_end(1), *step(2, text="Oui."), delivered)
    expect(stage.timeline.locator("#step-2 .task.delivered")).to_contain_text("In French, please.")
    expect(queue(stage)).not_to_contain_text("In French, please.")


def test_a_message_is_taken_back_and_one_that_is_left_is_sent_now(stage: Stage) -> None:
    stage.answer("messages/*", {}, "DELETE")
    stage.run.send_steering(replace(WORKING, messages=MESSAGES))
    stage.mount("timeline", "attachments", run=running())
    queue(stage).get_by_role("button", name="Take back").last.click()
    expect(queue(stage)).to_have_count(1)
    stage.run.send_steering(replace(WORKING, messages=MESSAGES[:1], version=2))
    expect(queue(stage)).not_to_contain_text("Forget it.")
    stage.wait_until(lambda: len(stage.asked("messages/*", "DELETE")) == 1)
    stage.run.add(ended("stopped"))
    expect(queue(stage)).to_contain_text("Not delivered: the round ended first.")
    names = queue(stage).get_by_role("button")
    expect(names).to_have_text(["Send now", "Discard"])
    names.first.click()
    sent = stage.timeline.locator(".task:not(.waiting)").last
    expect(sent).to_contain_text("In French, please.")
    assert [each["message"] for each in stage.sent] == [{"text": "In French, please."}]
    revoked = [each.path for each in stage.asked("messages/*", "DELETE")]
    assert revoked == ["messages/m2", "messages/m1"]
    stage.run.send_steering(replace(WORKING, messages=(), version=3))
    expect(queue(stage)).to_be_hidden()


@pytest.mark.parametrize("look", looks(sizes=[(1280, 860)], themes=["light"]), ids=str)
def test_a_run_is_paused_takes_a_step_and_goes_on(stage: Stage, look: Look) -> None:
    for action in ("pause", "step", "resume"):
        stage.answer(action, {}, "POST")
    stage.run.send_steering(WORKING)
    stage.mount("header", "timeline", "attachments", run=running(), look=look)
    expect(stage.state).to_contain_text("running a command")
    if not look.can_edit:
        for name in ("Pause", "Send", "Stop"):
            expect(stage.button(name)).to_be_hidden()
        return
    stage.button("Pause").click()
    stage.run.send_steering(PAUSED)
    expect(stage.button("Resume")).to_be_focused()
    expect(stage.button("Step")).to_be_disabled()  # the command still runs
    stage.run.add(*step_end(1), Paused(step=1))
    expect(stage.state).to_contain_text("paused")
    assert stage.page.title().startswith("⏸ ")
    stage.button("Step").click()
    stage.button("Resume").click()
    stage.run.send_steering(WORKING)
    stage.run.add(Resumed(step=1, seconds=2.0), *step(2, text="Done."), ended())
    expect(stage.timeline.locator("#step-1")).to_contain_text("Paused for")
    for name in ("Pause", "Resume"):
        expect(stage.button(name)).to_be_hidden()
    asked = [each.path for each in stage.requests if each.method == "POST"]
    assert [path for path in asked if path != "file-links"] == ["pause", "step", "resume"]


def test_a_call_is_allowed_edited_and_denied_by_keyboard(stage: Stage) -> None:
    stage.expected_errors = ["/approval"]
    stage.run.send_steering(WAITING)
    stage.mount("header", "timeline", "attachments", run=asking())
    stage.fail("approval", 400, "No command was given.", "POST")
    stage.step(1).locator(".card summary").first.focus()
    stage.page.keyboard.press("e")
    field = stage.page.get_by_role("textbox", name="Command")
    expect(field).to_be_focused()
    expect(field).to_have_value(COMMAND["command"])
    check_accessible(stage, "#timeline")
    field.fill(" ")
    stage.page.keyboard.press("Control+Enter")
    expect(approval(stage).get_by_role("alert")).to_contain_text("No command")
    stage.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    stage.answer("approval", {}, "POST")
    stage.step(1).locator(".card summary").first.focus()
    stage.page.keyboard.press("d")
    stage.page.get_by_role("textbox", name="Reason").fill("Not the <b>output</b>.")
    stage.page.keyboard.press("Enter")
    stage.run.add(
        CallReviewed(step=1, call_id="call-1-1", decision="denied", reason="Not the <b>output</b>.")
    )
    expect(stage.step(1)).to_contain_text("You denied this call. Not the <b>output</b>.")
    assert [each.json for each in stage.asked("approval", "POST")] == [
        {"call": "call-1-1", "decision": "edit", "arguments": {"command": " "}},
        {"call": "call-1-1", "decision": "deny", "reason": "Not the <b>output</b>."},
    ]


def test_the_rules_are_changed_while_the_run_works(stage: Stage) -> None:
    stage.answer("approval", {}, "PUT")
    stage.run.send_steering(WORKING)
    stage.mount("timeline", "attachments", run=running())
    menu = stage.page.locator(".approval-menu")
    menu.locator("summary").click()
    stage.page.get_by_role("checkbox", name="Deleting files").check()
    stage.wait_until(lambda: bool(stage.asked("approval", "PUT")))
    stage.run.send_steering(replace(WORKING, approval=("delete",), version=2))
    expect(menu.locator("summary")).to_have_text("Approve: delete")
    assert [each.json for each in stage.asked("approval", "PUT")] == [{"rules": ["delete"]}]
    check_accessible(stage, ".approval-menu")
    stage.page.keyboard.press("Escape")
    expect(stage.page.get_by_role("checkbox", name="Deleting files")).to_be_hidden()


EDITED = "42 <b>lakes</b>"


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_owner_edits_what_the_model_sees_of_a_result(stage: Stage, look: Look) -> None:
    stage.expected_errors = ["/observation"]
    stage.run.send_steering(replace(PAUSED, editable=("call-1-1",)))
    events = [started("Count"), *step(1, bash("wc", "41 lakes\n")), Paused(step=1)]
    stage.mount("header", "timeline", "attachments", run=events, look=look)
    expect(stage.state).to_contain_text("paused")
    offer = stage.step(1).get_by_role("button", name="Edit what the model sees…")
    if look.can_edit:
        edit_result(stage, offer)
    stage.run.add(ObservationEdited(step=1, call_id="call-1-1", observation=EDITED))
    who = "You" if look.can_edit else "The owner"
    expect(stage.step(1)).to_contain_text(f"{who} edited this result. What the model sees:")
    expect(stage.step(1).locator(".reviewed")).to_have_text("result edited")
    if not look.can_edit:
        expect(offer).to_have_count(0)
        return
    expect(stage.step(1).get_by_label("Edited result")).to_have_text(EDITED)
    expect(offer).to_be_focused()
    check_accessible(stage, "#timeline")
    stage.step(1).get_by_text("What the tool returned").click()
    expect(stage.step(1).locator(".observation-edit .original")).to_contain_text("41 lakes")
    stage.run.send_steering(replace(WORKING, version=4))  # it was sent to the model
    expect(offer).to_have_count(0)
    expect(stage.step(1)).to_contain_text("You edited this result")


def edit_result(stage: Stage, offer: Locator) -> None:
    """Cancel an edit, let one be refused, save one."""
    stage.fail("observation", 400, "The observation is empty.", "POST")
    offer.focus()
    stage.page.keyboard.press("Enter")
    field = stage.step(1).get_by_role("textbox", name="What the model sees")
    expect(field).to_be_focused()
    assert field.input_value() == "41 lakes\n"
    stage.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(offer).to_be_focused()
    offer.click()
    field.fill(" ")
    stage.step(1).get_by_role("button", name="Save").click()
    expect(stage.step(1).get_by_role("alert")).to_contain_text("is empty")
    stage.answer("observation", {}, "POST")
    field.fill(EDITED)
    check_accessible(stage, "#timeline")
    field.press("Control+Enter")
    sent = [{"call": "call-1-1", "text": text} for text in (" ", EDITED)]
    wait_until(lambda: [each.json for each in stage.asked("observation", "POST")] == sent)
