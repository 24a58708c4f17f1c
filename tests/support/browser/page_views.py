"""What is shown of recorded runs: playback, stage, comparisons, evaluations and history."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, expect

from tests.support import httpx
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient
from tests.support.evaluations.client import EvaluationClient
from tests.support.evaluations.client import respond as respond_to_tasks
from tests.support.models.turns import SUBMIT, Body, Turn, bash
from tests.support.page_states import ScriptedStudio, submitted
from tests.support.tab import StudioTab

STEP = re.compile("#step-3$")
TASK = "How many words are in the file?"
PASSAGE = (
    "The file has 12 words in three lines. Each of them was counted\n"
    "once, and hyphens do not separate words, so that well-known\n"
    "is one of them.\n"
)


def demonstration(studio: StudioTab, stage: ScriptedStudio) -> None:
    """A recorded run, at its end."""
    playback(studio, stage)
    studio.button("Live").click()
    expect(studio.timeline.get_by_role("region", name="Answer")).to_be_visible()
    expect(studio.page).not_to_have_url(STEP)


def playback(studio: StudioTab, stage: ScriptedStudio) -> None:
    """A recorded run, paused at its third step."""
    studio.page.locator(".recorded").get_by_role("button", name="Map a journey").click()
    studio.button("Pause").click()
    studio.page.get_by_role("button", name="Live").wait_for()
    while not studio.page.locator("#step-3:not(.later)").is_visible():
        studio.page.get_by_role("button", name="Next step").click()
    expect(studio.page.locator(".pill.past")).to_contain_text("of 6")
    expect(studio.page).to_have_url(STEP)  # which follows


def _present(studio: StudioTab) -> None:
    """Present in the window: a browser in full screen has one size."""
    studio.page.evaluate("Element.prototype.requestFullscreen = async () => undefined")
    studio.page.get_by_role("button", name="Present").filter(visible=True).click()
    expect(studio.page.locator("html[data-presenting]")).to_be_attached()


def present_step(studio: StudioTab, stage: ScriptedStudio) -> None:
    present_end(studio, stage)
    for _ in range(4):
        studio.page.keyboard.press("PageUp")
    expect(studio.page.locator(".step.onstage")).to_have_attribute("data-step", "3")
    expect(studio.page.locator(".preview .canvas")).to_contain_text("kept.append(point)")


def present_end(studio: StudioTab, stage: ScriptedStudio) -> None:
    demonstration(studio, stage)
    _present(studio)
    expect(studio.page.locator("html")).to_have_attribute("data-stage", "end")


def present_passage(studio: StudioTab, stage: ScriptedStudio) -> None:
    """The end of a run whose answer is a text with line breaks."""
    stage.set_turns(
        bash(f"printf '{PASSAGE}' > output/answer.txt"),
        Turn(text="I have counted them.", calls=SUBMIT.calls),
    )
    studio.send(TASK)
    expect(studio.timeline.get_by_role("region", name="Answer")).to_contain_text("hyphens")
    _present(studio)


def follow_up(studio: StudioTab, stage: ScriptedStudio) -> None:
    """A message with files that is written below a finished run."""
    submitted(studio, stage)
    names = ("competition.txt", "barriers to entry.csv", "airlines 2024.pdf", "notes.md")
    files: list[Any] = [{"name": each, "mimeType": "", "buffer": b"words\n"} for each in names]
    studio.page.get_by_label("Files to attach").set_input_files(files)
    expect(studio.page.locator("#composer .chip")).to_have_count(len(names))
    studio.task.fill("Now compare it with these.")


def comparison_begun(studio: StudioTab, stage: ScriptedStudio) -> None:
    late = Turn(text="About 90 words.", gate=stage.provider.gate)

    def respond(body: Body) -> Turn:
        return _count(body) if body.get("tools") else late

    _compare(studio, stage, respond)
    expect(_comparison(studio).locator(".column").nth(1)).to_contain_text("12 words")


def comparison_finished(studio: StudioTab, stage: ScriptedStudio) -> None:
    _compare(studio, stage, _count)
    expect(studio.page.get_by_role("group", name="Verdict")).to_contain_text("With a computer")
    expect(studio.state).to_have_text("2 of 2 finished")


def comparison_presented(studio: StudioTab, stage: ScriptedStudio) -> None:
    comparison_finished(studio, stage)
    _present(studio)


def evaluation(studio: StudioTab, stage: ScriptedStudio) -> None:
    stage.respond = respond_to_tasks
    with httpx.Client(base_url=stage.studio_url) as http:
        experiment = EvaluationClient(http).create()
    studio.page.goto(f"{stage.studio_url}/?evaluation={experiment}")
    expect(studio.page.locator(".progress-text")).to_have_text("8 of 8 runs done")
    expect(studio.page.get_by_role("region", name="Score by domain")).to_contain_text("100.0 %")


def evaluation_presented(studio: StudioTab, stage: ScriptedStudio) -> None:
    evaluation(studio, stage)
    _present(studio)
    expect(studio.page.get_by_role("grid")).to_be_hidden()


def history(studio: StudioTab, stage: ScriptedStudio) -> None:
    submitted(studio, stage)
    studio.button("History").click()
    dialog = studio.page.get_by_role("dialog", name="History")
    expect(dialog).to_contain_text("Chart the length of the day")


def report(studio: StudioTab, stage: ScriptedStudio) -> None:
    """The report of a recorded run, opened from the disk."""
    demonstration(studio, stage)
    run = studio.page.evaluate("new URLSearchParams(location.search).get('run')")
    answer = httpx.get(f"{stage.studio_url}/api/runs/{run}/report.html")
    file = stage.provider.data / "report.html"
    file.write_bytes(answer.content)
    studio.page.goto(file.as_uri())
    expect(studio.page.locator(".round-end")).to_be_visible()


def _compare(studio: StudioTab, stage: ScriptedStudio, respond: Callable[[Body], Turn]) -> None:
    stage.respond = respond
    expected = {"kind": "number", "answer": "12"}
    with httpx.Client(base_url=stage.studio_url) as http:
        experiment = ComparisonClient(http).create(PLAIN, SANDBOX, task=TASK, expected=expected)
    studio.page.goto(f"{stage.studio_url}/?compare={experiment}")


def _comparison(studio: StudioTab) -> Locator:
    return studio.page.locator("section.comparison")


def _count(body: Body) -> Turn:
    """Answer wrong without tools; with them a command, then the right answer."""
    if not body.get("tools"):
        return Turn(text="About 90 words.")
    if any(message["role"] == "tool" for message in body["messages"]):
        return Turn(text="The file has 12 words.")
    return bash("echo 12 words", text="I count.")


VIEWS = (
    demonstration, playback, present_step, present_end, present_passage, follow_up,
    comparison_begun, comparison_finished, comparison_presented, evaluation,
    evaluation_presented, history, report,
)  # fmt: skip
