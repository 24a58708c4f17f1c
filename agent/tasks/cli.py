"""The commands ``tasks``, ``chores`` and ``score``; they import modules lazily."""

import argparse
import sys
from pathlib import Path

from agent.output_folder import check_file
from agent.util.cli_types import positive_int

SPLITS = ("train", "wording", "names", "family")
FILE_TASK_SPLITS = ("train", "parameters", "wording")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the argument parser."""
    tasks = commands.add_parser("tasks", help="make tasks about documents, with known answers")
    add = tasks.add_argument
    add("--split", choices=SPLITS, default="train",
         help="what nothing is trained on: wording, names, the family; or train")  # fmt: skip
    add("--family", metavar="F", default="", help="one family of tasks; all by default")
    add("--count", metavar="N", type=positive_int, default=100, help="how many (100)")
    add("--seed", metavar="N", type=int, default=0, help="another one makes other tasks (0)")
    add("--level", metavar="N", type=int, choices=range(1, 6), action="append",
         help="how difficult, 1 to 5; may be given again; all in turn by default")  # fmt: skip
    add("--output", metavar="FILE", type=Path, required=True, help="JSON lines, a task each")
    _add_file_tasks(commands.add_parser("chores", help="make small jobs, and how each is done"))
    score = commands.add_parser("score", help="reward answers to tasks")
    score.add_argument("tasks", metavar="TASKS", type=Path, help="JSON lines, a task each")
    score.add_argument("results", metavar="RESULTS", type=Path,
                       help='JSON lines: {"id": …, "answer": …}, null for no answer')  # fmt: skip


def _add_file_tasks(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--split", choices=FILE_TASK_SPLITS, default="train",
         help="what nothing is trained on: parameters, wording; or train")  # fmt: skip
    add("--family", metavar="F", default="", help="one family of chores; all by default")
    add("--count", metavar="N", type=positive_int, default=100, help="how many (100)")
    add("--seed", metavar="N", type=int, default=0, help="another one makes other chores (0)")
    add("--demonstrations", metavar="FILE", type=Path, required=True,
         help="JSON lines, the conversation of each in which it is done")  # fmt: skip


def run_command(args: argparse.Namespace) -> int:
    """Run one of these commands; return exit status 0."""
    return {"tasks": run_tasks, "chores": run_file_tasks, "score": run_score}[args.command](args)


def run_file_tasks(args: argparse.Namespace) -> int:
    """Write demonstrations of generated file tasks; return exit status 0."""
    from agent.tasks.file_tasks.demonstrations import write_demonstrations
    from agent.tasks.file_tasks.generate import generate_file_tasks

    check_file(args.demonstrations)
    tasks = generate_file_tasks(args.split, args.count, args.seed, args.family)
    count = write_demonstrations(args.demonstrations, tasks)
    print(f"{count} demonstrations in {args.demonstrations}", file=sys.stderr)
    return 0


def run_tasks(args: argparse.Namespace) -> int:
    """Write generated tasks; return exit status 0."""
    from agent.tasks.document_qa.draft import LEVELS
    from agent.tasks.document_qa.generate import generate_tasks
    from agent.tasks.jsonl import write_tasks

    check_file(args.output)
    levels = args.level or LEVELS
    records = generate_tasks(args.split, args.count, args.seed, args.family, levels)
    count = write_tasks(args.output, records)
    print(f"{count} tasks in {args.output}", file=sys.stderr)
    return 0


def run_score(args: argparse.Namespace) -> int:
    """Print a table of mean rewards; return exit status 0."""
    from agent.tasks.jsonl import read_answers, read_tasks
    from agent.tasks.scoring import format_table, score_answers

    print(format_table(score_answers(read_tasks(args.tasks), read_answers(args.results))))
    return 0
