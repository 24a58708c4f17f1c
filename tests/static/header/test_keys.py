"""The page by keyboard: all keys, from step to step, to the message box, past the header."""

import pytest
from playwright.sync_api import expect

from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Stage, looks

pytestmark = pytest.mark.component

FORK = {
    "first_step": 1, "message": "Do it.", "needs_message": False, "missing": [],
    "missing_total": 0, "packages": [], "setup": [], "versions": True,
    "mode": "sandbox", "network": "open", "spec": {},
}  # fmt: skip


def show_run(stage: Stage, *, has_ended: bool = True) -> None:
    steps = [*step(1, bash("ls")), *step(2, bash("no", exit_code=1)), *step(3, bash("ls"))]
    stage.mount(*ALL, run=[started(), *steps, *([ended(answer="Done.")] if has_ended else [])])
    expect(stage.step(3)).to_contain_text("ls")


def test_all_keys_are_listed(stage: Stage) -> None:
    show_run(stage)
    stage.step(2).focus()
    stage.page.keyboard.press("?")
    dialog = stage.page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("next and previous step")
    check_accessible(stage, "dialog.keys", looks(["owner"]))
    stage.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(stage.step(2)).to_be_focused()
    stage.task.press("?")
    expect(dialog).to_have_count(0)
    expect(stage.task).to_have_value("?")


def test_j_and_k_move_from_step_to_step_which_say_their_outcome(stage: Stage) -> None:
    show_run(stage)
    keys = stage.page.keyboard
    stage.thread.focus()
    for number in (1, 2, 3):
        keys.press("j")
        expect(stage.step(number)).to_be_focused()
        expect(stage.step(number)).to_be_in_viewport()
    keys.press("j")
    expect(stage.timeline.get_by_role("region", name="Answer")).to_be_focused()
    keys.press("k")
    expect(stage.step(3)).to_be_focused()
    for number, outcome in ((1, "done"), (2, "1 failed call"), (3, "done")):
        name = f"Step {number}: {outcome}"
        expect(stage.timeline.get_by_role("region", name=name, exact=True)).to_be_visible()


def test_escape_leaves_the_message_box_before_it_stops_the_run(stage: Stage) -> None:
    stage.answer("/page_stop", None, "POST")
    show_run(stage, has_ended=False)
    keys = stage.page.keyboard
    stage.thread.focus()
    keys.press("c")
    expect(stage.task).to_be_focused()
    keys.press("Escape")
    expect(stage.thread).to_be_focused()
    assert not stage.asked("/page_stop", "POST")
    keys.press("Escape")
    stage.wait_until(lambda: bool(stage.asked("/page_stop", "POST")))


def test_the_first_tab_stop_leads_past_the_header(stage: Stage) -> None:
    show_run(stage)
    stage.page.evaluate(
        "document.activeElement.blur(); document.body.tabIndex = -1; document.body.focus()"
    )
    stage.page.keyboard.press("Tab")
    link = stage.page.get_by_role("link", name="Skip to the conversation")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    link.press("Enter")
    expect(stage.thread).to_be_focused()


def test_dialogs_give_the_focus_back_to_their_buttons(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL)
    stage.page.locator(".recorded").get_by_role("button", name="Map a journey").click()
    stage.button("Pause").click()
    stage.button("Live").click()
    dialog = stage.page.locator("dialog[open]")
    for name in (
        "History", "Examples", "Where the tokens go", "Requests and settings", "Request of step 6",
        "Fork from here, step 6", "Continue with another model, step 6",
    ):  # fmt: skip
        button = stage.button(name)
        button.focus()
        button.press("Enter")
        expect(dialog).to_be_visible()
        stage.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(button).to_be_focused()
    settings = stage.button("Settings")
    for name in ("Storage and limits", "Keys (?)"):
        settings.click()
        stage.button(name).press("Enter")
        expect(dialog).to_be_visible()
        stage.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(settings).to_be_focused()


def test_a_dialog_gives_the_focus_back_although_its_button_was_drawn_again(stage: Stage) -> None:
    stage.answer("fork", FORK)
    show_run(stage)
    button = stage.button("Fork from here, step 3")
    button.focus()
    button.press("Enter")
    dialog = stage.page.get_by_role("dialog", name="Fork from step 3")
    expect(dialog).to_be_visible()
    stage.step(3).locator(".step-actions").evaluate("it => it.replaceWith(it.cloneNode(true))")
    stage.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
