"""The commands ``tasks``, ``chores`` and ``score``; they import modules lazily."""

import argparse
import sys
from pathlib import Path

from agent.output_folder import check_file
from agent.util.cli_types import positive

SPLITS = ("train", "wording", "names", "family")
CHORE_SPLITS = ("train", "parameters", "wording")


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the argument parser."""
    tasks = commands.add_parser("tasks", help="make tasks about documents, with known answers")
    give = tasks.add_argument
    give("--split", choices=SPLITS, default="train",
         help="what nothing is trained on: wording, names, the family; or train")  # fmt: skip
    give("--family", metavar="F", default="", help="one family of tasks; all by default")
    give("--count", metavar="N", type=positive, default=100, help="how many (100)")
    give("--seed", metavar="N", type=int, default=0, help="another one makes other tasks (0)")
    give("--level", metavar="N", type=int, choices=range(1, 6), action="append",
         help="how difficult, 1 to 5; may be given again; all in turn by default")  # fmt: skip
    give("--output", metavar="FILE", type=Path, required=True, help="JSON lines, a task each")
    _add_chores(commands.add_parser("chores", help="make small jobs, and how each is done"))
    score = commands.add_parser("score", help="reward answers to tasks")
    score.add_argument("tasks", metavar="TASKS", type=Path, help="JSON lines, a task each")
    score.add_argument("results", metavar="RESULTS", type=Path,
                       help='JSON lines: {"id": …, "answer": …}, null for no answer')  # fmt: skip


def _add_chores(chores: argparse.ArgumentParser) -> None:
    give = chores.add_argument
    give("--split", choices=CHORE_SPLITS, default="train",
         help="what nothing is trained on: parameters, wording; or train")  # fmt: skip
    give("--family", metavar="F", default="", help="one family of chores; all by default")
    give("--count", metavar="N", type=positive, default=100, help="how many (100)")
    give("--seed", metavar="N", type=int, default=0, help="another one makes other chores (0)")
    give("--demonstrations", metavar="FILE", type=Path, required=True,
         help="JSON lines, the conversation of each in which it is done")  # fmt: skip


def carry_out(given: argparse.Namespace) -> int:
    """Run one of these commands; return exit status 0."""
    return {"tasks": make, "chores": demonstrate, "score": score}[given.command](given)


def demonstrate(given: argparse.Namespace) -> int:
    """Write demonstrations of generated file tasks; return exit status 0."""
    from agent.tasks.file_tasks.demonstrations import write_demonstrations
    from agent.tasks.file_tasks.generate import chores

    check_file(given.demonstrations)
    made = chores(given.split, given.count, given.seed, given.family)
    count = write_demonstrations(given.demonstrations, made)
    print(f"{count} demonstrations in {given.demonstrations}", file=sys.stderr)
    return 0


def make(given: argparse.Namespace) -> int:
    """Write generated tasks; return exit status 0."""
    from agent.tasks.document_qa.draft import LEVELS
    from agent.tasks.document_qa.generate import problems
    from agent.tasks.jsonl import write_problems

    check_file(given.output)
    levels = given.level or LEVELS
    made = problems(given.split, given.count, given.seed, given.family, levels)
    count = write_problems(given.output, made)
    print(f"{count} tasks in {given.output}", file=sys.stderr)
    return 0


def score(given: argparse.Namespace) -> int:
    """Print a table of mean rewards; return exit status 0."""
    from agent.tasks.jsonl import read_answers, read_problems
    from agent.tasks.scoring import scored, shown

    print(shown(scored(read_problems(given.tasks), read_answers(given.results))))
    return 0
