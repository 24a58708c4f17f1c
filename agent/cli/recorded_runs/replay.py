"""The command ``replay``: executes the recorded calls of a run again and compares the results."""

import argparse
import sys
from dataclasses import replace

from agent.api.run import Run
from agent.api.studio import Studio
from agent.cli.printer import EventPrinter
from agent.cli.recorded_runs.find import find_run
from agent.cli.startup import STOPPED
from agent.data_folder import lock_first_free
from agent.events import CheckedCall, CheckedFile, Event, StepVerified, Verdict, encode
from agent.replay.replay import open_recording
from agent.runs.state import ReplaySummary
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop
from agent.util.text import plural, sanitize

_WORDS: dict[Verdict, str] = {
    "same": "same",
    "volatile": "differs only in volatile parts",
    "unverified": "unverified",
    "differs": "differs",
}


def replay_run(options: argparse.Namespace, settings: Settings) -> int:
    """Replay a run; exit code 1 if a step differs, or is unverified and that is not allowed."""
    found = find_run(options.run, settings.data)
    recording = open_recording(found.journal, found.folder)
    settings = replace(settings, image=options.image or settings.image, warm_sandboxes=0)
    stop = Stop()
    with (
        lock_first_free(settings.data) as data,
        stop_on_signals(stop) as interrupts,
        Studio(settings, data=data) as studio,
        studio.replay_recording(
            recording, inputs=options.input, network=options.network, stop=stop
        ) as run,
    ):
        try:
            with interrupts.allow_interrupt():
                _print_events(run, as_json=options.json)
        finally:
            stopped = stop.is_set
            run.cancel()
        if options.output:
            run.save(options.output, overwrite=options.overwrite)
    if stopped:
        return STOPPED
    summary = run.result.replay
    if summary is None:  # the sandbox could not be started
        return 1
    if not options.json:
        _print_summary(summary, run.id)
    passed = ("same", "volatile", *(("unverified",) if options.allow_unverified else ()))
    return 0 if summary.verdict in passed and run.result.status != "failed" else 1


def _print_events(run: Run, *, as_json: bool) -> None:
    printer = EventPrinter()
    for event in run:
        if as_json:
            print(encode(event).decode(), flush=True)
        else:
            printer.print_event(event)
            _print_verdict(event)


def _print_verdict(event: Event) -> None:
    if not isinstance(event, StepVerified):
        return
    print(f"step {event.step}: {_WORDS[event.verdict]}{_rules(event)}", flush=True)
    for note in event.notes:
        _print_detail(note)
    for call in event.calls:
        _print_checked("call", call)
    for file in event.files:
        _print_checked(file.path, file)
    if more := event.total - len(event.files):
        _print_detail(f"and {plural(more, 'more path')}")


def _rules(event: StepVerified) -> str:
    if event.verdict != "volatile":
        return ""
    names = {name for call in event.calls for name in call.rules}
    names |= {name for file in event.files for name in file.rules}
    return f" ({', '.join(sorted(names))})"


def _print_checked(name: str, checked: CheckedCall | CheckedFile) -> None:
    if checked.verdict in ("differs", "unverified"):
        _print_detail(f"{name}: {checked.reason}")
        for line in checked.diff.splitlines():
            _print_detail(f"  {line}")


def _print_detail(text: str) -> None:
    print(f"  {sanitize(text)}", flush=True)


def _print_summary(summary: ReplaySummary, run: str) -> None:
    for note in summary.notes:
        print(sanitize(note))
    counts = ", ".join(f"{count} {_WORDS[verdict]}" for verdict, count in summary.counts.items())
    missing = summary.steps - sum(summary.counts.values())
    reached = f", {missing} not reached" if missing else ""
    print(f"{_WORDS[summary.verdict]}: {counts or 'no steps'}{reached}")
    print(f"The replay is the run {run}.", file=sys.stderr)
