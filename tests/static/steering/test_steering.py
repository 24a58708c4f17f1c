"""Steering a run on the page: pause, messages while it works, approval of calls."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, expect

from agent.settings import Settings
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.page_states import (
    SCHEMES,
    SUBMIT,
    ScriptedStudio,
    StagedProvider,
    bash,
    open_scripted,
    serve_scripted,
    set_appearance,
)
from tests.support.server import create_app, run_server, wait_until
from tests.support.tab import StudioTab

pytestmark = pytest.mark.browser
PASSWORD = "correct horse"
EDIT_RESULT = "Edit what the model sees…"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedStudio]:
    with serve_scripted(tmp_path_factory.mktemp("data")) as stage:
        yield stage


@pytest.fixture
def studio(browser: Browser, stage: ScriptedStudio) -> Iterator[StudioTab]:
    with open_scripted(browser, stage) as studio:
        yield studio
    assert studio.errors == []


def shoot(studio: StudioTab, name: str) -> None:
    """Take pictures of the page for a person to look at, if SHOTS names a folder."""
    folder = os.environ.get("SHOTS")
    if not folder:
        return
    for width, height in ((1280, 860), (390, 844), (2560, 1300)):
        for scheme in SCHEMES:
            set_appearance(studio, (width, height), scheme)
            studio.page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png")
    set_appearance(studio, (1280, 860), "light")


def check_accessible(studio: StudioTab) -> None:
    for size in ((1280, 860), (390, 844)):
        for scheme in SCHEMES:
            set_appearance(studio, size, scheme)
            found = Axe().run(studio.page).response["violations"]
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            texts = [node["html"][:120] for each in serious for node in each["nodes"]]
            assert texts == [], (size, scheme, [each["id"] for each in serious])
            width = studio.page.evaluate("document.documentElement.scrollWidth")
            assert width <= size[0]
    set_appearance(studio, (1280, 860), "light")


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


def test_a_run_is_paused_takes_a_step_and_goes_on(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    stage.set_turns(gated(gate), bash("echo second"), bash("echo third"), SUBMIT)
    studio.send("Count")
    expect(studio.state).to_contain_text("running a command")
    studio.button("Pause").click()
    expect(studio.button("Resume")).to_be_focused()
    expect(studio.button("Step")).to_be_disabled()
    gate.touch()
    expect(studio.state).to_contain_text("paused")
    assert studio.page.title().startswith("⏸ ")
    studio.page.reload()
    expect(studio.state).to_contain_text("paused")
    check_accessible(studio)
    shoot(studio, "paused")
    studio.button("Step").click()
    expect(studio.timeline.locator("#step-2")).to_contain_text("second")
    expect(studio.state).to_contain_text("paused")
    expect(studio.timeline.locator("#step-1")).to_contain_text("Paused for")
    studio.button("Resume").click()
    expect(studio.state).to_have_text("submitted")
    expect(studio.button("Pause")).to_be_hidden()
    expect(studio.button("Resume")).to_be_hidden()


def test_stop_ends_a_paused_run(studio: StudioTab, stage: ScriptedStudio, tmp_path: Path) -> None:
    stage.set_turns(gated(tmp_path / "gate"), SUBMIT)
    studio.send("Count")
    expect(studio.state).to_contain_text("running a command")
    studio.button("Pause").click()
    (tmp_path / "gate").touch()
    expect(studio.state).to_contain_text("paused")
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")


def test_a_message_waits_until_the_next_result_and_may_be_taken_back(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    stage.set_turns(gated(gate), bash("echo second"), SUBMIT)
    studio.send("Count")
    expect(studio.state).to_contain_text("running a command")
    for text in ("In French, please.", "Forget it."):
        studio.task.fill(text)
        studio.task.press("Control+Enter")
        expect(queue(studio)).to_contain_text(text)
        expect(studio.task).to_have_value("")
    queue(studio).get_by_role("button", name="Take back").last.click()
    expect(queue(studio)).not_to_contain_text("Forget it.")
    studio.page.reload()
    expect(queue(studio)).to_contain_text("In French, please.")
    expect(queue(studio)).to_contain_text("Waits to be delivered")
    check_accessible(studio)
    shoot(studio, "message-waits")
    gate.touch()
    expect(studio.state).to_have_text("submitted")
    expect(queue(studio)).to_be_hidden()
    delivered = studio.timeline.locator("#step-2 .task.delivered")
    expect(delivered).to_contain_text("In French, please.")
    expect(delivered).to_contain_text("Sent while the model worked")
    shoot(studio, "message-delivered")


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
    shoot(studio, "message-left")
    queue(studio).get_by_role("button", name="Send now").click()
    expect(studio.timeline.locator(".task").last).to_contain_text("And then?")
    expect(queue(studio)).to_be_hidden()
    expect(studio.state).to_have_text("submitted")


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
    check_accessible(studio)
    shoot(studio, "approval")
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
    check_accessible(studio)
    shoot(studio, "edit")
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
    shoot(studio, "deny")
    studio.page.keyboard.press("Enter")
    expect(studio.state).to_have_text("submitted")
    expect(fourth.locator(".card > summary")).to_contain_text("denied")
    expect(fourth).to_contain_text("Not from the <b>network</b>.")
    studio.page.reload()
    expect(studio.timeline.locator("#step-2 .reviewed")).to_have_text("edited")
    shoot(studio, "reviewed")
    assert (tmp_path / "b.txt").read_text() == "new\n"
    third = studio.timeline.locator("#step-3 .card").first
    third.locator("summary").first.click()
    expect(third.get_by_label("Command", exact=True)).to_contain_text("new")
    studio.errors = [each for each in studio.errors if "400" not in each]  # the invalid edits


def test_what_the_model_sees_of_a_result_is_edited_while_the_run_is_paused(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    stage.set_turns(gated(gate, "echo 41 lakes"), bash("echo second"), SUBMIT)
    studio.send("Count")
    expect(studio.state).to_contain_text("running a command")
    studio.button("Pause").click()
    gate.touch()
    expect(studio.state).to_contain_text("paused")
    step = studio.timeline.locator("#step-1")
    offer = step.get_by_role("button", name=EDIT_RESULT)
    offer.focus()
    studio.page.keyboard.press("Enter")
    field = step.get_by_role("textbox", name="What the model sees")
    expect(field).to_be_focused()
    assert "41 lakes" in field.input_value()
    studio.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(offer).to_be_focused()
    expect(studio.state).to_contain_text("paused")  # Escape did not stop the run
    offer.click()
    field.fill(" ")
    step.get_by_role("button", name="Save").click()
    expect(step.get_by_role("alert")).to_contain_text("is empty")
    field.fill("42 <b>lakes</b>\n")
    check_accessible(studio)
    shoot(studio, "edit-observation")
    field.focus()
    studio.page.keyboard.press("Control+Enter")
    expect(step).to_contain_text("You edited this result. What the model sees:")
    expect(step.get_by_label("Edited result")).to_have_text("42 <b>lakes</b>")
    expect(offer).to_be_focused()
    expect(step.locator(".reviewed")).to_have_text("result edited")
    check_accessible(studio)
    shoot(studio, "edited-observation")

    studio.page.reload()
    expect(step.locator(".reviewed")).to_have_text("result edited")
    step.get_by_text("What the tool returned").click()
    expect(step.locator(".observation-edit .original")).to_contain_text("41 lakes")
    studio.button("Step").click()
    expect(studio.timeline.locator("#step-2")).to_contain_text("second")
    expect(
        studio.timeline.locator("#step-2").get_by_role("button", name=EDIT_RESULT)
    ).to_be_visible()
    expect(step).to_contain_text("You edited this result")
    expect(offer).to_have_count(0)
    studio.button("Resume").click()
    expect(studio.state).to_have_text("submitted")
    expect(studio.page.get_by_role("button", name=EDIT_RESULT)).to_have_count(0)
    studio.errors = [each for each in studio.errors if "400" not in each]  # the empty edit


def test_the_rules_are_changed_while_the_run_works(
    studio: StudioTab, stage: ScriptedStudio, tmp_path: Path
) -> None:
    stage.set_turns(gated(tmp_path / "gate"), bash("rm -f a"), bash("echo b"), SUBMIT)
    studio.send("Tidy up")
    expect(studio.state).to_contain_text("running a command")
    menu = studio.page.locator(".approval-menu")
    menu.locator("summary").click()
    studio.page.get_by_role("checkbox", name="Deleting files").check()
    expect(menu.locator("summary")).to_have_text("Approve: delete")
    check_accessible(studio)
    shoot(studio, "rules")
    studio.page.keyboard.press("Escape")
    expect(studio.page.get_by_role("checkbox", name="Deleting files")).to_be_hidden()
    (tmp_path / "gate").touch()
    expect(approval(studio)).to_contain_text("it deletes files")
    studio.file("input").focus()
    studio.page.keyboard.press("a")  # searches in the file tree
    expect(approval(studio).get_by_role("button", name="Allow")).to_be_enabled()
    studio.timeline.locator("#step-2 .card summary").first.focus()
    studio.page.keyboard.press("a")
    expect(studio.state).to_have_text("submitted")


def test_a_viewer_of_a_shared_link_sees_what_waits_and_cannot_decide(
    browser: Browser, tmp_path: Path
) -> None:
    stage = ScriptedStudio("", StagedProvider(tmp_path))
    stage.set_turns(bash("echo a"), SUBMIT)
    users = (("ann", hash_password(PASSWORD, log_n=10)),)
    with Endpoint(stage) as endpoint:
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="m", users=users)
        with run_server(create_app(settings, stage.provider)) as url, httpx.Client() as ann:
            ann.base_url = url
            ann.post("/login", data={"name": "ann", "password": PASSWORD})
            data = ["Look.", "", "general", "sandbox", "open", "every"]
            run = ann.post("/gradio_api/run/start", json={"data": data}).json()["data"][0]
            wait_until(lambda: ann.get(f"/api/runs/{run}/steering").json()["waiting"] is not None)
            waiting = ann.get(f"/api/runs/{run}/steering").json()["waiting"]
            ann.post(f"/api/runs/{run}/messages", json={"text": "Hm?"}).raise_for_status()
            link = ann.post(f"/api/runs/{run}/links").json()["path"]
            with open_page(browser, f"{url}/{link}") as guest:
                expect(approval(guest)).to_contain_text("Waits for the owner’s approval")
                expect(approval(guest).get_by_role("button")).to_have_count(0)
                expect(queue(guest)).to_contain_text("Hm?")
                expect(queue(guest).get_by_role("button")).to_have_count(0)
                for name in ("Pause", "Send", "Stop"):
                    expect(guest.button(name)).to_be_hidden()
                check_accessible(guest)
                shoot(guest, "guest")
                guest.page.keyboard.press("a")
                at = f"/api/runs/{run}/approval"
                body = {"call": waiting["call_id"], "decision": "allow"}
                script = f"""fetch('{at}', {{method: 'POST', body: '{json.dumps(body)}'}})
                    .then(answer => answer.status)"""
                assert guest.page.evaluate(script) == 403
                assert guest.page.evaluate(script.replace("approval", "observation")) == 403
                ann.post(at, json=body).raise_for_status()
                expect(guest.state).to_have_text("submitted")
                expect(guest.timeline).to_contain_text("The owner allowed this call")


@contextmanager
def open_page(browser: Browser, url: str) -> Iterator[StudioTab]:
    page = browser.new_page(reduced_motion="reduce")
    page.goto(url)
    yield StudioTab(page)
    page.close()
