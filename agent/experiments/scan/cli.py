"""The command ``eval scan``, which asks a model a question about an evaluation's runs."""

import argparse
from pathlib import Path

from agent.settings import load
from agent.util.cli_types import Command


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("evaluation", metavar="EVALUATION", help="the evaluation's id")
    add("question", metavar="QUESTION", help="the question; the same one again goes on")
    add("--kind", choices=("yes_no", "category", "quote"), default="yes_no",
        help="what an answer is: yes or no, a category, or words of the run")  # fmt: skip
    add("--category", metavar="TEXT", action="append", default=[],
        help="for --kind category: one of the answers; repeatable")  # fmt: skip
    add("--where", metavar="FILTER", default="",
        help="the runs that are meant, such as 'outcome=wrong&uses=external' (default: all)",
    )  # fmt: skip
    add("--model", metavar="MODEL", default="",
        help="the model that reads the runs (default: the settings')")  # fmt: skip
    add("--base-url", metavar="URL", default="",
        help="URL of its endpoint; OPENAI_API_KEY is only sent to OPENAI_BASE_URL")  # fmt: skip
    add("--key-file", metavar="FILE", type=Path, help="a file with the key of this endpoint")
    add("--concurrency", metavar="N", type=int, default=4, help="requests at a time (default: 4)")
    add("--yes", action="store_true", help="start without asking; the estimate is printed")


def _run(options: argparse.Namespace) -> int:
    from agent.experiments.scan.command import run_command  # imports models

    return run_command(options, load())


SCAN = Command("eval scan", "ask a model a question about an evaluation's runs", _add_options, _run)
