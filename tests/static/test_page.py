"""Whole runs on the page, in a browser and on the container engine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.data_folder import DataFolder
from agent.provisioning.provider import DockerSandboxProvider
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from tests.support import httpx
from tests.support.models.endpoint import Call, Endpoint, ScriptedTurns, Turn
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import create_app, run_server
from tests.support.tab import StudioTab, open_studio

pytestmark = [pytest.mark.engine, pytest.mark.browser]

HOSTILE = "${alert(1)} {{value}} <img src=x onerror=alert(1)> `</script><script>alert(1)</script>"


def write_empty_file(studio: StudioTab, path: str) -> None:
    """Write a file of the shown run, for which its command waits."""
    run = studio.page.url.partition("run=")[2]
    url = f"{studio.page.url.partition('?')[0]}api/runs/{run}/files/{path}"
    httpx.put(url, content=b"").raise_for_status()


@pytest.fixture(scope="module")
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def studio_url(
    engine: Client,
    image: str,
    script: ScriptedTurns,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    with Endpoint(script) as endpoint:
        settings = Settings(
            data=tmp_path_factory.mktemp("data"), image=image, base_url=endpoint.url,
            model="test-model",
        )  # fmt: skip
        provider = DockerSandboxProvider(settings, DataFolder(settings.data))
        with run_server(create_app(settings, provider)) as url:
            yield url


@pytest.fixture
def studio(browser: Browser, studio_url: str) -> Iterator[StudioTab]:
    with open_studio(browser, studio_url) as studio:
        yield studio


@pytest.mark.e2e("uploads a document, runs a task and watches it live up to the answer")
@pytest.mark.main_path
def test_a_run_is_shown_live_from_upload_to_answer(
    studio: StudioTab, script: ScriptedTurns, tmp_path: Path
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
    studio.timeline.locator(".task").get_by_role("button", name="résumé.txt").click()
    preview = studio.page.get_by_role("group", name="Preview")
    expect(preview.locator(".canvas")).to_contain_text("three")


@pytest.mark.e2e("stops a run and continues it with a message, in the same sandbox")
@pytest.mark.main_path
def test_stop_ends_the_command_and_a_message_continues_in_the_same_sandbox(
    studio: StudioTab, script: ScriptedTurns
) -> None:
    script.turns = [bash("cd /tmp; kept=41; echo up; sleep 600")]
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
    studio: StudioTab, browser: Browser, script: ScriptedTurns
) -> None:
    script.turns = [
        bash("echo first"),
        bash("echo second; while [ ! -e go ]; do sleep 0.05; done; echo third"),
        SUBMIT,
    ]
    studio.send("Go slowly")
    expect(studio.timeline.get_by_label("Output", exact=True).last).to_contain_text("second")
    run_url = studio.page.url
    assert re.search(r"\?run=[\w-]{16}$", run_url)

    studio.page.reload()
    with open_studio(browser, run_url) as other:
        for tab in (studio, other):
            expect(tab.timeline.locator(".step")).to_have_count(2)
            expect(tab.timeline.get_by_label("Output").last).to_contain_text("second")
            expect(tab.state).to_contain_text("running a command")
        write_empty_file(studio, "go")
        for tab in (studio, other):
            expect(tab.state).to_have_text("submitted")
            expect(tab.timeline.locator(".step")).to_have_count(3)
            assert tab.timeline.get_by_label("Output").last.inner_text().count("third") <= 1
    studio.page.reload()
    expect(studio.timeline.locator(".step")).to_have_count(3)
    studio.timeline.locator(".card").first.click()
    expect(studio.timeline.get_by_label("Output", exact=True).first).to_contain_text("first")


@pytest.mark.e2e("watches a run whose every text is an attack, and sees it as text")
@pytest.mark.main_path
def test_hostile_text_is_escaped_everywhere(studio: StudioTab, script: ScriptedTurns) -> None:
    quoted = HOSTILE.replace("'", "").replace("/", "_")
    script.turns = [
        bash(
            f"printf '%s\\n' '{HOSTILE}'; touch -- 'output/{quoted}.txt'; exit 1",
            reasoning=HOSTILE,
            text=f"{HOSTILE} ![x](https://evil.example/x.png) [y](javascript:alert(1))",
        ),
        Turn(text=HOSTILE, calls=[Call("submit")]),
    ]
    studio.send(HOSTILE)
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.get_by_label("Output", exact=True)).to_contain_text(HOSTILE)
    expect(studio.file(f"{quoted}.txt")).to_be_visible()
    studio.page.reload()
    expect(studio.state).to_have_text("submitted")
    expect(studio.timeline.locator(".task")).to_contain_text(HOSTILE)
    assert studio.page.locator(".thread img, .thread script, .tree img").count() == 0
    assert studio.page.locator("a[href^='javascript']").count() == 0


@pytest.mark.e2e("clicks a file while the run works and sees it change")
@pytest.mark.main_path
def test_a_clicked_file_is_previewed_and_updated_live(
    studio: StudioTab, script: ScriptedTurns
) -> None:
    wait = "while [ ! -e input/go ]; do sleep 0.05; done"
    script.turns = [bash(f"echo one > a.txt; echo up; {wait}; echo two >> a.txt"), SUBMIT]
    studio.send("Write")
    studio.file("a.txt").click()
    shown = studio.page.get_by_role("group", name="Preview")
    content = shown.locator(".canvas")
    expect(content).to_contain_text("one")
    expect(content).not_to_contain_text("two")
    write_empty_file(studio, "input/go")
    expect(content).to_contain_text("two")
    with studio.page.expect_download() as download:
        shown.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_text() == "one\ntwo\n"
