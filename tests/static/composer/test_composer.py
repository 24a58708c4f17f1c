"""The composer: sending a task, attaching files, and choosing an example."""

import base64
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from agent.examples import examples
from agent.models import demonstration
from tests.support.component.events import bash, ended, step
from tests.support.component.routes import LocalRoutes
from tests.support.component.stage import ALL, Look, Stage, looks
from tests.support.server import serve_studio
from tests.support.tab import open_studio

pytestmark = pytest.mark.component

CONNECTED = {"base_url": "http://models.test/v1", "model": "test-model"}
KEY_HINT = "Ctrl Enter"
CONNECT = {"text": "Connect a model first.", "connect": True}
DROP = """([names, size]) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File(['x'.repeat(size)], name));
  for (const kind of ['dragover', 'drop'])
    document.querySelector('.app-header').dispatchEvent(
      new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
}"""
OFFERED = [each for each in examples() if not each.builtin]
LOOKS = looks(["owner"], themes=["light"])


@pytest.fixture
def uploads(stage: Stage) -> Stage:
    stage.use_routes(LocalRoutes(stage.data))
    stage.mount(*ALL)
    return stage


def chips(stage: Stage) -> Locator:
    return stage.page.get_by_role("group", name="Attached files").locator(".chip")


def hint(stage: Stage) -> Locator:
    return stage.page.locator("#hint")


def task_chips(stage: Stage) -> Locator:
    return stage.timeline.locator(".task .chip")


def dialog(stage: Stage, name: str) -> Locator:
    return stage.page.get_by_role("dialog", name=name)


def file_name_of(route: Route) -> str:
    metadata = route.request.headers["upload-metadata"].split()
    return base64.b64decode(metadata[1]).decode().rpartition("/")[2]


def test_arrow_keys_recall_sent_messages_after_a_reload(stage: Stage) -> None:
    stage.mount(*ALL)
    for text in ("First", "Second", "Second"):
        stage.send(text)
        stage.button("New run").click()
    stage.reload()
    for key, text in (
        ("ArrowUp", "Second"), ("ArrowUp", "First"), ("ArrowUp", "First"),
        ("ArrowDown", "Second"), ("ArrowDown", ""),
    ):  # fmt: skip
        stage.page.keyboard.press(key)
        expect(stage.task).to_have_value(text)
    stage.task.fill("two\nlines")  # being edited
    stage.page.keyboard.press("ArrowUp")
    expect(stage.task).to_have_value("two\nlines")


def test_the_last_fifty_messages_are_kept(stage: Stage) -> None:
    stage.mount(*ALL)
    stage.page.evaluate(
        "localStorage.setItem('studio-sent',"
        " JSON.stringify(Array.from({length: 50}, (_, i) => `message ${i}`)))"
    )
    stage.send("One more")
    kept = stage.page.evaluate("JSON.parse(localStorage.getItem('studio-sent'))")
    assert (len(kept), kept[0], kept[-1]) == (50, "message 1", "One more")


def test_dropped_files_show_upload_progress_and_can_be_removed(uploads: Stage) -> None:
    with uploads.hold("uploads/*", "PATCH"):
        uploads.page.evaluate(DROP, [["a.txt", "b #?.txt", "c.txt", "d.txt", "e.txt"], 3000])
        expect(chips(uploads)).to_have_count(5)
        expect(hint(uploads)).to_have_text("Uploading 5 files")
        expect(chips(uploads).last).to_contain_text("waiting")
        expect(chips(uploads).first).to_contain_text("%")
        uploads.button("Remove e.txt").click()
        expect(hint(uploads)).to_have_text("Uploading 4 files")
    expect(chips(uploads)).to_have_text([re.compile("2.9 KB")] * 4)
    uploads.button("Remove c.txt").click()
    expect(uploads.file("c.txt")).to_be_hidden()
    expect(uploads.file("b #?.txt")).to_be_visible()
    uploads.send("With three files")
    expect(task_chips(uploads)).to_have_text(["a.txt", "b #?.txt", "d.txt"])
    expect(chips(uploads)).to_have_count(0)


def test_run_waits_for_uploads_in_progress(uploads: Stage) -> None:
    with uploads.hold("uploads/*", "PATCH"):
        uploads.page.evaluate(DROP, [["late.txt"], 10])
        uploads.task.fill("Read it")
        uploads.button("Run").click()
        expect(hint(uploads)).to_have_text("Starts after uploading 1 file")
        assert uploads.sent == []
    expect(task_chips(uploads)).to_have_text("late.txt")


def test_a_failed_upload_is_reported_and_the_run_does_not_start(uploads: Stage) -> None:
    uploads.expected_errors = ["/uploads"]
    paused: dict[str, Route] = {}
    uploads.page.route("**/uploads", lambda route: paused.update({file_name_of(route): route}))
    uploads.page.evaluate(DROP, [["bad.txt", "its.txt"], 10])
    uploads.wait_until(lambda: len(paused) == 2)
    uploads.task.fill("Read both")
    uploads.button("Run").click()
    expect(hint(uploads)).to_have_text("Starts after uploading 2 files")
    paused["bad.txt"].fulfill(status=400, json={"error": "There is no room for it."})
    expect(uploads.page.get_by_role("alert")).to_contain_text("There is no room for it.")
    expect(chips(uploads).first).to_contain_text("upload failed")
    paused["its.txt"].continue_()
    expect(hint(uploads)).to_have_text(KEY_HINT)
    assert uploads.sent == []
    expect(uploads.task).to_have_value("Read both")
    uploads.button("Remove bad.txt").click()
    expect(chips(uploads)).to_have_count(1)
    uploads.button("Run").click()
    expect(task_chips(uploads)).to_have_text("its.txt")


def test_the_examples_dialog_works_by_keyboard_and_restores_the_focus(stage: Stage) -> None:
    stage.mount(*ALL)
    stage.button("Examples").focus()
    stage.page.keyboard.press("Enter")
    rows = dialog(stage, "Examples").locator(".example")
    expect(rows).to_have_count(len(OFFERED))
    expect(rows.first).to_be_focused()
    stage.page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    stage.page.keyboard.press("End")
    expect(rows.last).to_be_focused()
    stage.page.keyboard.press("Escape")
    expect(dialog(stage, "Examples")).to_be_hidden()
    expect(stage.button("Examples")).to_be_focused()


def test_without_a_model_demonstrations_play_and_other_examples_require_one(stage: Stage) -> None:
    stage.use_routes(LocalRoutes(stage.data))
    stage.answer("/page_run", [None, CONNECT, "Count them"], "POST")
    stage.mount(*ALL)
    expect(stage.page.locator(".welcome .tile")).to_have_count(6)
    stage.button(f"all {len(OFFERED)} examples").click()
    times = dialog(stage, "Examples").locator("small", has_text="about")
    expect(times).to_have_count(len([each for each in OFFERED if each.seconds]))
    dialog(stage, "Examples").get_by_role("button", name="Count lattice paths").click()
    expect(stage.page.get_by_role("alert")).to_contain_text("Connect a model first")
    expect(dialog(stage, "Settings")).to_be_visible()
    expect(stage.task).to_have_value("Count them")  # what was to be sent
    stage.page.keyboard.press("Escape")
    expect(dialog(stage, "Settings")).to_be_hidden()


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_demonstration_is_played_or_tried_with_the_connected_model(
    stage: Stage, look: Look
) -> None:
    chosen = demonstration.load("survey")
    stage.settings = CONNECTED
    stage.mount(*ALL, look=look)
    stage.task.fill("Not finished yet")
    stage.button("Examples").click()
    stage.button(f"Play demonstration: {chosen.title}").last.click()
    expect(stage.timeline.locator(".task")).to_contain_text(chosen.task[:40])
    expect(stage.button("Examples")).to_be_disabled()
    stage.run.add(ended("stopped"))
    stage.button("New run").click()
    expect(stage.task).to_have_value("Not finished yet")
    stage.button(f"Try with my model: {chosen.title}").first.click()
    expect(stage.timeline.locator(".task")).to_contain_text(chosen.task[:40])
    assert [each["message"] for each in stage.sent] == [
        {"text": chosen.task, "play": play} for play in (True, False)
    ]


@pytest.mark.browser
@pytest.mark.e2e("chooses a demonstration and watches it play with its files")
@pytest.mark.main_path
def test_a_chosen_demonstration_plays_with_its_files(browser: Browser, tmp_path: Path) -> None:
    chosen = demonstration.load("documents")
    with serve_studio(tmp_path, builtin=False) as url, open_studio(browser, url) as studio:
        studio.button("Examples").click()
        studio.page.get_by_role("dialog").get_by_role("button", name=chosen.title).click()
        expect(studio.timeline.locator(".task .chip")).to_have_count(len(chosen.inputs))
        expect(studio.timeline.get_by_text("Demonstration: scripted model")).to_be_visible()
        expect(studio.button("Examples")).to_be_disabled()
        studio.task.press("Escape")  # leaves the message box
        studio.page.keyboard.press("Escape")
        expect(studio.button("Stop")).to_be_disabled()


def test_the_welcome_text_changes_when_an_endpoint_is_entered(stage: Stage) -> None:
    stage.mount(*ALL)
    welcome = stage.page.locator(".welcome")
    expect(welcome).to_contain_text("Demonstrations: scripted model")
    stage.button("connect a model").click()
    dialog(stage, "Settings").get_by_label("Endpoint").fill("http://127.0.0.1:9/v1")
    expect(welcome).to_contain_text("Try an example")
    expect(welcome).to_contain_text("Run an example with your model")


# Unsent text, and messages after the first


def test_a_draft_message_survives_a_reload_until_it_is_sent(stage: Stage) -> None:
    stage.mount(*ALL)
    stage.task.fill("A long thought")
    stage.reload()
    expect(stage.task).to_have_value("A long thought")
    stage.task.press("Control+Enter")
    expect(stage.timeline.locator(".task")).to_contain_text("A long thought")
    expect(stage.task).to_have_value("")
    stage.task.fill("A second thought")
    stage.reload()
    expect(stage.task).to_have_value("A second thought")
    stage.button("New run").click()
    expect(stage.task).to_have_value("")


def test_text_entered_during_a_run_is_queued_and_escape_stops_the_run(stage: Stage) -> None:
    stage.answer("messages", {}, "POST")
    stage.mount(*ALL)
    stage.send("Wait")
    expect(hint(stage)).to_contain_text("with its next result")
    stage.task.fill("And then?")
    stage.task.press("Control+Enter")
    expect(stage.task).to_have_value("")
    assert [each.json["text"] for each in stage.asked("messages", "POST")] == ["And then?"]
    assert len(stage.sent) == 1
    stage.task.press("Escape")  # leaves the message box
    stage.page.keyboard.press("Escape")
    stage.wait_until(lambda: len(stage.asked("/page_stop", "POST")) == 1)
    stage.run.add(ended("stopped"))
    expect(stage.button("Stop")).to_be_disabled()


def test_a_failed_run_offers_retry_and_settings(stage: Stage) -> None:
    refused = ended("failed", reason="No such key.")
    stage.mount(*ALL)
    stage.send("Count the boats")
    stage.run.add(refused)
    failed = stage.timeline.get_by_role("region", name="Failed")
    failed.get_by_role("button", name="Open settings").click()
    expect(dialog(stage, "Settings")).to_be_visible()
    stage.page.keyboard.press("Escape")
    stage.task.fill("Typed meanwhile")
    failed.get_by_role("button", name="Retry").click()
    messages = stage.timeline.locator(".task > p")
    expect(messages).to_have_text(["Count the boats"] * 2)
    expect(stage.task).to_have_value("Typed meanwhile")
    stage.run.add(*step(1, bash("echo here")), refused)
    expect(failed).to_have_count(2)
    stage.button("Retry").click()
    expect(messages.last).to_have_text("Continue.")
    stage.run.add(ended())
    expect(stage.button("Retry")).to_have_count(0)
