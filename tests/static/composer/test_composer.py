"""The composer: sending a task, attaching files, and choosing an example."""

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from agent.examples import examples
from agent.models import demonstration
from agent.settings import Settings
from tests.support.browser.page_pool import release_page, take_page
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = pytest.mark.browser

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
WAITING = Turn(calls=[Call("execute_bash", {"command": "echo up; sleep 600"})])
DROP = """([names, size]) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File(['x'.repeat(size)], name));
  for (const kind of ['dragover', 'drop'])
    document.querySelector('.app-header').dispatchEvent(
      new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


def bash(command: str) -> Turn:
    return Turn(text="I work.", calls=[Call("execute_bash", {"command": command})])


class ScriptedTurns:
    """The turns that an endpoint answers with; after the last one it always submits."""

    def __init__(self) -> None:
        self.turns: Sequence[Turn] = ()
        self.requests: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.requests.append(body)
        turn, *self.turns = (*self.turns, SUBMIT) if not self.turns else self.turns
        return turn


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def studio_urls(
    script: ScriptedTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """URLs of a Studio with a model and of one without."""
    with Endpoint(script) as endpoint:
        data, bare = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("bare")
        connected = Settings(data=data, base_url=endpoint.url, model="test-model")
        with (
            run_server(create_app(connected, LocalSandboxProvider(data))) as first,
            run_server(
                create_app(Settings(data=bare, builtin=False), LocalSandboxProvider(bare))
            ) as second,
        ):
            yield {"connected": first, "bare": second}


@pytest.fixture
def open_tab(
    browser: Browser, studio_urls: dict[str, str], script: ScriptedTurns
) -> Iterator[Callable[..., StudioTab]]:
    """Open a tab; the test fails if the console of any tab shows an error."""
    opened: list[StudioTab] = []
    script.turns, script.requests = (), []

    def open_tab(which: str = "connected", size: tuple[int, int] = WIDE) -> StudioTab:
        studio = StudioTab(take_page(browser, viewport={"width": size[0], "height": size[1]}))
        opened.append(studio)
        studio.open(studio_urls[which])
        return studio

    yield open_tab
    for studio in opened:
        studio.task.press("Escape")
        expect(studio.button("Stop")).to_be_disabled()
        release_page(studio.page)
    assert [error for studio in opened for error in studio.errors] == []


def chips(studio: StudioTab) -> Locator:
    return studio.page.get_by_role("group", name="Attached files").locator(".chip")


def hint(studio: StudioTab) -> Locator:
    return studio.page.locator("#hint")


def pause_uploads(studio: StudioTab) -> Callable[[], None]:
    """Pause uploads; returns a function that resumes them."""
    paused: list[Route] = []
    resumed = False

    def hold(route: Route) -> None:
        if route.request.method == "PATCH" and not resumed:
            paused.append(route)
        else:
            route.continue_()

    studio.page.route("**/uploads/**", hold)

    def resume_uploads() -> None:
        nonlocal resumed
        resumed = True
        for route in paused:
            route.continue_()

    return resume_uploads


def file_name_of(route: Route) -> str:
    """The name of the file that an upload request is for."""
    metadata = route.request.headers["upload-metadata"].split()
    return base64.b64decode(metadata[1]).decode().rpartition("/")[2]


def test_arrow_keys_recall_sent_messages_after_a_reload(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab()
    for text in ("First", "Second", "Second"):
        studio.send(text)
        expect(studio.state).to_have_text("submitted")
        studio.button("New run").click()
    studio.page.reload()
    studio.task.wait_for()
    studio.task.focus()
    for key, text in (
        ("ArrowUp", "Second"), ("ArrowUp", "First"), ("ArrowUp", "First"),
        ("ArrowDown", "Second"), ("ArrowDown", ""),
    ):  # fmt: skip
        studio.page.keyboard.press(key)
        expect(studio.task).to_have_value(text)


def test_arrow_keys_do_not_replace_text_being_edited(open_tab: Callable[..., StudioTab]) -> None:
    studio = open_tab()
    studio.send("Before")
    expect(studio.state).to_have_text("submitted")
    studio.task.fill("two\nlines")
    studio.page.keyboard.press("ArrowUp")
    expect(studio.task).to_have_value("two\nlines")


def test_the_last_fifty_messages_are_kept(open_tab: Callable[..., StudioTab]) -> None:
    studio = open_tab()
    studio.page.evaluate(
        "localStorage.setItem('studio-sent',"
        " JSON.stringify(Array.from({length: 50}, (_, i) => `message ${i}`)))"
    )
    studio.send("One more")
    kept = studio.page.evaluate("JSON.parse(localStorage.getItem('studio-sent'))")
    assert (len(kept), kept[0], kept[-1]) == (50, "message 1", "One more")


def test_dropped_files_show_upload_progress_and_can_be_removed(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab()
    resume_uploads = pause_uploads(studio)
    studio.page.evaluate(DROP, [["a.txt", "b #?.txt", "c.txt", "d.txt", "e.txt"], 3000])
    expect(chips(studio)).to_have_count(5)
    expect(hint(studio)).to_have_text("Uploading 5 files")
    expect(chips(studio).last).to_contain_text("waiting")
    expect(chips(studio).first).to_contain_text("%")
    studio.button("Remove e.txt").click()
    expect(hint(studio)).to_have_text("Uploading 4 files")
    resume_uploads()
    expect(chips(studio)).to_have_text([re.compile("2.9 KB")] * 4)
    studio.button("Remove c.txt").click()
    expect(studio.file("c.txt")).to_be_hidden()
    expect(studio.file("b #?.txt")).to_be_visible()
    studio.send("With three files")
    expect(studio.timeline.locator(".task .chip")).to_have_text(["a.txt", "b #?.txt", "d.txt"])
    expect(chips(studio)).to_have_count(0)


def test_run_waits_for_uploads_in_progress(open_tab: Callable[..., StudioTab]) -> None:
    studio = open_tab()
    resume_uploads = pause_uploads(studio)
    studio.page.evaluate(DROP, [["late.txt"], 10])
    studio.task.fill("Read it")
    studio.button("Run").click()
    expect(hint(studio)).to_have_text("Starts after uploading 1 file")
    assert studio.timeline.locator(".task").count() == 0
    resume_uploads()
    expect(studio.timeline.locator(".task")).to_contain_text("late.txt")
    expect(studio.state).to_have_text("submitted")


def test_a_failed_upload_is_reported_and_the_run_does_not_start(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab()
    paused: dict[str, Route] = {}
    studio.page.route("**/uploads", lambda route: paused.update({file_name_of(route): route}))
    studio.page.evaluate(DROP, [["bad.txt", "its.txt"], 10])
    while len(paused) < 2:
        studio.page.wait_for_timeout(20)  # lets Playwright call the handler
    studio.task.fill("Read both")
    studio.button("Run").click()
    expect(hint(studio)).to_have_text("Starts after uploading 2 files")
    paused["bad.txt"].fulfill(status=400, json={"error": "There is no room for it."})
    expect(studio.page.get_by_role("alert")).to_contain_text("There is no room for it.")
    expect(chips(studio).first).to_contain_text("upload failed")
    paused["its.txt"].continue_()
    expect(hint(studio)).to_have_text("Ctrl Enter")
    assert studio.timeline.locator(".task").count() == 0
    expect(studio.task).to_have_value("Read both")

    studio.button("Remove bad.txt").click()
    expect(chips(studio)).to_have_count(1)
    studio.button("Run").click()
    expect(studio.timeline.locator(".task .chip")).to_have_text("its.txt")
    studio.errors = [each for each in studio.errors if "400" not in each]


def test_text_entered_during_a_run_waits_and_is_sent_with_the_next_message(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [WAITING]
    studio = open_tab()
    studio.send("Wait")
    expect(studio.state).to_contain_text("running a command")
    expect(hint(studio)).to_contain_text("with its next result")
    studio.task.fill("And then?")
    studio.task.press("Control+Enter")
    expect(studio.task).to_have_value("")
    expect(studio.timeline.locator(".task.waiting")).to_contain_text("And then?")
    studio.task.press("Escape")
    expect(studio.state).to_have_text("stopped")
    expect(studio.timeline.locator(".task.waiting")).to_contain_text("Not delivered")
    studio.task.fill("Go on.")
    studio.task.press("Control+Enter")
    expect(studio.timeline.locator(".task.delivered")).to_contain_text("And then?")
    expect(studio.timeline.locator(".task.waiting")).to_have_count(0)


def test_the_examples_dialog_works_by_keyboard_and_restores_the_focus(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab("bare")
    studio.button("Examples").focus()
    studio.page.keyboard.press("Enter")
    dialog = studio.page.get_by_role("dialog", name="Examples")
    rows = dialog.locator(".example")
    expect(rows).to_have_count(len([each for each in examples() if not each.builtin]))
    expect(rows.first).to_be_focused()
    studio.page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    studio.page.keyboard.press("End")
    expect(rows.last).to_be_focused()
    studio.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(studio.button("Examples")).to_be_focused()


def test_without_a_model_demonstrations_play_and_other_examples_require_one(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab("bare")
    expect(studio.page.locator(".welcome .tile")).to_have_count(6)
    shown = [each for each in examples() if not each.builtin]
    studio.button(f"all {len(shown)} examples").click()
    dialog = studio.page.get_by_role("dialog", name="Examples")
    playing = [each for each in examples() if each.seconds]
    assert len(playing) >= 10
    expect(dialog.get_by_text("about", exact=False).and_(dialog.locator("small"))).to_have_count(
        len(playing)
    )
    dialog.get_by_role("button", name="Count lattice paths").click()
    expect(studio.page.get_by_role("alert")).to_contain_text("Connect a model first")
    expect(studio.page.get_by_role("dialog", name="Settings")).to_be_visible()


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(
            WIDE,
            marks=[
                pytest.mark.e2e("chooses a demonstration and watches it play with its files"),
                pytest.mark.main_path,
            ],
        ),
        NARROW,
    ],
)
def test_a_chosen_demonstration_plays_with_its_files(
    open_tab: Callable[..., StudioTab], size: tuple[int, int]
) -> None:
    chosen = demonstration.load("documents")
    studio = open_tab("bare", size)
    studio.button("Examples").click()
    studio.page.get_by_role("dialog").get_by_role("button", name=chosen.title).click()
    expect(studio.timeline.locator(".task .chip")).to_have_count(len(chosen.inputs))
    expect(studio.timeline.get_by_text("Demonstration: scripted model")).to_be_visible()
    expect(studio.button("Examples")).to_be_disabled()


def test_an_example_is_sent_to_the_model_with_its_files_and_prompt(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    chosen = demonstration.load("survey")
    studio = open_tab()
    studio.button(f"Try with my model: {chosen.title}").click()
    expect(studio.timeline.locator(".task .chip")).to_have_text("lake-survey.csv")
    expect(studio.state).to_have_text("submitted")
    general = script.requests[0]["messages"][0]["content"]

    studio.button("Examples").click()
    studio.page.get_by_role("dialog").get_by_role("button", name="Count lattice paths").click()
    expect(studio.timeline.locator(".task")).to_contain_text("turns exactly")
    expect(studio.state).to_have_text("submitted")
    assert chosen.task in str(script.requests[0]["messages"])
    assert script.requests[-1]["messages"][0]["content"] != general


def test_the_welcome_text_changes_when_an_endpoint_is_entered(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab("bare")
    welcome = studio.page.locator(".welcome")
    expect(welcome).to_contain_text("Demonstrations: scripted model")
    studio.button("connect a model").click()
    drawer = studio.page.get_by_role("dialog", name="Settings")
    drawer.get_by_label("Endpoint").first.fill("http://127.0.0.1:9/v1")
    expect(welcome).to_contain_text("Try an example")
    expect(welcome).to_contain_text("Run an example with your model")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_demonstration_plays_although_a_model_is_connected(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns, size: tuple[int, int]
) -> None:
    chosen = demonstration.load("survey")
    studio = open_tab("connected", size)
    studio.task.fill("Not finished yet")
    studio.button("Examples").click()
    studio.button(f"Play demonstration: {chosen.title}").last.click()
    expect(studio.timeline.get_by_text("Demonstration: scripted model")).to_be_visible()
    expect(studio.timeline.locator(".task .chip")).to_have_text("lake-survey.csv")
    expect(studio.timeline.locator(".card").first).to_be_visible()
    assert script.requests == []
    studio.page.evaluate("document.querySelector('#stop').click()")
    expect(studio.state).to_have_text("stopped")

    studio.button("New run").click()
    expect(studio.task).to_have_value("Not finished yet")
    studio.button("Run").click()
    expect(studio.state).to_have_text("submitted")
    assert len(script.requests) == 1


# Draft messages


def test_a_draft_message_survives_a_reload_until_it_is_sent(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab()
    studio.task.fill("A long thought")
    studio.page.reload()
    expect(studio.task).to_have_value("A long thought")
    studio.task.press("Control+Enter")
    expect(studio.state).to_have_text("submitted")
    expect(studio.task).to_have_value("")
    studio.task.fill("A second thought")
    studio.page.reload()
    expect(studio.state).to_have_text("submitted")
    expect(studio.task).to_have_value("A second thought")
    studio.button("New run").click()
    expect(studio.task).to_have_value("")


# Failed runs


def test_a_failed_run_offers_retry_and_settings(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    refused = Turn(fault="401", message="No such key")
    script.turns = [refused, bash("echo here"), refused, SUBMIT]
    studio = open_tab()
    studio.send("Count the boats")
    failed = studio.timeline.get_by_role("region", name="Failed")
    failed.get_by_role("button", name="Open settings").click()
    expect(studio.page.get_by_role("dialog", name="Settings")).to_be_visible()
    studio.page.keyboard.press("Escape")

    studio.task.fill("Typed meanwhile")
    failed.get_by_role("button", name="Retry").click()
    expect(studio.timeline.locator(".task > p")).to_have_text(["Count the boats"] * 2)
    expect(failed).to_have_count(2)
    expect(studio.task).to_have_value("Typed meanwhile")
    studio.button("Retry").click()
    expect(studio.timeline.locator(".task > p").last).to_have_text("Continue.")
    expect(studio.state).to_have_text("submitted")
    expect(studio.button("Retry")).to_have_count(0)
