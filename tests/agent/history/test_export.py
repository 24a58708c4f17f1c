"""Exports of a run as CSV and Markdown: complete, and safe to open."""

import csv
import io

from agent.capabilities.usage import CapabilityUsage
from agent.events import Event, ToolStarted
from agent.history.export import COLUMNS, conversation_markdown, steps_csv
from agent.models.base import Usage
from tests.support.component.events import bash, continued, ended, reduced, started, step


def run_events(
    text: str = "I look.", output: str = "out", used: CapabilityUsage | None = None
) -> list[Event]:
    call = bash("ls -l\ncat a", output, 2, summary="ls -l …", seconds=0.25, used=used)
    usage = Usage(90, 8, cached=50)
    return [
        started("Count\nthem."),
        *step(1, call, text=text, reasoning="Hm.\nYes.", usage=usage, seconds=1.5),
        ended(answer="42"),
        continued("And now?"),
    ]


def rows(events: list[Event]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(steps_csv(reduced(events)))))


def markdown(events: list[Event]) -> str:
    return "".join(conversation_markdown(events))


def test_each_step_is_a_row() -> None:
    (row,) = rows(run_events())
    assert tuple(row) == COLUMNS
    known = {
        "step": "1", "text": "I look.", "calls": "ls -l …", "exit_codes": "2",
        "prompt_tokens": "90", "cached_tokens": "50", "generated_tokens": "8",
        "model_seconds": "1.5", "sandbox_seconds": "0.25",
    }  # fmt: skip
    assert row | known == row


def test_csv_cells_are_never_formulas() -> None:
    assert rows(run_events('=HYPERLINK("http://x")'))[0]["text"].startswith("'=")


def test_the_conversation_is_complete() -> None:
    text = markdown(run_events())
    for part in ("# Count them.", "> Hm.\n> Yes.", "I look.", "$ ls -l\ncat a", "out", "42",
                 "## And now?"):  # fmt: skip
        assert part in text


def editor_call(summary: str, **arguments: str) -> Event:
    return ToolStarted(
        step=1, call_id="c", name="str_replace_editor", arguments=dict(arguments), summary=summary
    )


def test_the_conversation_contains_editor_edits() -> None:
    text = markdown([
        editor_call("create a.py +2", command="create", path="a.py", file_text="x = 1\ny = 2\n"),
        editor_call("edit a.py +1 −1", command="str_replace", old_str="x = 1", new_str="x = 3"),
    ])  # fmt: skip
    assert "create a.py +2\nx = 1\ny = 2\n" in text
    assert "edit a.py +1 −1\n-x = 1\n+x = 3\n" in text


def test_code_fences_cannot_be_closed_by_their_content() -> None:
    text = markdown(run_events(output="```\n# not a heading\n````"))
    assert "\n`````\n```\n# not a heading\n````\n`````\n" in text


def test_control_sequences_are_escaped() -> None:
    assert "\x1b" not in markdown(run_events(text="\x1b[2J", output="\x1b]0;x\x07"))


def test_each_row_says_what_the_step_used_and_how_that_is_known() -> None:
    used = CapabilityUsage(
        external="observed", file="parsed", paper=("external", "file"), cpu_seconds=0.25,
        programs=("=ls", "curl"), hosts=("example.org",), packages=("lake 1.2",),
    )  # fmt: skip
    (row,) = rows(run_events(used=used))
    assert [row[name] for name in COLUMNS[-8:]] == [
        "observed", "parsed", "no", "external; file", "0.25", "'=ls; curl", "example.org",
        "lake 1.2",
    ]  # fmt: skip
    text = markdown(run_events(used=used))
    assert "*Used: external resources (observed), file management (parsed)*" in text


def test_what_was_not_recorded_is_empty() -> None:
    (row,) = rows(run_events())
    assert [row[name] for name in COLUMNS[-8:]] == [""] * 8
    assert "Used:" not in markdown(run_events())
    (row,) = rows(run_events(used=CapabilityUsage()))
    assert [row[name] for name in COLUMNS[-8:]] == ["no"] * 3 + [""] * 5
