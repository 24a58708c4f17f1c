"""The strips of capability usage: under a step, over a run, in a long run."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from agent.capabilities.usage import CapabilityUsage
from agent.events import Event, FileChange
from tests.support.component.accessibility import check_accessible
from tests.support.component.events import bash, ended, started, step
from tests.support.component.stage import LOOKS, Look, Stage

pytestmark = pytest.mark.component

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


def using(number: int, used: CapabilityUsage | None, *, changed: int = 0) -> Iterator[Event]:
    """A step that uses the computer, and changes so many files."""
    files = [FileChange(f"output/{n}.txt", "added", 1) for n in range(changed)]
    return step(number, bash("ls", used=used), changes=files)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_a_step_shows_what_it_used_and_how_that_is_known(stage: Stage, look: Look) -> None:
    steps = [*using(1, DOWNLOAD), *using(2, CALCULATION, changed=2), *using(3, NOTHING)]
    stage.mount("header", "timeline", run=[started(), *steps, ended()], look=look)
    strips = stage.timeline.locator(".step-capabilities")
    expect(strips).to_have_count(2)
    expect(strips.nth(0).locator("i.external.observed")).to_be_visible()
    expect(strips.nth(1).locator("i.file.observed")).to_be_visible()
    expect(strips.nth(1).locator("i.compute.parsed")).to_be_visible()
    summary = strips.nth(0).locator("summary")
    expect(summary).to_have_accessible_name("Used: External resources (observed)")
    summary.focus()
    summary.press("Enter")
    expect(strips.nth(0)).to_contain_text("observed: example.org, <b>x</b>; 2 KB received")
    check_accessible(stage, ".timeline")


def test_the_run_shows_its_rates_by_both_methods(stage: Stage) -> None:
    stage.mount("timeline", run=[started(), *using(1, DOWNLOAD), *using(2, CALCULATION)])
    strip = stage.timeline.locator(".run-capabilities")
    expect(strip.locator(".track > span")).to_have_count(2)
    strip.get_by_role("button", name="Capabilities").click()
    row = strip.locator("tbody tr")
    expect(row.nth(0)).to_contain_text("1 (50 %)1 (50 %)1 (50 %)")
    expect(row.nth(2)).to_contain_text("1 (50 %)0 (0 %)0 (0 %)")
    expect(strip).to_contain_text("CPU time of all commands: 0.3 s")
    stage.run.add(*using(3, CALCULATION, changed=1), ended())
    expect(strip.locator(".track > span")).to_have_count(3)
    expect(row.nth(1)).to_contain_text("2 (67 %)1 (33 %)0 (0 %)")
    expect(strip.get_by_role("img")).to_have_accessible_name(
        "Capability usage of 3 steps: external resources in 1, file management in 2, "
        "computation in 2"
    )


def test_the_calls_of_an_earlier_version_are_parsed(stage: Stage) -> None:
    stage.mount("timeline", run=[started(), *using(1, None), ended()])
    strip = stage.timeline.locator(".step-capabilities")
    expect(strip.locator("i.file.parsed")).to_be_visible()
    expect(stage.timeline.locator(".step .card-body, .step .output").first).to_be_attached()
    expect(strip.locator("i.file.parsed")).to_be_visible()  # also when the step is loaded whole
    expect(stage.timeline.locator(".run-capabilities .file.parsed")).to_be_visible()


def test_a_long_run_has_a_bounded_number_of_columns(stage: Stage) -> None:
    steps = (event for number in range(1, 501) for event in using(number, CALCULATION))
    stage.mount("timeline", run=[started(), *steps, ended()])
    columns = stage.timeline.locator(".run-capabilities .track > span")
    expect(columns).to_have_count(63)  # of eight steps each
    columns.nth(10).click()
    expect(stage.step(81)).to_be_in_viewport()
