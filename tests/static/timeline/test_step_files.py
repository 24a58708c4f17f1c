"""Files and commands of a step in the timeline."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support import file_run, httpx
from tests.support.file_run import ServedRun, bash
from tests.support.models.endpoint import Call, Turn
from tests.support.tab import StudioTab, open_studio

pytestmark = pytest.mark.browser

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
WAIT = "while [ ! -e input/go ]; do sleep 0.05; done"


@pytest.fixture(scope="module")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    turns = [
        bash("", "echo first > output/poster.txt"),
        bash("", "echo second > output/poster.txt; mkdir __pycache__; echo > __pycache__/a.pyc"),
        bash("", "false"),
        SUBMIT,
    ]
    with file_run.serve_recorded_run(tmp_path_factory.mktemp("data"), turns) as served_run:
        yield served_run


@pytest.fixture
def tab(browser: Browser, served_run: ServedRun) -> Iterator[StudioTab]:
    with open_studio(browser, f"{served_run.studio_url}/?run={served_run.run}") as tab:
        expect(tab.page.locator("#step-3")).to_be_attached()
        yield tab


@pytest.mark.e2e("opens a file as it was after a step, and as it is now")
def test_a_chip_opens_the_version_of_its_step(tab: StudioTab) -> None:
    tab.page.locator("#step-1 .chip .name", has_text="output/poster.txt").click()
    preview = tab.page.locator(".preview")
    expect(preview.locator(".header")).to_contain_text("version after step 1")
    expect(preview.locator(".canvas")).to_contain_text("first")
    mark = tab.file("poster.txt").locator(".new")
    expect(mark).to_have_class("new unread")
    tab.page.locator("#step-2 .chip .name", has_text="output/poster.txt").click()
    expect(preview.locator(".header")).to_contain_text("version after step 2")
    expect(mark).to_have_class("new")
    tab.button("Current version").click()
    expect(preview.locator(".canvas")).to_contain_text("second")
    expect(tab.button("Current version")).to_be_hidden()


@pytest.mark.e2e("edits files while a command runs; the step shows only its own changes")
def test_changes_by_the_user_are_not_attributed_to_the_running_step(
    tab: StudioTab, served_run: ServedRun
) -> None:
    served_run.turns[:] = [bash("", f"{WAIT}; echo made > made.txt"), SUBMIT]
    tab.send("Go on")
    expect(tab.state).to_contain_text("running a command")
    poster = f"{served_run.files_url}/output/poster.txt"
    version = httpx.get(poster).headers["ETag"]
    httpx.put(poster, content="mine\n", headers={"If-Match": version}).raise_for_status()
    httpx.put(f"{served_run.files_url}/mine.txt", content="mine\n").raise_for_status()
    httpx.put(f"{served_run.files_url}/input/go", content="").raise_for_status()
    expect(tab.state).to_have_text("submitted")
    step = tab.page.locator("#step-5")
    expect(step.locator(".chip")).to_have_text(["+ made.txt"])
    expect(tab.file("made.txt").locator(".new")).to_contain_text("step 5")
    expect(tab.file("mine.txt").locator(".new")).to_have_text("")
    tab.page.reload()
    expect(step.locator(".chip")).to_have_text(["+ made.txt"])
