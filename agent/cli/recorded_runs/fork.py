"""The command ``fork``: a run that starts from a step of another one."""

import argparse
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

from agent.api.studio import Studio
from agent.cli.execute import EXIT_CODES, follow_run, model_argument
from agent.cli.recorded_runs.find import find_run
from agent.output_folder import check_folder
from agent.runs.folder import RunFolder
from agent.settings import Settings
from agent.util.signals import stop_on_signals
from agent.util.stop import Stop

_FILES = "Its files are those that the export holds."


def fork_run(options: argparse.Namespace, settings: Settings) -> int:
    """Make a fork, carry out its first round, and print its answer; return the exit code."""
    run = _source(options.run, settings.data)
    if options.output:
        check_folder(options.output, overwrite=options.overwrite)
    model = model_argument(options, settings)
    settings = replace(settings, image=options.image or settings.image, warm_sandboxes=0)
    stop = Stop()
    with (
        stop_on_signals(stop) as interrupts,
        Studio(settings) as studio,
        studio.fork(
            run,
            options.step,
            options.message,
            model=model,
            prompt=options.prompt or None,
            mode=options.mode,
            max_steps=options.max_steps,
            summarise=options.summarise,
            reinstall=options.reinstall,
            stop=stop,
        ) as fork,
    ):
        parent = fork.recorded.folder.parent
        name = parent.run if parent else options.run
        print(f"Fork of {name} after step {options.step}: {fork.id}", file=sys.stderr)
        if not isinstance(run, RunFolder):
            print(f"{options.run} was imported as {name}. {_FILES}", file=sys.stderr)
        return EXIT_CODES[follow_run(fork, options, settings, interrupts)]


def _source(text: str, data: Path) -> RunFolder | Path:
    """Return the run of a data folder, or the path of an exported one."""
    path = Path(text)
    if path.is_file() and zipfile.is_zipfile(path):
        return path
    return find_run(text, data).folder or path
