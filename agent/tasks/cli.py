"""The commands ``document-tasks`` and ``file-tasks``; they import modules lazily."""

import argparse
import sys
from pathlib import Path

from agent.output_folder import check_file
from agent.util.cli_types import Command, positive_int
from agent.util.text import plural

SPLITS = ("train", "wording", "names", "family")
FILE_TASK_SPLITS = ("train", "parameters", "wording")


def _add_document_tasks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--split", choices=SPLITS, default="train",
         help="train, or what is held out of training: wording, names or a family")  # fmt: skip
    _add_generator_options(parser)
    add("--level", metavar="N", type=int, choices=range(1, 6), action="append",
         help="difficulty from 1 to 5; repeatable (default: all in turn)")  # fmt: skip
    add(
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="file to write: JSON Lines, one task per line",
    )


def _add_generator_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that both generators have."""
    add = parser.add_argument
    add("--family", metavar="FAMILY", default="", help="one family of tasks (default: all)")
    add(
        "--count",
        metavar="N",
        type=positive_int,
        default=100,
        help="number of tasks (default: 100)",
    )
    add("--seed", metavar="N", type=int, default=0, help="seed of the generator (default: 0)")


def _add_file_tasks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--split", choices=FILE_TASK_SPLITS, default="train",
         help="train, or what is held out of training: parameters or wording")  # fmt: skip
    _add_generator_options(parser)
    add("--demonstrations", metavar="FILE", type=Path, required=True,
         help="file to write: JSON Lines, one conversation per task that solves it")  # fmt: skip


def run_file_tasks(args: argparse.Namespace) -> int:
    """Write demonstrations of generated file tasks; return exit status 0."""
    from agent.tasks.file_tasks.demonstrations import write_demonstrations
    from agent.tasks.file_tasks.generate import generate_file_tasks

    check_file(args.demonstrations)
    tasks = generate_file_tasks(args.split, args.count, args.seed, args.family)
    count = write_demonstrations(args.demonstrations, tasks)
    print(f"{plural(count, 'demonstration')} written to {args.demonstrations}", file=sys.stderr)
    return 0


def run_document_tasks(args: argparse.Namespace) -> int:
    """Write generated document tasks; return exit status 0."""
    from agent.tasks.document_qa.draft import LEVELS
    from agent.tasks.document_qa.generate import generate_tasks
    from agent.tasks.jsonl import write_tasks

    check_file(args.output)
    levels = args.level or LEVELS
    records = generate_tasks(args.split, args.count, args.seed, args.family, levels)
    count = write_tasks(args.output, records)
    print(f"{plural(count, 'task')} written to {args.output}", file=sys.stderr)
    return 0


COMMANDS = (
    Command("document-tasks", "generate questions about documents, with their answers",
            _add_document_tasks, run_document_tasks),
    Command("file-tasks", "generate tasks to create, edit or convert files, with their solutions",
            _add_file_tasks, run_file_tasks),
)  # fmt: skip
