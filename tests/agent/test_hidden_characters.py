"""Characters that a reader does not see, or takes for others, in every place that shows a command.

The card of a call and the status line of the page: ``tests/static/steering/test_views.py``.
"""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.cli.printer import EventPrinter
from agent.events import ApprovalRequested, Event, ToolStarted
from agent.history.export import conversation_markdown, steps_csv
from agent.history.search import find
from agent.report.report import report_parts
from tests.agent.report.recorded import Recorder
from tests.support.component.events import bash, reduced, started, step

COMMAND = "rm -rf \u202e/crs\u200b # \u0441at\x1b[2K"
SHOWN = "rm -rf ⟨U+202E⟩/crs⟨U+200B⟩ # ⟨U+0441⟩at⟨U+001B⟩[2K"
RUNNING = [started(), *step(1, replace(bash(COMMAND), is_running=True))]
BEGUN = next(at for at, event in enumerate(RUNNING, 1) if isinstance(event, ToolStarted))
ASKS = ApprovalRequested(
    step=1, call_id="a", name="execute_bash", arguments={"command": COMMAND}, summary=COMMAND,
    reasons=(),
)  # fmt: skip


def in_terminal(*events: Event) -> str:
    stream = io.StringIO()
    for event in events:
        EventPrinter(stream).print_event(event)
    return stream.getvalue()


def in_report(folder: Path) -> str:
    recorder = Recorder(folder)
    recorder.step(COMMAND, "")
    whole = "".join(report_parts(recorder.end(), None))
    return whole.partition("<pre")[2].partition("</pre>")[0]  # the rest is for the page


PLACES: dict[str, Callable[[Path], str]] = {
    "status while it runs": lambda _: reduced(RUNNING[:BEGUN]).detail,
    "status while it waits": lambda _: reduced([*RUNNING[:2], ASKS]).detail,
    "heads of steps": lambda _: reduced(RUNNING).steps[0].calls[0].summary,
    "CSV": lambda _: steps_csv(reduced(RUNNING)),
    "Markdown": lambda _: "".join(conversation_markdown(RUNNING)),
    "report": in_report,
    "terminal": lambda _: in_terminal(*RUNNING),
    "terminal, while it waits": lambda _: in_terminal(ASKS),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_commands_hidden_characters_are_shown_as_codes(place: str, tmp_path: Path) -> None:
    text = PLACES[place](tmp_path)
    assert SHOWN in text
    assert not {"\u202e", "\u200b", "\u0441", "\x1b"} & set(text)


def test_prose_and_found_lines_show_what_reorders_or_hides_and_keep_the_rest() -> None:
    text, shown = "你好，\u202eмир ⚠\ufe0f", "你好，⟨U+202E⟩мир ⚠\ufe0f"
    (match,) = find(step(1, bash("ls", text)), "мир")
    assert match.line == shown
    assert shown in in_terminal(*step(1, bash("ls", text)))
