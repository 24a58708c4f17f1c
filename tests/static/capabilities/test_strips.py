"""The strips of capability usage in a browser: under a step, over a run, in a long run."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from agent.capabilities.usage import CapabilityUsage
from agent.events import (
    Event,
    FileChange,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    Totals,
    WorkspaceChanged,
    encode,
)
from agent.runs.folder import RunFolder
from agent.settings import Settings
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.server import create_app, run_server
from tests.support.tab import NARROW, WIDE, open_studio

pytestmark = pytest.mark.browser

DOWNLOAD = CapabilityUsage(
    external="observed",
    hosts=("example.org", "<b>x</b>"),
    received=2048,
    programs=("curl",),
    paper=("external",),
    cpu_seconds=0.25,
)
NOTHING = CapabilityUsage()
CALCULATION = CapabilityUsage(compute="parsed", programs=("python3",), file="parsed")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def url(data: Path) -> Iterator[str]:
    with run_server(create_app(Settings(data=data), LocalSandboxProvider(data))) as url:
        yield url


def write_run(url: str, data: Path, events: Iterable[Event]) -> RunFolder:
    run: str = httpx.post(f"{url}/api/runs").json()["run"]
    folder = RunFolder.open(data, run)
    append(folder, events)
    return folder


def append(folder: RunFolder, events: Iterable[Event]) -> None:
    with folder.journal.open("ab") as file:
        file.writelines(encode(event) + b"\n" for event in events)


def started() -> RunStarted:
    return RunStarted(
        run="r", task="Go.", mode="sandbox", model="m", metered=False, prompt="general", system="",
        user="Go.",
    )  # fmt: skip


def step(number: int, used: CapabilityUsage | None, *, changed: int = 0) -> list[Event]:
    call = f"call-{number}"
    files = tuple(FileChange(f"output/{n}.txt", "added", 1) for n in range(changed))
    return [
        StepStarted(step=number, note=""),
        ToolStarted(
            step=number, call_id=call, name="execute_bash", arguments={"command": "ls"}, summary="x"
        ),
        ToolEnded(
            step=number, call_id=call, name="execute_bash", ok=True, exit_code=0, end_reason="exit",
            seconds=0.1, observation="x", used=used,
        ),
        *([WorkspaceChanged(step=number, changes=files, total=changed)] if changed else []),
        StepEnded(step=number, totals=Totals(steps=number, metered=False)),
    ]  # fmt: skip


def ended() -> RunEnded:
    return RunEnded(status="submitted", reason="", answer="Done.", totals=Totals(metered=False))


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_step_shows_what_it_used_and_how_that_is_known(
    browser: Browser, url: str, data: Path, size: tuple[int, int]
) -> None:
    events = [started(), *step(1, DOWNLOAD), *step(2, CALCULATION, changed=2), *step(3, NOTHING)]
    folder = write_run(url, data, [*events, ended()])
    with open_studio(browser, f"{url}?run={folder.id}", size) as studio:
        strips = studio.timeline.locator(".step-capabilities")
        expect(strips).to_have_count(2)
        expect(strips.nth(0).locator("i.external.observed")).to_be_visible()
        expect(strips.nth(1).locator("i.file.observed")).to_be_visible()
        expect(strips.nth(1).locator("i.compute.parsed")).to_be_visible()
        summary = strips.nth(0).locator("summary")
        expect(summary).to_have_accessible_name("Used: External resources (observed)")
        summary.focus()
        summary.press("Enter")
        expect(strips.nth(0)).to_contain_text("observed: example.org, <b>x</b>; 2 KB received")
        found = Axe().run(studio.page, ".timeline").response["violations"]
        assert [each["id"] for each in found] == []


def test_the_run_shows_its_rates_by_both_methods(browser: Browser, url: str, data: Path) -> None:
    folder = write_run(url, data, [started(), *step(1, DOWNLOAD), *step(2, CALCULATION)])
    with open_studio(browser, f"{url}?run={folder.id}") as studio:
        strip = studio.timeline.locator(".run-capabilities")
        expect(strip.locator(".track > span")).to_have_count(2)
        strip.get_by_role("button", name="Capabilities").click()
        row = strip.locator("tbody tr")
        expect(row.nth(0)).to_contain_text("1 (50 %)1 (50 %)1 (50 %)")
        expect(row.nth(2)).to_contain_text("1 (50 %)0 (0 %)0 (0 %)")
        expect(strip).to_contain_text("CPU time of all commands: 0.3 s")
        append(folder, [*step(3, CALCULATION, changed=1), ended()])  # the page follows
        expect(strip.locator(".track > span")).to_have_count(3)
        expect(row.nth(1)).to_contain_text("2 (67 %)1 (33 %)0 (0 %)")
        expect(strip.get_by_role("img")).to_have_accessible_name(
            "Capability usage of 3 steps: external resources in 1, file management in 2, "
            "computation in 2"
        )


def test_the_calls_of_an_earlier_version_are_parsed(browser: Browser, url: str, data: Path) -> None:
    folder = write_run(url, data, [started(), *step(1, None), ended()])
    with open_studio(browser, f"{url}?run={folder.id}") as studio:
        strip = studio.timeline.locator(".step-capabilities")
        expect(strip.locator("i.file.parsed")).to_be_visible()
        expect(studio.timeline.locator(".step .card-body, .step .output").first).to_be_attached()
        expect(strip.locator("i.file.parsed")).to_be_visible()  # also when the step is loaded whole
        expect(studio.timeline.locator(".run-capabilities .file.parsed")).to_be_visible()


def test_a_long_run_has_a_bounded_number_of_columns(browser: Browser, url: str, data: Path) -> None:
    steps = (event for number in range(1, 501) for event in step(number, CALCULATION))
    folder = write_run(url, data, [started(), *steps, ended()])
    with open_studio(browser, f"{url}?run={folder.id}") as studio:
        columns = studio.timeline.locator(".run-capabilities .track > span")
        expect(columns).to_have_count(63)  # of eight steps each
        columns.nth(10).click()
        expect(studio.timeline.locator("#step-81")).to_be_in_viewport()


def test_each_member_of_a_comparison_has_its_strip(browser: Browser, url: str, data: Path) -> None:
    one = write_run(url, data, [started(), *step(1, DOWNLOAD), ended()])
    other = write_run(url, data, [started(), *step(1, CALCULATION), *step(2, NOTHING), ended()])
    runs = {"runs": [one.id, other.id]}
    comparison = httpx.post(f"{url}/api/comparisons/from-runs", json=runs).json()["id"]
    with open_studio(browser, url) as studio:
        studio.page.goto(f"{url}?compare={comparison}")
        strips = studio.page.locator(".member-columns .run-capabilities")
        expect(strips).to_have_count(2)
        expect(strips.nth(0).get_by_role("img")).to_have_accessible_name(
            "Capability usage of 1 step: external resources in 1, file management in 0, "
            "computation in 0"
        )
        strips.nth(1).get_by_role("button", name="Capabilities").click()
        expect(strips.nth(1).locator("tbody tr").nth(2)).to_contain_text("1 (50 %)")
