"""Steps and their cards: while the model writes, and when collapsed."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from agent.events import (
    CallDelta,
    Event,
    FileChange,
    ModelAnswered,
    ObservationEdited,
    StepNoted,
    StepStarted,
    TextDelta,
    ToolEnded,
    encode,
)
from agent.sandbox.network.policy import NetworkRequest
from tests.support.component.events import SUBMIT, bash, edit, ended, started, step
from tests.support.component.server import Answer
from tests.support.component.stage import Stage

pytestmark = pytest.mark.component


def cards(stage: Stage) -> Locator:
    return stage.timeline.locator(".card")


def test_a_collapsed_card_shows_the_last_lines_of_its_output(stage: Stage) -> None:
    lines = "".join(f"{number}\n" for number in range(1, 41))
    stage.mount("timeline", run=[started()])
    stage.run.add(*step(1, bash("seq 40", lines)), *step(2, bash("true")), *step(3, SUBMIT))
    stage.run.add(ended())
    first = cards(stage).first
    expect(first).not_to_have_attribute("open", "")
    expect(first.get_by_text("37\n38\n39\n40", exact=True)).to_be_visible()
    first.locator("summary").click()
    expect(first.locator(".tail")).to_be_hidden()
    expect(first.get_by_label("Output")).to_contain_text("40")
    expect(cards(stage).nth(1).locator(".tail")).to_have_count(0)


def test_the_last_lines_of_an_output_show_its_hidden_characters(stage: Stage) -> None:
    stage.mount("timeline", run=[started(), *step(1, bash("ls", "a\u202egpj.exe\n")), ended()])
    expect(cards(stage).locator(".tail")).to_have_text("a⟨U+202E⟩gpj.exe")


def test_the_path_of_a_file_is_shown_while_its_text_streams(stage: Stage) -> None:
    text = "All that is known of it.\n" * 40
    arguments = json.dumps({"command": "create", "path": "notes.md", "file_text": text})
    stage.mount("timeline", run=[started(), StepStarted(step=1, note="")])
    stage.run.add(
        CallDelta(step=1, index=0, name="str_replace_editor", arguments=arguments[:20]),
        CallDelta(step=1, index=0, name="", arguments=arguments[20:300]),
    )
    expect(cards(stage).first).to_contain_text("All that is known of it.")
    expect(cards(stage).first.locator(".call-summary")).to_have_text("create notes.md")


@pytest.mark.parametrize("text", ["The answer is 42.", ""])
def test_text_that_turned_out_to_be_reasoning_is_shown_as_reasoning(
    stage: Stage, text: str
) -> None:
    stage.mount("timeline", run=[started(), StepStarted(step=1, note="")])
    stage.run.add(TextDelta(step=1, text="I count to 42."), TextDelta(step=1, text=text))
    answered = next(event for event in step(1, SUBMIT) if isinstance(event, ModelAnswered))
    stage.run.add(replace(answered, text=text, reasoning="I count to 42."))
    expect(stage.timeline.locator(".reasoning")).to_contain_text("I count to 42.")
    expect(stage.timeline.locator(".step-text")).to_have_text([text] if text else [])


def test_a_failed_edit_shows_no_line_counts(stage: Stage) -> None:
    failing = edit("str_replace", "notes.md", ok=False, old_str="two", new_str="three")
    stage.mount("timeline", run=[started()])
    stage.run.add(*step(1, edit("create", "notes.md", file_text="one\n")), *step(2, failing))
    stage.run.add(*step(3, SUBMIT), ended())
    for _ in range(2):
        failed = cards(stage).nth(1)
        expect(failed.locator(".state")).to_contain_text("failed")
        expect(failed.locator(".call-summary")).to_have_text("str_replace notes.md")
        stage.reload()


def written(text: str) -> Iterator[Event]:
    """A step whose text the model is still writing, in small pieces."""
    yield StepStarted(step=1, note="")
    for at in range(0, len(text), 12):
        yield TextDelta(step=1, text=text[at : at + 12])


@pytest.mark.parametrize(
    ("opens", "closes"), [("\n$$", "$$\n"), ("$$", "$$"), ("\\[", "\\]"), ("\n\\[", "\\]\n")]
)
def test_formula_delimiters_are_never_visible_while_streaming(
    stage: Stage, opens: str, closes: str
) -> None:
    text = f"# The sum\n\nIt is:\n{opens}\na^2 + b^2\n{closes}\nand so on.\n\n"
    text += f"It goes on:\n{opens}\nc^2 + d^2"
    stage.mount("timeline", run=[started()])
    stage.run.add(*written(text))
    text_block = stage.timeline.locator(".step-text")
    expect(text_block.locator("h1")).to_have_text("The sum")
    expect(text_block.locator("math")).to_have_count(1)
    expect(text_block.locator(".tex")).to_contain_text("c^2")
    expect(text_block).not_to_contain_text(opens.strip())


def test_formula_delimiters_in_code_are_kept(stage: Stage) -> None:
    text = "Run this:\n\n```sh\necho $$\n\necho \\[\n```\n\nThe variable `$$` is the process."
    stage.mount("timeline", run=[started()])
    stage.run.add(*written(f"{text} It is."))
    text_block = stage.timeline.locator(".step-text")
    expect(text_block.locator("pre code")).to_have_text("echo $$\n\necho \\[\n")
    expect(text_block).to_contain_text("The variable `$$` is")


def changed(path: str, kind: str = "changed") -> FileChange:
    return FileChange(path, "added" if kind == "added" else "changed", 8)


def test_a_chip_opens_the_version_of_its_step(stage: Stage) -> None:
    steps = step(1, bash("echo"), changes=[changed("output/poster.txt", "added")])
    stage.mount("timeline", run=[started(), *steps, ended()])
    opened = stage.record_events("open-version")
    stage.step(1).get_by_role("button", name="+ output/poster.txt").click()
    assert opened() == [{"path": "output/poster.txt", "step": 1, "compared": False}]


def test_cache_files_are_collapsed_but_reachable(stage: Stage) -> None:
    changes = [changed("output/poster.txt"), changed("__pycache__/a.pyc", "added")]
    stage.mount("timeline", run=[started(), *step(1, bash("make"), changes=changes), ended()])
    chips = stage.step(1).locator(".chip")
    expect(chips).to_have_text(["~ output/poster.txt"])
    stage.step(1).get_by_role("button", name="and 1 more").click()
    expect(chips).to_have_text(["~ output/poster.txt", "+ __pycache__/a.pyc"])
    stage.step(1).get_by_role("button", name="fewer").click()
    expect(chips).to_have_text(["~ output/poster.txt"])


def test_a_failed_command_without_output_says_no_output(stage: Stage) -> None:
    failed = replace(bash("false", exit_code=1), observation="Error: Exit code 1")
    stage.mount("timeline", run=[started(), *step(1, failed), ended()])
    card = cards(stage)
    expect(card).to_contain_text("exit 1")
    expect(card.locator(".card-footer")).to_contain_text("no output")
    expect(card.get_by_label("Output")).to_have_count(0)
    card.get_by_role("button", name="What the model saw").click()
    expect(card.locator(".observation")).to_contain_text("Error: Exit code 1")


def test_a_full_disk_and_blocked_hosts_are_shown_under_the_command(stage: Stage) -> None:
    requests = (
        NetworkRequest(1.0, "pypi.org", 443, 2000, 10, ""),
        NetworkRequest(1.0, "10.0.0.1", 80, 0, 0, "This run may not reach it."),
    )
    note = "The disk is full: 60 MB of 60 MB used."
    call = bash("pip download six", end_reason="full")
    events = [
        replace(each, storage_note=note, requests=requests) if isinstance(each, ToolEnded) else each
        for each in step(1, call)
    ]
    stage.mount("timeline", run=[started(), *events, ended()])
    card = cards(stage)
    expect(card.locator(".state")).to_contain_text("disk full")
    card.locator("summary").first.click()
    expect(card.locator(".host")).to_have_text([note, "pypi.org 2 KB", "10.0.0.1 blocked"])
    titles = [each.get_attribute("title") for each in card.locator(".host").all()[1:]]
    assert titles == ["2 KB received, 10 B sent", "Blocked: This run may not reach it."]


def test_a_path_among_many_words_becomes_a_link(stage: Stage) -> None:
    names = " ".join(f"missing/{number}.txt" for number in range(600))
    path = "output/poster.txt"
    stage.answer("file-links", {"paths": {path: path}}, "POST")
    failed = bash("ls", f"{names}\n{path}\n", exit_code=1)
    stage.mount("timeline", run=[started(), *step(1, failed), ended()])
    expect(stage.step(1).locator(".output a")).to_have_text([path])
    asked = [word for each in stage.asked("file-links", "POST") for word in each.json]
    assert path in asked
    assert max(len(each.json) for each in stage.asked("file-links", "POST")) < 600


def test_the_page_has_a_heading_with_and_without_a_run(stage: Stage) -> None:
    stage.mount("header", "timeline", run=[started("Do it"), *step(1, SUBMIT), ended()])
    heading = stage.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Do it")
    stage.button("New run").click()
    expect(heading).to_have_text("LLM-in-Sandbox Studio")
    found = Axe().run(stage.page, options={"runOnly": ["empty-heading", "page-has-heading-one"]})
    assert found.response["violations"] == []


def test_notes_of_the_user_stay_when_the_step_is_loaded_again(stage: Stage) -> None:
    run = [started(), *step(1, bash("ls", "a.txt")), *step(2, SUBMIT), ended()]
    stage.mount("timeline", run=[*run, StepNoted(step=1, text="Look <here>.", at=1)])
    first = stage.timeline.locator("[data-step='1']")
    expect(first.get_by_label("Output")).to_contain_text("a.txt")  # its events are loaded
    expect(first.locator(".delivered p")).to_have_text(["Look <here>."])
    stage.run.add(StepNoted(step=1, text="And there.", at=2))
    expect(first.locator(".delivered p")).to_have_text(["Look <here>.", "And there."])
    stage.answer("steps/1/notes", None, "POST")
    for _ in range(2):  # the second one leads to the form that is open
        first.get_by_role("button", name="Note, step 1").press("Enter")
    first.get_by_label("Note", exact=True).fill("More.")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_label("Note", exact=True)).to_have_count(0)
    expect(stage.timeline.locator("[data-step='2'] .delivered")).to_have_count(0)


def test_an_event_that_arrives_while_its_step_is_loaded_stays(stage: Stage) -> None:
    events = [started(), *step(1, bash("wc", "41 lakes\n"))]
    before = [event for event in events if getattr(event, "step", None) == 1]
    stage.answer("steps/1", Answer(content=b"[%b]" % b",".join(map(encode, before))))
    with stage.hold("steps/1"):
        stage.mount("timeline", run=[*events, ended()])
        stage.run.add(ObservationEdited(step=1, call_id="call-1-1", observation="42 lakes"))
        expect(stage.step(1).locator(".card-body > *")).to_have_count(0)
        expect(stage.step(1)).to_contain_text("result edited")
    expect(stage.step(1).locator(".card-body > *")).not_to_have_count(0)  # it is loaded
    expect(stage.step(1)).to_contain_text("You edited this result. What the model sees:")
