"""The command ``score``: what answers are worth; its modules are imported on use."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.startup import UNSCORED
from agent.errors import UsageError
from agent.settings import Settings, load
from agent.util.cli_types import Command
from agent.util.text import plural

if TYPE_CHECKING:
    from agent.grading.checks import JudgeAccess
    from agent.tasks.task import TaskRecord


def _add_options(score: argparse.ArgumentParser) -> None:
    add = score.add_argument
    add("tasks", metavar="TASKS", type=Path,
        help="JSON Lines file, one task per line; with --suite the suite's data")  # fmt: skip
    add("results", metavar="RESULTS", type=Path,
        help='JSON Lines: {"id": …, "answer": …}; null for no answer')  # fmt: skip
    add("--suite", metavar="SUITE", default="",
        help="the suite that the tasks are of, such as aime")  # fmt: skip
    add("--preset", choices=("paper",), default="", help="with --suite: as the paper grades it")
    add("--judge", metavar="MODEL", default="",
        help="for a suite that needs one: see the command eval")  # fmt: skip


def run_command(args: argparse.Namespace, settings: Settings) -> int:
    """Print a table of mean rewards; return 0, or 4 if scores are missing."""
    from agent.tasks.jsonl import read_answers
    from agent.tasks.scoring import format_table, score_grades

    tasks, judge = _tasks(args, settings)
    missing = Counter[str]()
    graded = _graded(tasks, read_answers(args.results), judge, missing)
    known = list(graded)
    if known or not missing:
        print(format_table(score_grades(known)))
    for reason, count in missing.most_common(3):
        print(f"{plural(count, 'answer')} without a score: {reason}", file=sys.stderr)
    return UNSCORED if missing else 0


def _tasks(
    args: argparse.Namespace, settings: Settings
) -> "tuple[list[TaskRecord], JudgeAccess | None]":
    """Return the tasks, and the judge of their answers if they need one."""
    from agent.tasks.jsonl import read_tasks

    if not args.suite:
        if args.judge or args.preset:
            raise UsageError("--judge and --preset are for the tasks of a suite: --suite SUITE.")
        return list(read_tasks(args.tasks)), None
    from agent.api.experiments import judge_model
    from agent.cli.experiments import parse_judge
    from agent.experiments import suites
    from agent.experiments.experiment import check_judge
    from agent.experiments.scoring import judge_access
    from agent.experiments.suites import presets
    from agent.grading.checks import DEFAULT_VOTES

    suite = presets.follow(suites.load(args.suite, args.tasks), args.preset)
    judge, given = parse_judge(args.judge, DEFAULT_VOTES)
    if suite.scorer == "judge" and judge is None:
        raise UsageError(f"Answers of {suite.title} are scored by a judge: --judge model=NAME.")
    if judge is None:
        return suites.as_records(suite), None
    judge = presets.follow_judge(judge, args.preset)
    check_judge(judge)
    return suites.as_records(suite), judge_access(judge, judge_model(settings, judge, given))


def _graded(
    tasks: "list[TaskRecord]",
    answers: dict[str, str | None],
    judge: "JudgeAccess | None",
    missing: Counter[str],
) -> "Iterator[tuple[TaskRecord, str | None, float]]":
    """Yield tasks with their answers and rewards; count why the others have none."""
    from agent.grading.grade import grade
    from agent.tasks.scoring import expected_of, matched

    for task, answer in matched(tasks, answers):
        found = grade(expected_of(task), answer or "", judge)
        if found is None or found.score is None:
            missing[found.reason if found else "stopped"] += 1
        else:
            yield task, answer, found.score


SCORE = Command(
    "score", "compute the rewards of answers", _add_options,
    lambda options: run_command(options, load()),
)  # fmt: skip
