"""The command ``export``: a recorded run in another format."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator

from agent.cli.recorded_runs import tables
from agent.cli.recorded_runs.find import FoundRun, find_run
from agent.cli.recorded_runs.output import encoded, write_parts
from agent.errors import UsageError
from agent.events import Event, RunStarted
from agent.history.export import conversation_markdown, steps_csv
from agent.history.trajectory import build_trajectory
from agent.runs import journal
from agent.runs.state import RunState
from agent.settings import Settings
from agent.traces.formats import atif, otel, sts
from agent.traces.journal_items import (
    anthropic_of_journal,
    items_of_journal,
    messages_of_journal,
)
from agent.traces.otlp import send_spans


def export_run(options: argparse.Namespace, settings: Settings) -> int:
    """Write a run in the format that the options name; return the exit code."""
    if tables.export_table(options, settings):
        return 0
    run = find_run(options.run, settings.data)
    if options.format == "report":
        parts = _report(run, options.files, settings)
    elif options.format in _FORMATS or not options.format:
        parts = _FORMATS[options.format or "trajectory"](run)
    else:
        known = ", ".join((*_FORMATS, "report"))
        raise UsageError(f"A run is exported as {known}, not as {options.format}.")
    if options.output is None and options.format == "otel" and settings.otlp_endpoint:
        url = send_spans(parts, settings.otlp_endpoint, settings.otlp_headers)
        print(f"The spans were sent to {url}", file=sys.stderr)
    else:
        write_parts(encoded(parts), options.output)
    return 0


def _markdown(run: FoundRun) -> Iterable[str]:
    return conversation_markdown(_events(run))


def _csv(run: FoundRun) -> Iterable[str]:
    state = RunState()
    for cursor, event in journal.read(run.journal):
        state.apply(event, cursor)
    return [steps_csv(state)]


def _atif(run: FoundRun) -> Iterable[str]:
    return atif.write(items_of_journal(run.journal), _id(run))


def _sts(run: FoundRun) -> Iterable[str]:
    return sts.write(items_of_journal(run.journal), _id(run))


def _otel(run: FoundRun) -> Iterable[str]:
    return otel.write(items_of_journal(run.journal), _id(run))


def _messages(run: FoundRun) -> Iterable[str]:
    return messages_of_journal(run.journal)


def _id(run: FoundRun) -> str:
    """Return the run's id, which only its first event states outside a data folder."""
    if run.folder is not None:
        return run.folder.id
    first = next(_events(run))
    return first.run if isinstance(first, RunStarted) else ""


def _report(run: FoundRun, files: int, settings: Settings) -> Iterable[str]:
    from agent.report.report import Budget, report_parts  # Markdown and tables: slow to import

    keys = [settings.api_key] if settings.api_key else []
    return report_parts(run.folder or run.journal, Budget.of_files(files), keys)


_FORMATS: dict[str, Callable[[FoundRun], Iterable[str]]] = {
    "trajectory": lambda run: [
        json.dumps(build_trajectory(_events(run)), indent=2, ensure_ascii=False),
        "\n",
    ],
    "markdown": _markdown,
    "csv": _csv,
    "atif": _atif,
    "messages": _messages,
    "anthropic": lambda run: anthropic_of_journal(run.journal),
    "sts": _sts,
    "otel": _otel,
}


def _events(run: FoundRun) -> Iterator[Event]:
    return (event for _, event in journal.read(run.journal))
