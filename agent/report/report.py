"""The report of a run: one HTML file that needs nothing else."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from agent.errors import RunError, WorkspaceError
from agent.history.export import conversation_markdown
from agent.report import markdown
from agent.report.budget import Budget, TextMeter
from agent.report.files import Files
from agent.report.page import document, json_block
from agent.report.pictures import Pictures
from agent.report.redaction import Redactor
from agent.report.settings import Head, read_head, settings
from agent.report.source import Source
from agent.report.steps import fitted, read_steps
from agent.runs.folder import RunFolder
from agent.runs.metrics.tokens import TokenCounter

__all__ = ["Budget", "report_parts", "save_parts", "save_report"]

_MAX_PLAIN = 1_000_000
"""Characters of the text for readers without scripts."""
_MAX_PART = 2_000
"""Characters of one of its parts, such as an output."""


def report_parts(
    run: RunFolder | Path, budget: Budget | None = None, keys: Iterable[str] = ()
) -> Iterator[str]:
    """Return the parts of a run's report, with ``keys`` redacted. Raises ``RunError``."""
    source, budget, redactor = Source.of(run), budget or Budget(), Redactor(keys)
    head = read_head(source)
    if not head.state.rounds:
        raise RunError("The run has not begun, so there is nothing to report.")
    title = redactor.redact(head.title)
    return document(title, _plain(head, source, redactor), _blocks(head, source, budget, redactor))


def _blocks(head: Head, source: Source, budget: Budget, redactor: Redactor) -> Iterator[str]:
    """Yield what the page shows: the run's record first, then each step and each file."""
    files, meter = Files(source, budget, redactor), TextMeter(budget)
    record = fitted(describe_run(head, source), meter, redactor)
    record |= {"kind": "run", "files": files.versions, "contents": files.contents}
    yield json_block("record", record | {"notes": files.notes})
    yield from step_blocks(source, meter, redactor)
    yield from Pictures(budget).blocks(source, head.state)
    yield from files.blocks()


def step_blocks(
    source: Source, meter: TextMeter, redactor: Redactor, prefix: str = ""
) -> Iterator[str]:
    """Yield the events of each step of a run, and what is Markdown in them."""
    for step in read_steps(source, meter, redactor):
        yield json_block(f"events-{prefix}{step.step}", step.events)
        if step.markdown:
            yield json_block(f"markdown-{prefix}{step.step}", step.markdown)


def describe_run(head: Head, source: Source) -> dict[str, Any]:
    """Return what the server tells the page of a run; one that has not ended is cut here."""
    state = head.state
    if state.is_running:
        state.rounds[-1].cut = True
    steps, totals = TokenCounter().count(state)
    tokens = {
        "model": state.model,
        "mode": state.mode,
        "metered": state.metered,
        "running": False,
        "inputs": [],
        "context_limit": state.limits.get("conversation_tokens"),
        "cost": state.current_totals.cost,
        "totals": asdict(totals),
        "steps": [asdict(each) for each in steps],
    }
    record: dict[str, Any] = to_jsonable_python(
        {
            "title": head.title,
            "state": {"title": head.title, "state": state, "imported": source.imported,
                      "parent": source.parent},
            "answers": [markdown.render(each.answer) for each in state.rounds],
            "tokens": tokens,
            "settings": settings(head, source),
        },
        inf_nan_mode="null",
    )  # fmt: skip
    return record


def _plain(head: Head, source: Source, redactor: Redactor) -> Iterator[str]:
    """Yield the run as Markdown, shortened, with its settings."""
    left = _MAX_PLAIN
    for part in conversation_markdown(event for _, event in source.events()):
        shown = redactor.redact(part)
        if len(shown) > _MAX_PART:
            shown = f"{shown[: _MAX_PART // 2]}\n…\n{shown[-_MAX_PART // 2 :]}"
        left -= len(shown)
        if left < 0:
            yield "… The rest is left out here. A browser with scripts shows it.\n"
            break
        yield shown
    yield "\n".join(f"{name}: {redactor.redact(value)}" for name, value in settings(head, source))


def save_report(run: RunFolder | Path, target: Path, budget: Budget) -> None:
    """Write the report of a run to a path, whole or not at all."""
    save_parts(report_parts(run, budget), target)


def save_parts(parts: Iterable[str], target: Path) -> None:
    """Write the parts of a report to a path, whole or not at all."""
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
