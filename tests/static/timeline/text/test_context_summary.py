"""A summary of older steps: the line, its text and the steps."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from agent.events import Event, ObservationsCleared, SummaryEnded, SummaryStarted
from agent.models.base import Usage
from tests.support.component.accessibility import violations
from tests.support.component.events import SUBMIT, bash, ended, started, step
from tests.support.component.stage import LOOKS, Look, Stage

pytestmark = pytest.mark.component

HOSTILE = "<img src=x onerror=alert(1)> The rows 1 to 1,200 were counted; rows.txt has them."


def counting() -> Iterator[Event]:
    yield started("Count all rows.")
    for number in range(1, 6):
        output = "".join(f"{row}\n" for row in range(1000 * number, 1000 * number + 400))
        command = bash("seq", f"start {number}000\n{output}")
        yield from step(number, command, text=f"I count the rows from {number}000.")


def sixth_step(*summary: Event) -> list[Event]:
    """The sixth step, which needs space, with its summary."""
    instruction = "Summarise the steps."
    begun = SummaryStarted(step=6, first_step=1, last_step=3, instruction=instruction)
    first, *rest = step(6, SUBMIT, text="All rows were counted.")
    return [first, begun, *summary, *rest]


def written() -> SummaryEnded:
    return SummaryEnded(
        step=6, first_step=1, last_step=3, text=HOSTILE, usage=Usage(4000, 30), seconds=1.5,
        replaced_tokens=3000, summary_tokens=40,
    )  # fmt: skip


def failed(reason: str) -> SummaryEnded:
    return SummaryEnded(step=6, first_step=1, last_step=3, text="", reason=reason)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_the_summary_opens_and_leads_to_the_steps(stage: Stage, look: Look) -> None:
    stage.mount("header", "timeline", run=[*counting(), *sixth_step(written()), ended()], look=look)
    summary = stage.step(6).locator(".context-summary")
    line = summary.locator("summary")
    expect(line).to_contain_text("Steps 1 to 3 were summarised for the model · ≈")
    expect(summary.locator(".text")).to_be_hidden()
    line.click()
    expect(summary.locator(".text")).to_contain_text(HOSTILE)  # as text
    expect(summary.get_by_role("link")).to_have_count(3)
    expect(summary).to_contain_text("The request for it: 4,000 in")
    line.scroll_into_view_if_needed()
    assert violations(stage.page) == []
    summary.get_by_role("link", name="Step 2").click()
    expect(stage.page).to_have_url(re.compile("#step-2$"))
    expect(stage.step(2)).to_be_in_viewport()
    stage.step(2).locator(".card > summary").first.click()
    expect(stage.step(2).get_by_label("Output")).to_contain_text("start 2000")


def summarise(stage: Stage) -> Locator:
    """Begin a summary; returns what the step says of it."""
    stage.mount("timeline", run=list(counting()))
    stage.run.add(*sixth_step()[:2])
    remark = stage.step(6).locator(".remark")
    expect(remark).to_have_text(re.compile("^The model summarises steps 1 to 3"))
    return remark


def test_a_summary_is_shown_as_it_is_written(stage: Stage) -> None:
    remark = summarise(stage)
    expect(stage.timeline.locator(".status")).to_contain_text("summarising older steps")
    stage.run.add(written(), *sixth_step()[2:], ended())
    expect(stage.step(6).locator(".context-summary .text")).to_contain_text("rows.txt has them")
    expect(remark).to_have_count(0)


def test_a_failed_summary_says_why_and_what_happens_instead(stage: Stage) -> None:
    cut = "it was cut off at the token limit of an answer"
    cleared = ObservationsCleared(step=6, call_ids=("call-1-1", "call-2-1"), note="Removed.")
    stage.mount("timeline", run=[*counting(), *sixth_step(failed(cut), cleared), ended()])
    expect(stage.step(6).locator(".remark.warn")).to_have_text(
        "Steps 1 to 3 could not be summarised for the model: it was cut off at the token limit of "
        "an answer."
    )
    expect(stage.step(6)).to_contain_text("older outputs removed from the conversation")


def test_stop_ends_a_summary_in_progress(stage: Stage) -> None:
    remark = summarise(stage)
    stage.run.add(failed("the run was stopped"), ended("stopped"))
    expect(remark).to_contain_text("could not be summarised for the model: the run was stopped.")
