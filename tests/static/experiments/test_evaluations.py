"""Evaluations in a browser: started in the dialog, followed live, filtered, presented, opened."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from agent.data_folder import DataFolder
from agent.settings import Settings
from tests.support import httpx
from tests.support.evaluations.client import DATA, EvaluationClient, respond
from tests.support.evaluations.command import evaluation_command
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, StudioTab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


class Script:
    """The model: as ``respond``; ``broken`` makes the endpoint refuse requests with tools."""

    broken = False

    def __call__(self, body: Any) -> Turn:
        return Turn(fault="401") if self.broken and body.get("tools") else respond(body)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def tab(tmp_path: Path, script: Script, browser: Browser) -> Iterator[StudioTab]:
    """A tab with the first screen of a studio."""
    with Endpoint(script) as endpoint:
        settings = Settings(data=tmp_path / "data", base_url=endpoint.url, model="m")
        with run_server(create_app(settings, LocalSandboxProvider(settings.data))) as url:
            page = browser.new_page()
            page.goto(url)
            yield StudioTab(page)
            page.close()


def start(tab: StudioTab, folder: Path) -> None:
    """Start an evaluation of uploaded tasks in the dialog."""
    data = folder / "test.jsonl"
    data.write_bytes(DATA)
    tab.button("Evaluate on tasks…").click()
    dialog = tab.page.get_by_role("dialog", name="Evaluate")
    expect(dialog.get_by_role("status")).to_have_text("Choose one or more suites.")
    dialog.get_by_role("checkbox", name="AIME 2025").check()
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"\d+ tasks, \d+ runs\."))
    dialog.get_by_label("Data of AIME 2025").select_option("upload")
    dialog.get_by_label("Files of AIME 2025").set_input_files(data)
    dialog.get_by_role("button", name="Start evaluation").click()
    dialog.get_by_role("button", name=re.compile(r"Start \d+ runs?")).click()


def outcomes(page: Page) -> list[str]:
    return [str(each.get_attribute("data-tone")) for each in page.locator(".cell").all()]


def test_an_evaluation_from_the_dialog_to_its_runs(tab: StudioTab, tmp_path: Path) -> None:
    page = tab.page
    start(tab, tmp_path)
    figure = page.get_by_role("region", name="Score by domain")
    expect(page.locator(".progress-text")).to_have_text("8 of 8 runs done")
    expect(figure).to_contain_text("100.0 %")
    expect(figure).to_contain_text("+75.0")
    expect(page.get_by_role("grid").get_by_role("row")).to_have_count(5)
    assert outcomes(page) == ["good", "good", *["bad", "good"] * 3]
    page.get_by_role("button", name="right 5").click()
    expect(page.get_by_role("grid").get_by_role("row")).to_have_count(5)
    page.get_by_role("button", name="wrong 3").click()
    expect(page.get_by_role("grid").get_by_role("row")).to_have_count(4)
    page.locator(".cell").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cell:focus")).to_have_attribute("data-at", "1 1")
    page.keyboard.press("p")
    expect(page.get_by_role("grid")).to_be_hidden()
    expect(figure).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="What is 3 + 3?").click()
    runs = page.get_by_role("region", name="Runs of 3")
    expect(runs.locator(".head")).to_have_text([re.compile("wrong"), re.compile("right")])
    expect(runs.locator(".column").nth(1)).to_contain_text("echo $((3 + 3))")
    page.keyboard.press("j")
    expect(page.get_by_role("region", name="Runs of 4")).to_be_visible()
    page.keyboard.press("k")
    expect(runs).to_be_visible()
    violations = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert violations.violations_count == 0, violations.generate_report()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(width) <= 0
    runs.get_by_role("button", name="Close").click()
    expect(runs).to_be_hidden()
    page.locator(".cell").first.click()
    expect(tab.timeline.locator(".round-end")).to_contain_text("2")
    page.go_back()
    expect(page.locator(".progress-text")).to_have_text("8 of 8 runs done")
    assert tab.errors == []


def test_infrastructure_errors_are_shown_apart_and_retried(
    tab: StudioTab, script: Script, tmp_path: Path
) -> None:
    page, script.broken = tab.page, True
    start(tab, tmp_path)
    apart = page.locator(".apart-line")
    expect(apart).to_contain_text("4 runs failed by infrastructure errors: not counted")
    expect(page.get_by_role("button", name="infrastructure error 4")).to_be_visible()
    script.broken = False
    tab.button("Retry infrastructure errors").click()
    expect(apart).to_be_hidden()
    expect(page.get_by_role("region", name="Score by domain")).to_contain_text("+75.0")
    page.keyboard.press("Control+k")
    row = page.locator(".comparison-entry")  # the failed runs are listed by themselves
    expect(row).to_have_count(1)
    row.locator(".unfold").click()
    expect(row.get_by_role("list", name="Scores")).to_contain_text("With sandbox 100.0 % (+75.0)")


def test_the_key_of_another_endpoint_is_typed_before_resuming(tab: StudioTab) -> None:
    page = tab.page
    with Endpoint(respond, key="typed-key") as endpoint:
        # A visitor's cookie: the evaluation belongs to the tab.
        cookies = {each["name"]: each["value"] for each in page.context.cookies()}
        with httpx.Client(base_url=page.url, cookies=cookies) as http:
            members = [{"mode": "plain", "baseUrl": endpoint.url, "model": "m"}]
            evaluation = EvaluationClient(http).create(members=members)
        page.goto(f"{page.url}?evaluation={evaluation}")
        progress = page.get_by_role("region", name="Progress")
        expect(progress).to_contain_text("Enter the key of this endpoint")
        page.get_by_text("API keys of other endpoints").click()
        page.get_by_label(endpoint.url).fill("typed-key")
        tab.button("Resume").click()
        expect(page.get_by_role("region", name="Score by domain")).to_contain_text("25.0 %")
        expect(progress).not_to_contain_text("Enter the key")
    assert tab.errors == []


def test_an_evaluation_of_the_command_line_is_followed_live(
    tmp_path: Path, browser: Browser
) -> None:
    go, tasks, data = threading.Event(), tmp_path / "test.jsonl", tmp_path / "data"
    tasks.write_bytes(DATA)

    def answer(body: Any) -> Turn:
        waits = "What is 1 + 1?" not in str(body["messages"])
        return Turn(text="\\boxed{2}", gate=go if waits else None)

    options = ("--member", "plain", "--concurrency", "1")
    with (
        Endpoint(answer) as endpoint,
        DataFolder(data),
        run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as url,
        evaluation_command(data, tasks, endpoint.url, *options) as command,
    ):
        page = browser.new_page()
        tab = StudioTab(page)
        page.goto(url)
        row = page.locator(".comparison-entry")
        while not row.count():  # History lists it once it has begun
            page.keyboard.press("Escape")
            page.keyboard.press("Control+k")
            page.wait_for_timeout(200)
        row.get_by_role("link").first.click()
        expect(page.locator(".progress-text")).to_contain_text("1 of 4 runs done · 1 running")
        expect(page.locator(".elsewhere-line")).to_contain_text(f"process {command.pid} on")
        stop = page.get_by_role("button", name="Stop the evaluation")
        expect(stop).to_be_disabled()
        expect(page.get_by_role("button", name="Delete the evaluation")).to_be_hidden()
        violations = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
        assert violations.violations_count == 0, violations.generate_report()
        page.locator(".cell").first.click()
        expect(tab.timeline.locator(".round-end")).to_contain_text("2")
        expect(tab.button("Run")).to_be_hidden()
        page.go_back()
        expect(page.locator(".elsewhere-line")).to_be_visible()
        go.set()
        expect(page.locator(".progress-text")).to_have_text("4 of 4 runs done")
        expect(page.locator(".elsewhere-line")).to_be_hidden()
        expect(page.get_by_role("button", name="Delete the evaluation")).to_be_visible()
        assert outcomes(page) == ["good", *["bad"] * 3]
        assert tab.errors == []
        page.close()
