"""The commands of ``python -m agent``, such as ``run "TASK"``."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from agent import prompts
from agent.cli import experiment_options, models, score
from agent.cli.recorded_runs import commands as recorded_runs
from agent.cli.startup import STOPPED, begin_collection
from agent.errors import AddressUnusable, StudioError
from agent.models import parameters
from agent.run_fields import add_option
from agent.sandbox.network.policy import NetworkPolicy
from agent.settings import Settings, load
from agent.tasks import cli as tasks
from agent.train import cli as training
from agent.train.rollouts import cli as rollouts
from agent.util.cli_types import Command, CommandParser

ADDRESS_UNUSABLE = 4  # the exit code if the page cannot be served at its address

CREDENTIALS = {
    "password": "ask for a password and print a line for STUDIO_USERS",
    "token": "create an operator token for programs and print it",
}
"""Commands of the page's package, which ``app.py`` passes on: credentials of its users."""

Serve = Callable[[Settings], None]


def create_parser(*, with_page: bool) -> argparse.ArgumentParser:
    """Return the argument parser, with the ``serve`` command if ``with_page`` is set."""
    root = argparse.ArgumentParser(
        prog="llm-in-sandbox-studio",
        description="Give a language model a computer and watch it work.",
        epilog="Environment variables set endpoint, key and limits; see docs/settings.md.",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", parser_class=CommandParser)
    if with_page:
        commands.add_parser("serve", help="serve the page (the default command)")
        for name, does in CREDENTIALS.items():
            commands.add_parser(name, help=does)
    for each in COMMANDS.values():
        commands.add_parser(each.name, help=each.help, add_options=each.add_options)
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
    add("--model", metavar="MODEL", default="",
        help="the model's name, or demonstration or builtin")  # fmt: skip
    add("--base-url", metavar="URL", default="",
        help="URL of the endpoint; OPENAI_API_KEY is only sent to OPENAI_BASE_URL")  # fmt: skip
    add_option(run, "max_steps")
    add("--summarise", action="store_true",
        help="summarise older steps near the context limit")  # fmt: skip
    add_option(run, "mode", default="sandbox")
    add_option(run, "pdfs", default="auto")
    add("--prompt", metavar="NAME|FILE", default="",
        help=f"one of {', '.join(prompts.list_names())}, or a file")  # fmt: skip
    add_option(run, "network", default=NetworkPolicy())
    add_option(run, "approve", default=())
    add("--image", metavar="TAG", default="", help="sandbox image to use instead of STUDIO_IMAGE")
    add("--json", action="store_true", help="write the events to stdout as JSON Lines")
    parameters.add_options(run)


def main(arguments: Sequence[str] | None = None, serve: Serve | None = None) -> int:
    """Execute a command; ``serve`` serves the page until a signal, and is None without a page.

    Returns the exit code: 0 submitted or answered, 1 failed, 2 no command given, 3 a limit was
    reached, 4 the page's address is in use or unusable, 130 stopped.
    """
    parser = create_parser(with_page=serve is not None)
    options = _parse(parser, _words(arguments))
    try:
        return _execute(options, serve, parser)
    except KeyboardInterrupt:
        return STOPPED
    except (StudioError, OSError) as error:  # OSError: a failing disk or a closed pipe
        if isinstance(error, parameters.InvalidValue):
            error = error.named(f"--{error.name.replace('_', '-')}")
        print(error, file=sys.stderr)
        return ADDRESS_UNUSABLE if isinstance(error, AddressUnusable) else 1


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words; the optional message of ``fork`` may come after its options, too."""
    options, rest = parser.parse_known_args(words)
    if rest and getattr(options, "message", None) == "" and not rest[0].startswith("-"):
        options.message = rest.pop(0)
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _execute(
    options: argparse.Namespace, serve: Serve | None, parser: argparse.ArgumentParser
) -> int:
    if options.command != "run":  # which begins it once all is imported
        begin_collection()
    if options.command in COMMANDS:
        return COMMANDS[options.command].run(options)
    if serve is not None:
        serve(load())
        return 0
    parser.print_help()
    return 2


def _words(arguments: Sequence[str] | None) -> list[str]:
    """Return the arguments (None: the process's own), commands of two words as one."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = " ".join(words[:2])
    return [name, *words[2:]] if name in COMMANDS else words


def _build(_: argparse.Namespace) -> int:
    from agent.cli.build import build_image  # imports Docker's client

    return build_image(load())


def _run(options: argparse.Namespace) -> int:
    from agent.cli.run import run_task  # imports Docker's client

    return run_task(options, load())


COMMANDS = {
    each.name: each
    for each in (
        Command("build", "build the sandbox image if it is missing", lambda _: None, _build),
        Command("run", "run a task without the page", _add_run, _run),
        *experiment_options.COMMANDS, models.MODELS, *recorded_runs.COMMANDS,
        *tasks.COMMANDS, score.SCORE, rollouts.ROLLOUT, *training.COMMANDS,
    )
}  # fmt: skip
