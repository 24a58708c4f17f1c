"""Whole runs on the page, in a browser and on the container engine."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import docker
import pytest
from playwright.sync_api import Browser, expect

from agent.data_folder import DataFolder
from agent.models import demonstration
from agent.provisioning.provider import DockerSandboxProvider
from agent.settings import Settings
from tests.support.browser.page_pool import release_page, take_page
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, StudioTab

pytestmark = [pytest.mark.engine, pytest.mark.browser]

HOSTILE = "${alert(1)} {{value}} <img src=x onerror=alert(1)> `</script><script>alert(1)</script>"
SUBMIT = Turn(text="Done.", calls=[Call("submit")])


def bash(command: str, **more: Any) -> Turn:
    return Turn(calls=[Call("execute_bash", {"command": command})], **more)


class ScriptedTurns:
    """The turns that an endpoint answers with, in order."""

    def __init__(self) -> None:
        self.turns: Sequence[Turn] = ()

    def __call__(self, body: dict[str, Any]) -> Turn:
        turn, *self.turns = self.turns
        return turn


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def studio_urls(
    engine: docker.DockerClient,
    image: str,
    script: ScriptedTurns,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, str]]:
    """URLs of a Studio with a model and of one without."""
    with Endpoint(script) as endpoint:
        connected = Settings(
            data=tmp_path_factory.mktemp("data"), image=image, base_url=endpoint.url,
            model="test-model",
        )  # fmt: skip
        bare = Settings(data=tmp_path_factory.mktemp("bare"), image=image, builtin=False)
        with _run_studio(connected) as first, _run_studio(bare) as second:
            yield {"connected": first, "bare": second}


def _run_studio(settings: Settings) -> Any:
    data = DataFolder(settings.data)
    return run_server(create_app(settings, DockerSandboxProvider(settings, data)))


@pytest.fixture
def open_tab(browser: Browser, studio_urls: dict[str, str]) -> Iterator[Callable[..., StudioTab]]:
    """Open a tab; the test fails if the console of any tab shows an error."""
    opened: list[StudioTab] = []

    def open_tab(
        which: str = "connected", size: tuple[int, int] = WIDE, scheme: Any = "light"
    ) -> StudioTab:
        viewport: Any = {"width": size[0], "height": size[1]}
        studio = StudioTab(take_page(browser, viewport=viewport, color_scheme=scheme))
        opened.append(studio)
        studio.open(studio_urls[which])
        return studio

    yield open_tab
    for studio in opened:
        release_page(studio.page)
    assert [error for studio in opened for error in studio.errors] == []


@pytest.mark.e2e("uploads a document, runs a task and watches it live up to the answer")
@pytest.mark.main_path
def test_a_run_is_shown_live_from_upload_to_answer(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns, tmp_path: Path
) -> None:
    document = tmp_path / "résumé.txt"
    document.write_text("three\nlines\nhere\n")
    wait = "while [ ! -e input/go.txt ]; do sleep 0.05; done"
    script.turns = [
        bash(
            f"wc -l input/r*; echo early > output/early.txt; {wait}; echo late >&2; exit 3",
            reasoning="First I count the lines.",
            text="I **count** them.",
        ),
        bash("echo 3 > output/answer.txt"),
        Turn(text="Three lines.", calls=[Call("submit")]),
    ]
    studio = open_tab()
    studio.page.get_by_label("Files to attach").set_input_files(document)
    expect(studio.page.locator("#composer .chip")).to_contain_text("17 B")
    studio.send("How many lines?")

    expect(studio.state).to_contain_text("running a command")
    expect(studio.timeline).to_contain_text("Thought")
    expect(studio.timeline.locator("strong")).to_have_text("count")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text("3 input/résumé.txt")
    expect(studio.file("early.txt")).to_be_visible()
    expect(studio.button("Send")).to_be_enabled()

    go = tmp_path / "go.txt"
    go.write_text("")
    studio.page.get_by_label("Files to attach").set_input_files(go)
    expect(studio.timeline.locator(".card").first).to_contain_text("exit 3")
    output = studio.timeline.get_by_label("Output", exact=True).first
    expect(output.locator(".error")).to_have_text("late\n")
    expect(studio.state).to_have_text("submitted")
    ending = studio.timeline.get_by_role("region", name="Answer")
    expect(ending.locator(".answer")).to_have_text("3")
    expect(ending.get_by_role("link", name="Download early.txt")).to_be_visible()
    expect(studio.timeline.get_by_role("group", name="Totals")).to_contain_text("3 steps")


def test_the_observation_of_the_model_is_shown_beside_the_output(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [bash("seq 1000; exit 1"), SUBMIT]
    studio = open_tab()
    studio.send("Count")
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text("500")
    studio.button("What the model saw").click()
    saw = studio.timeline.locator(".observation")
    expect(saw).to_contain_text("left out")
    expect(saw).not_to_contain_text("\n500\n")


@pytest.mark.e2e("stops a run and continues it with a message, in the same sandbox")
@pytest.mark.main_path
def test_stop_ends_the_command_and_a_message_continues_in_the_same_sandbox(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [bash("cd /tmp; kept=41; echo up; sleep 600")]
    studio = open_tab()
    studio.send("Wait")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text("up")
    studio.button("Stop").click()
    expect(studio.state).to_have_text("stopped")
    expect(studio.timeline.get_by_role("region", name="Stopped")).to_be_visible()
    expect(studio.button("Stop")).to_be_disabled()

    script.turns = [bash("echo $((kept + 1)) in $PWD; exit 1"), SUBMIT]
    studio.send("Go on")
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.get_by_label("Output", exact=True).last).to_contain_text("42 in /tmp")
    expect(studio.timeline.locator(".task")).to_have_count(2)


@pytest.mark.e2e("reloads the page and opens a second tab, and both follow the run")
@pytest.mark.main_path
def test_a_reload_and_a_second_tab_follow_the_same_run(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [
        bash("echo first"),
        bash("echo second; while [ ! -e go ]; do sleep 0.05; done; echo third"),
        SUBMIT,
    ]
    studio = open_tab()
    studio.send("Go slowly")
    expect(studio.timeline.get_by_label("Output", exact=True).last).to_contain_text("second")
    run_url = studio.page.url
    assert re.search(r"\?run=[\w-]{16}$", run_url)

    studio.page.reload()
    other = open_tab()
    other.open(run_url)
    for tab in (studio, other):
        expect(tab.timeline.locator(".step")).to_have_count(2)
        expect(tab.timeline.get_by_label("Output").last).to_contain_text("second")
        expect(tab.state).to_contain_text("running a command")
    studio.page.evaluate(
        "() => fetch(`api/runs/${new URLSearchParams(location.search).get('run')}/files/go`,"
        " {method: 'PUT', body: ''})"
    )
    for tab in (studio, other):
        expect(tab.state).to_have_text("submitted")
        expect(tab.timeline.locator(".step")).to_have_count(3)
        assert tab.timeline.get_by_label("Output").last.inner_text().count("third") <= 1
    studio.page.reload()
    expect(studio.timeline.locator(".step")).to_have_count(3)
    studio.timeline.locator(".card").first.click()
    expect(studio.timeline.get_by_label("Output", exact=True).first).to_contain_text("first")


def test_a_demonstration_plays_without_a_model(open_tab: Callable[..., StudioTab]) -> None:
    script = demonstration.load("chart")
    studio = open_tab("bare")
    studio.button(f"Watch: {script.title}").click()
    badge = studio.timeline.get_by_text("Demonstration: scripted model, real sandbox")
    expect(badge).to_be_visible()
    expect(studio.state).to_have_text("submitted", timeout=90_000)
    expect(badge).to_be_visible()
    expect(studio.timeline.get_by_role("group", name="Totals")).to_contain_text("no tokens")
    picture = studio.page.get_by_role("group", name="Preview").get_by_role("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 400


def test_a_task_without_a_model_opens_the_settings(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab("bare")
    studio.task.fill("Write a poem")
    studio.button("Run").click()
    expect(studio.page.get_by_role("alert")).to_contain_text("Connect a model first")
    drawer = studio.page.get_by_role("dialog", name="Settings")
    for name in ("Endpoint", "API key"):
        expect(drawer.get_by_label(name, exact=False).first).to_be_visible()
    assert drawer.get_by_label("API key").first.get_attribute("type") == "password"
    expect(studio.task).to_have_value("Write a poem")
    studio.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_the_test_button_lists_the_models_of_the_endpoint(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [Turn(calls=[Call("ready")])]
    studio = open_tab()
    studio.button("Settings").click()
    drawer = studio.page.get_by_role("dialog", name="Settings")
    studio.button("Test").click()
    expect(drawer.get_by_label("Test result")).to_contain_text("test-model")


@pytest.mark.e2e("watches a run whose every text is an attack, and sees it as text")
@pytest.mark.main_path
def test_hostile_text_is_escaped_everywhere(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    quoted = HOSTILE.replace("'", "").replace("/", "_")
    script.turns = [
        bash(
            f"printf '%s\\n' '{HOSTILE}'; touch -- 'output/{quoted}.txt'; exit 1",
            reasoning=HOSTILE,
            text=f"{HOSTILE} ![x](https://evil.example/x.png) [y](javascript:alert(1))",
        ),
        Turn(text=HOSTILE, calls=[Call("submit")]),
    ]
    studio = open_tab()
    studio.send(HOSTILE)
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text(HOSTILE)
    expect(studio.file(f"{quoted}.txt")).to_be_visible()
    studio.page.reload()
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.locator(".task")).to_contain_text(HOSTILE)
    assert studio.page.locator(".thread img, .thread script, .tree img").count() == 0
    assert studio.page.locator("a[href^='javascript']").count() == 0


def test_a_call_of_an_unknown_tool_shows_its_error(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [Turn(calls=[Call("no_such_tool", {"x": 1})]), SUBMIT]
    studio = open_tab()
    studio.send("Call")
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text("no_such_tool")


def test_retries_and_failures_are_shown(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    gate = threading.Event()
    script.turns = [
        Turn(fault="503 retry-after=2", message="Overloaded"),
        Turn(fault="401", message="Wrong key", gate=gate),
    ]
    studio = open_tab()
    studio.send("Fail")
    expect(studio.state).to_contain_text("retrying")
    expect(studio.timeline).to_contain_text("Overloaded")
    gate.set()
    expect(studio.state).to_have_text("failed")
    expect(studio.timeline.get_by_role("region", name="Failed")).to_contain_text("key")


def test_a_run_is_started_stopped_and_browsed_by_keyboard(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [bash("echo up; sleep 600")]
    studio = open_tab()
    studio.task.fill("Wait")
    studio.page.keyboard.press("Control+Enter")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text("up")
    studio.page.keyboard.press("Escape")
    expect(studio.state).to_have_text("stopped")
    studio.file("output").focus()
    studio.page.keyboard.press("ArrowLeft")
    expect(studio.file("output")).to_have_attribute("aria-expanded", "false")
    studio.page.keyboard.press("ArrowUp")
    expect(studio.file("input")).to_be_focused()


@pytest.mark.e2e("clicks a file while the run works and sees it change")
@pytest.mark.main_path
def test_a_clicked_file_is_previewed_and_updated_live(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    wait = "while [ ! -e input/go ]; do sleep 0.05; done"
    script.turns = [bash(f"echo one > a.txt; echo up; {wait}; echo two >> a.txt"), SUBMIT]
    studio = open_tab()
    studio.send("Write")
    studio.file("a.txt").click()
    shown = studio.page.get_by_role("group", name="Preview")
    content = shown.locator(".canvas")
    expect(content).to_contain_text("one")
    expect(content).not_to_contain_text("two")
    studio.page.evaluate(
        "() => fetch(`api/runs/${new URLSearchParams(location.search).get('run')}/files/input/go`,"
        " {method: 'PUT', body: ''})"
    )
    expect(content).to_contain_text("two")
    with studio.page.expect_download() as download:
        shown.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_text() == "one\ntwo\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_fits_without_horizontal_scrolling(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns, scheme: str
) -> None:
    script.turns = [bash(f"echo {'x' * 300}; echo > a.txt; exit 1"), SUBMIT]
    studio = open_tab(size=NARROW, scheme=scheme)
    assert studio.page.evaluate("document.documentElement.dataset.theme") == scheme
    studio.send("Look " + "w" * 120)
    expect(studio.state).to_have_text("submitted")
    for name in ("Run", "Stop", "Settings", "Switch theme", "New run"):
        box = studio.button(name).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW[0]
    assert studio.page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    expect(studio.workspace).to_be_visible()
    studio.button("Workspace").click()
    expect(studio.file("a.txt")).to_be_visible()


def test_the_theme_follows_the_system_until_one_is_chosen(
    open_tab: Callable[..., StudioTab],
) -> None:
    studio = open_tab(scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert studio.page.evaluate(theme) == "dark"
    studio.button("Switch theme").click()
    assert studio.page.evaluate(theme) == "light"
    studio.page.reload()
    studio.task.wait_for()
    assert studio.page.evaluate(theme) == "light"


def test_new_run_keeps_the_url_of_the_previous_run(
    open_tab: Callable[..., StudioTab], script: ScriptedTurns
) -> None:
    script.turns = [SUBMIT]
    studio = open_tab()
    studio.send("One")
    expect(studio.state).to_have_text("submitted")
    first = studio.page.url
    studio.button("New run").click()
    expect(studio.timeline.locator(".task")).to_have_count(0)
    script.turns = [SUBMIT]
    studio.send("Two")
    expect(studio.state).to_have_text("submitted")
    assert studio.page.url != first
    studio.page.goto(first)
    expect(studio.timeline.locator(".task > p")).to_have_text("One")


def test_an_unknown_run_is_reported(
    open_tab: Callable[..., StudioTab], studio_urls: dict[str, str]
) -> None:
    studio = open_tab()
    studio.page.goto(f"{studio_urls['connected']}/?run=goneforever12345")
    expect(studio.page.get_by_role("alert")).to_contain_text("no such run")
    studio.errors = [each for each in studio.errors if "404" not in each]
