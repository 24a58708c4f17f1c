"""The report of a run: one HTML file that needs nothing else."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from agent.errors import RunError, WorkspaceError
from agent.report.budget import Budget, TextMeter
from agent.report.conversation import Conversation
from agent.report.files import Files
from agent.report.html import Html, document, el, redacted
from agent.report.overview import heading, overview, read_head
from agent.report.redaction import Redactor
from agent.report.source import Source
from agent.runs.folder import RunFolder
from agent.util.text import plural

__all__ = ["Budget", "report_parts", "save_parts", "save_report", "write_report"]


def report_parts(
    run: RunFolder | Path, budget: Budget | None = None, keys: Iterable[str] = ()
) -> Iterator[str]:
    """Return the parts of the report of a run, in bounded memory.

    Args:
        run: The run; or an exported folder or journal.
        budget: How much the report contains.
        keys: Keys to redact, besides those that look like one.

    Raises:
        RunError: There is no journal, or the run has not begun.
    """
    source, budget, redactor = Source.of(run), budget or Budget(), Redactor(keys)
    head = read_head(source)
    if not head.state.rounds:
        raise RunError("The run has not begun, so there is nothing to report.")
    conversation = Conversation(source, TextMeter(budget), head.began)
    status = head.state.rounds[-1].status

    def body() -> Iterator[str]:
        steps = plural(len(head.state.steps), "step")
        yield heading(head.title, status, head.state.model, steps, source.origin)
        yield Html('<main class="run">\n<div class="thread">\n')
        yield overview(head, source)
        yield from conversation.render(event for _, event in source.events())
        yield Html("</div>\n")
        yield from Files(source, budget, redactor).parts()
        yield Html("</main>\n")
        yield el("footer", "", class_="player", id="player", hidden=True)

    parts = document(head.title, body(), lambda: {"kind": "run", "steps": conversation.steps})
    return redacted(parts, redactor)


def write_report(
    run: RunFolder | Path,
    file: BinaryIO,
    budget: Budget | None = None,
    keys: Iterable[str] = (),
) -> None:
    """Write the report of a run to an open file; see ``report_parts``.

    Raises:
        RunError: There is no journal, or the run has not begun.
    """
    for part in report_parts(run, budget, keys):
        file.write(part.encode("utf-8", "replace"))


def save_report(run: RunFolder | Path, target: Path, budget: Budget) -> None:
    """Write the report of a run to a path, whole or not at all.

    Raises:
        RunError: There is no journal, or the run has not begun.
        WorkspaceError: The file cannot be written.
    """
    save_parts(report_parts(run, budget), target)


def save_parts(parts: Iterable[str], target: Path) -> None:
    """Write the parts of a report to a path, whole or not at all.

    Raises:
        WorkspaceError: The file cannot be written.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as file:
            for part in parts:
                file.write(part.encode("utf-8", "replace"))
        partial.replace(target)
    except OSError as error:
        raise WorkspaceError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        partial.unlink(missing_ok=True)
