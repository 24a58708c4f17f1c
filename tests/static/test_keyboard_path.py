"""The first-time path by keyboard alone, from the settings to the export; its keys are counted."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.browser.page_pool import listen
from tests.support.models.endpoint import Endpoint, ScriptedTurns
from tests.support.models.turns import SUBMIT, bash
from tests.support.server import serve_studio
from tests.support.tab import StudioTab, open_studio

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.timeout(300)]

MAX_KEYS = 50  # docs/presenting.md names the number


class Keyboard:
    """A keyboard whose keys are counted, without the characters of what is typed."""

    def __init__(self, studio: StudioTab) -> None:
        self.page = studio.page
        self.parts: dict[str, int] = {}
        self._part, self._began = "", 0.0

    @property
    def presses(self) -> int:
        return sum(self.parts.values())

    def begin(self, part: str) -> None:
        """Begin a part of the path; print keys and seconds of the last one."""
        now = time.monotonic()
        if self._part:
            print(f"{self._part}: {self.parts[self._part]} keys, {now - self._began:.1f} s")
        self._part, self._began = part, now
        self.parts[part] = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.parts[self._part] += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def tab_to(self, wanted: Locator, key: str = "Tab", most: int = 12) -> None:
        for _ in range(most):
            self.press(key)
            if wanted.evaluate("each => each === document.activeElement"):
                return
        expect(wanted).to_be_focused()


def test_the_first_time_path_works_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.4\n")
    script = ScriptedTurns()
    with (
        Endpoint(script) as endpoint,
        serve_studio(tmp_path / "data", builtin=False) as url,
        open_studio(browser, url) as studio,
    ):
        # Before its first use, because the browser takes notice of it later.
        listen(studio.page, "filechooser", lambda chooser: chooser.set_files(report))
        keys = Keyboard(studio)
        connect(studio, keys, endpoint.url)
        script.turns = [
            bash("ls input", text="I look."),
            bash("echo 42 > output/answer.txt", text="I write it."),
            SUBMIT,
        ]
        run(studio, keys)
        script.turns = [bash("echo 43 > output/answer.txt", text="I write another."), SUBMIT]
        scrub_and_fork(studio, keys)
        compare_and_present(studio, keys)
        export(studio, keys)
        keys.begin("")
        assert keys.presses <= MAX_KEYS, keys.parts


def connect(studio: StudioTab, keys: Keyboard, endpoint: str) -> None:
    page = studio.page
    keys.begin("connect")
    expect(studio.task).to_be_focused()
    studio.button("connect a model").wait_for()
    keys.press("Shift+Tab", "Enter")
    drawer = page.get_by_role("dialog", name="Settings")
    expect(drawer.get_by_label("Endpoint").first).to_be_focused()
    keys.type(endpoint)
    keys.tab_to(studio.button("Test"))
    keys.press("Enter")
    expect(drawer.get_by_label("Test result")).to_contain_text("works")
    keys.tab_to(page.get_by_role("radio", name="No calls"))
    keys.press("ArrowUp")
    expect(page.get_by_role("radio", name="Every call")).to_be_checked()
    keys.press("Escape")
    expect(drawer).to_be_hidden()


def run(studio: StudioTab, keys: Keyboard) -> None:
    keys.begin("attach a PDF")
    keys.press("c")
    keys.tab_to(studio.button("Attach files"))
    keys.press("Enter")
    expect(studio.page.locator("#composer .chip")).to_contain_text("report.pdf")
    keys.begin("run")
    keys.press("c")
    keys.type("What does it say?")
    keys.press("Control+Enter")
    expect(studio.state).to_contain_text("waiting for approval")
    keys.begin("allow")
    keys.press("Escape")  # leaves the message box
    allow(studio, keys, step=1)
    allow(studio, keys, step=2)
    expect(studio.state).to_have_text("submitted")


def allow(studio: StudioTab, keys: Keyboard, step: int) -> None:
    button = studio.page.locator(f"#step-{step}").get_by_role("button", name="Allow")
    expect(button).to_be_enabled()
    keys.press("a")
    expect(button).to_have_count(0)


def scrub_and_fork(studio: StudioTab, keys: Keyboard) -> None:
    page, moment = studio.page, studio.page.locator(".moment")
    keys.begin("scrub")
    for key, shown in (("[", "step 2 of 3"), ("[", "step 1 of 3"), ("]", "step 2 of 3")):
        keys.press(key)
        expect(moment).to_contain_text(shown)
    keys.begin("fork")
    parent = page.url.partition("#")[0]
    keys.press("k")
    expect(page.locator("#step-1")).to_be_focused()
    keys.tab_to(studio.button("Fork from here, step 1"))
    keys.press("Enter")
    dialog = page.get_by_role("dialog", name="Fork from step 1")
    expect(dialog.get_by_label("Message")).to_be_focused()
    expect(dialog.get_by_role("button", name="Fork", exact=True)).to_be_enabled()
    keys.type("Now write 43.")
    keys.press("Control+Enter")
    expect(studio.timeline.locator(".task").last).to_contain_text("Now write 43.")
    assert not page.url.startswith(parent)
    allow(studio, keys, step=2)
    expect(studio.state).to_have_text("submitted")


def compare_and_present(studio: StudioTab, keys: Keyboard) -> None:
    page = studio.page
    keys.begin("compare")
    keys.press("Control+k")
    history = page.locator("dialog.history")
    expect(history.locator(".entry")).to_have_count(2)
    keys.press("ArrowDown", "Space", "ArrowDown", "Space")
    expect(history).to_contain_text("2 runs selected")
    keys.press("c")
    comparison = page.get_by_role("region", name="Comparison", exact=True)
    expect(comparison).to_be_focused()
    expect(comparison).to_contain_text("The answers differ.")
    keys.begin("present")
    keys.press("p")
    expect(page.locator("html[data-presenting]")).to_have_count(1)
    expect(studio.button("Export")).to_be_hidden()
    keys.press("Escape")
    expect(page.locator("html[data-presenting]")).to_have_count(0)
    expect(comparison).to_be_focused()


def export(studio: StudioTab, keys: Keyboard) -> None:
    keys.begin("export")
    keys.tab_to(studio.button("Export"), "Shift+Tab")
    keys.press("Enter")
    expect(studio.page.get_by_role("menuitem").first).to_be_focused()
    with studio.page.expect_download() as download:
        keys.press("Enter")
    assert "43" in Path(download.value.path()).read_text()
