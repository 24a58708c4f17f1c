"""The commands of ``python -m agent``, such as ``run "TASK"``."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import get_args

from agent import prompts
from agent.api.models import Choice, Wanted, choose
from agent.api.run import Run
from agent.api.studio import Studio
from agent.cli.printer import EventPrinter
from agent.errors import AddressUnusable, StudioError
from agent.events import Event, Mode, Status, encode
from agent.models.base import ModelConfig
from agent.output_folder import check_folder
from agent.sandbox.engine.client import connect, is_podman
from agent.sandbox.image.build import Target, dockerfile_path, ensure_image
from agent.sandbox.image.progress import BuildProgress
from agent.sandbox.network.policy import NetworkPolicy, policy_argument
from agent.settings import Settings, load
from agent.tasks import cli as tasks
from agent.train import cli as training
from agent.train.rollouts import cli
from agent.util.cancellation import Stop
from agent.util.cli_types import positive_int
from agent.util.signals import stop_on_signals
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

ADDRESS_UNUSABLE = 4
"""The exit code if the page cannot be served at its address."""

_EARLIER_COMMANDS = {"chores": "file-tasks"}
_EARLIER_OPTIONS = {"--at-once": "--concurrency", "--picture": "--chart"}
"""Words of earlier versions, which still work and are not shown in the help."""

Serve = Callable[[Settings], None]


def create_parser(*, with_page: bool) -> argparse.ArgumentParser:
    """Return the argument parser, with the ``serve`` command if ``with_page`` is set."""
    root = argparse.ArgumentParser(
        prog="llm-in-sandbox-studio",
        description="Give a language model a computer and watch it work.",
        epilog="Environment variables set endpoint, key and limits; see docs/settings.md.",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    if with_page:
        commands.add_parser("serve", help="serve the page (the default command)")
    commands.add_parser("build", help="build the sandbox image if it is missing")
    _add_run(commands.add_parser("run", help="run a task without the page"))
    tasks.add_commands(commands)
    cli.add_command(commands)
    training.add_commands(commands)
    return root


def _add_run(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("task", metavar="TASK", help="the task for the model")
    add("--input", metavar="PATH", action="append", default=[], type=Path,
        help="a file or folder to copy into input/; repeatable")  # fmt: skip
    add("--output", metavar="DIR", type=Path,
        help="folder for the results: output/, the journal and the trajectory")  # fmt: skip
    add("--overwrite", action="store_true",
        help="replace the results of another run in that folder")  # fmt: skip
    add("--model", metavar="M", default="", help="the model's name, or demonstration or builtin")
    add("--base-url", metavar="U", default="",
        help="URL of the endpoint; OPENAI_API_KEY is only sent to OPENAI_BASE_URL")  # fmt: skip
    add("--max-steps", metavar="N", type=positive_int, help="maximum number of model turns")
    add("--mode", choices=get_args(Mode), default="sandbox",
        help="sandbox (default); plain: no tools, documents in the prompt")  # fmt: skip
    add("--prompt", metavar="NAME|FILE", default="",
        help=f"one of {', '.join(prompts.list_names())}, or a file")  # fmt: skip
    add("--network", metavar="POLICY", type=policy_argument, default=NetworkPolicy(),
        help="what the sandbox can reach: open, none, packages, or a list of hosts")  # fmt: skip
    add("--image", metavar="TAG", default="", help="sandbox image to use instead of STUDIO_IMAGE")
    add("--json", action="store_true", help="write the events to stdout as JSON Lines")


def main(arguments: Sequence[str] | None = None, serve: Serve | None = None) -> int:
    """Execute a command.

    Args:
        arguments: The command-line arguments; by default the process's own.
        serve: Serves the page until the process receives a signal to end; also the default
            command. None without a page.

    Returns:
        The exit code: 0 submitted or answered, 1 failed, 2 no command given, 3 a limit was
        reached, 4 the page's address is in use or unusable, 130 stopped.
    """
    described = create_parser(with_page=serve is not None)
    options = described.parse_args(_rename_earlier_words(arguments))
    try:
        if options.command == "build":
            return build_image(load())
        if options.command == "run":
            return run_task(options, load())
        if options.command in tasks.COMMANDS:
            return tasks.run_command(options)
        if options.command == "rollout":
            return cli.run_command(options, load())
        if options.command == "train":
            return training.train(options)
        if options.command == "compare":
            return training.compare(options)
        if serve is not None:
            serve(load())
            return 0
    except KeyboardInterrupt:
        return EXIT_CODES["stopped"]
    except (StudioError, OSError) as error:  # OSError: a failing disk or a closed pipe
        print(error, file=sys.stderr)
        return ADDRESS_UNUSABLE if isinstance(error, AddressUnusable) else 1
    described.print_help()
    return 2


def _rename_earlier_words(arguments: Sequence[str] | None) -> list[str]:
    """Return the arguments (None: the process's own) without words of earlier versions."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        return words
    words[0] = _EARLIER_COMMANDS.get(words[0], words[0])
    if words[0] not in ("rollout", "compare"):
        return words  # the words of a task stay as they are
    for at, (name, equals, value) in enumerate(word.partition("=") for word in words):
        words[at] = _EARLIER_OPTIONS.get(name, name) + equals + value
    return words


def build_image(settings: Settings) -> int:
    """Build the sandbox image and show progress on the terminal."""

    def show(progress: BuildProgress) -> None:
        print(f"{progress.fraction:4.0%} {sanitize(progress.line)}", file=sys.stderr)

    with closing(connect(settings.docker_host or None, settings.runtime_dir or None)) as client:
        for target in ("sandbox",) if is_podman(client) else get_args(Target):
            print(ensure_image(client, dockerfile_path(), show, target))
    return 0


def run_task(options: argparse.Namespace, settings: Settings) -> int:
    """Execute one run and show its events; print its answer to stdout."""
    if options.output:
        check_folder(options.output, overwrite=options.overwrite)
    settings = replace(settings, image=options.image or settings.image, warm_sandboxes=0)
    chosen = _chosen(options, settings)
    stop = Stop()
    with (
        stop_on_signals(stop) as interrupts,
        Studio(settings) as studio,
        studio.run(
            chosen.task,
            inputs=[*chosen.inputs, *options.input],
            model=chosen.model,
            prompt=options.prompt,
            network=options.network,
            mode=options.mode,
            max_steps=options.max_steps,
            stop=stop,
        ) as run,
    ):
        _print_skipped(run.skipped)
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
    return EXIT_CODES[run.result.status]


def _chosen(options: argparse.Namespace, settings: Settings) -> Choice:
    wanted: Wanted = options.model or None
    if options.base_url:
        wanted = ModelConfig(options.base_url, options.model or settings.model)
    return choose(
        options.task,
        wanted,
        settings,
        no_endpoint_message="No model is connected. Set OPENAI_BASE_URL, OPENAI_MODEL and "
        "OPENAI_API_KEY, or use --base-url and --model.",
        no_name_message="The model has no name. Set OPENAI_MODEL, or use --model.",
    )


def _print_skipped(skipped: Iterable[str]) -> None:
    for line in skipped:
        print(f"Left out: {sanitize(line)}", file=sys.stderr)


def _print_events(run: Run, *, as_json: bool) -> None:
    """Show each event and print the answer. A closed output pipe stops the run."""
    print_event = _print_json if as_json else EventPrinter().print_event
    for event in run:
        try:
            print_event(event)
        except BrokenPipeError:
            _discard_output()
            run.stop()
    answer = run.result.answer
    if answer and not as_json:
        print(sanitize(answer))


def _print_json(event: Event) -> None:
    print(encode(event).decode(), flush=True)


def _discard_output() -> None:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - os.devnull is a string
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nothing.fileno(), stream.fileno())
