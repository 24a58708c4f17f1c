"""A run of the command line: its execution, and what is printed of it."""

import argparse
import os
import sys
from collections.abc import Iterable

from agent.api.models import (
    DEMONSTRATION,
    ModelArgument,
    SelectedModel,
    select_model,
)
from agent.api.run import Run
from agent.api.studio import Studio
from agent.cli.approval import Approver
from agent.cli.printer import EventPrinter
from agent.cli.startup import begin_collection
from agent.data_folder import DataFolder
from agent.errors import UsageError
from agent.events import ApprovalRequested, Event, Status, StepStarted, encode
from agent.models.builtin.install import BUILTIN_ID
from agent.models.parameters import PARAMETERS, checked_values
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.spec import RunSpec
from agent.settings import Settings
from agent.util.signals import SignalHandler, stop_on_signals
from agent.util.stop import Stop
from agent.util.text import sanitize

EXIT_CODES: dict[Status, int] = {
    "submitted": 0,
    "answered": 0,
    "failed": 1,
    "step_limit": 3,
    "token_limit": 3,
    "budget_limit": 3,
    "time_limit": 3,
    "stopped": 130,
}


def execute_run(
    options: argparse.Namespace,
    settings: Settings,
    data: DataFolder,
    provider: DockerSandboxProvider,
) -> int:
    """Execute one run, show its events and print its answer; return the exit code."""
    selected = _select_model(options, settings)

    stop = Stop()
    with (
        stop_on_signals(stop) as interrupts,
        Studio(settings, lambda *_: provider, data=data) as studio,
        studio.run(
            selected.task,
            inputs=[*selected.inputs, *options.input],
            model=selected.model,
            prompt=options.prompt,
            network=options.network,
            mode=options.mode,
            pdfs=options.pdfs,
            max_steps=options.max_steps,
            summarise=options.summarise,
            approve=options.approve,
            stop=stop,
        ) as run,
    ):
        _print_skipped(run.skipped)
        return EXIT_CODES[follow_run(run, options, settings, interrupts)]


def follow_run(
    run: Run, options: argparse.Namespace, settings: Settings, interrupts: SignalHandler
) -> Status:
    """Carry out a round, show its events, print its answer, and save its results if wanted."""
    try:
        with interrupts.allow_interrupt():
            _print_events(run, as_json=options.json)
    finally:
        run.cancel()
        if options.output and run.recorded.folder.journal.exists():
            _print_skipped(run.save(options.output, overwrite=options.overwrite).skipped)
    folder = run.recorded.folder
    if not options.output and folder.data == settings.data:
        print(f"Run folder: {folder.path}", file=sys.stderr)
    elif not options.output:
        print("The open page lists the run under History.", file=sys.stderr)
    return run.result.status


def _select_model(options: argparse.Namespace, settings: Settings) -> SelectedModel:
    return select_model(
        options.task,
        model_argument(options, settings),
        settings,
        no_endpoint_message="No model is connected. Set OPENAI_BASE_URL, OPENAI_MODEL and "
        "OPENAI_API_KEY, or use --base-url and --model.",
        no_name_message="The model has no name. Set OPENAI_MODEL, or use --model.",
    )


def model_argument(options: argparse.Namespace, settings: Settings) -> ModelArgument:
    """Return what ``--model``, ``--base-url`` and the request parameters name."""
    parameters = checked_values(options)
    without_endpoint = options.model in (BUILTIN_ID, DEMONSTRATION)
    given = [f"--{each.option}" for each in PARAMETERS if each.name in parameters]
    if without_endpoint:
        if options.base_url:
            given.insert(0, "--base-url")
        if given:
            raise UsageError(
                f"{given[0]} is for models of an endpoint, and --model {options.model} is none. "
                "Leave one of them out."
            )
        return options.model or None
    if not (options.base_url or settings.base_url):
        if given:
            raise UsageError(f"{given[0]} is for models of an endpoint. Name one with --base-url.")
        return options.model or None
    if not options.base_url and not parameters:
        return options.model or None
    named = {"base_url": options.base_url or None, "model": options.model}
    return RunSpec.of(named | parameters).model_config(settings)


def _print_skipped(skipped: Iterable[str]) -> None:
    for line in skipped:
        print(f"Left out: {sanitize(line)}", file=sys.stderr)


def _print_events(run: Run, *, as_json: bool) -> None:
    """Show each event and print the answer. A closed output pipe stops the run."""
    print_event = _print_json if as_json else EventPrinter().print_event
    approver = Approver(run) if run.steering.approval else None
    for event in run:
        if isinstance(event, StepStarted):
            begin_collection()
        try:
            print_event(event)
        except BrokenPipeError:
            _discard_output()
            run.stop()
        if isinstance(event, ApprovalRequested) and approver is not None:
            approver.decide(event)
    answer = run.result.answer
    if answer and not as_json:
        print(sanitize(answer))


def _print_json(event: Event) -> None:
    print(encode(event).decode(), flush=True)


def _discard_output() -> None:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - os.devnull is a string
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nothing.fileno(), stream.fileno())
