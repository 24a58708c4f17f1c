"""The options of the command ``compare``; what carries it out is imported on use."""

import argparse
from pathlib import Path

from agent.grading.checks import OFFERED


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    add = parser.add_argument
    add("task", metavar="TASK", help="the task for the models")
    add("--input", metavar="PATH", action="append", default=[], type=Path,
        help="a file or folder to copy into each run's input/; repeatable")  # fmt: skip
    add("--member", metavar="MEMBER", action="append", default=[], dest="members",
        help="plain or sandbox, and settings such as model=NAME,base-url=URL,max-steps=N,"
        "temperature=T,prompt=NAME,label=TEXT,key-file=FILE; 2 to 12 of them, the first is the "
        "baseline (default: plain and sandbox)")  # fmt: skip
    add("--repeat", metavar="N", type=int, default=1, help="how often each member does the task")
    add("--concurrency", metavar="N", type=int, default=4,
        help="runs at a time; the built-in model does one at a time")  # fmt: skip
    add("--output", metavar="DIR", type=Path,
        help="folder for the table, the chart and the runs' results")  # fmt: skip
    add("--resume", action="store_true",
        help="continue the comparison in that folder; finished runs are not repeated")  # fmt: skip
    add("--expect", metavar="TEXT", default="", help="the right answer")
    add("--check", choices=OFFERED, default="exact", help="how answers are compared with it")
    add("--tolerance", metavar="X", type=float, default=0.0,
        help="for --check number: the largest difference that is right")  # fmt: skip
    add("--relative", metavar="X", type=float, default=0.0,
        help="for --check number: the same as a share of the right number")  # fmt: skip
    add("--judge", metavar="MODEL", default="",
        help="for --check judge: model=NAME,base-url=URL,votes=N,prompt-file=FILE,key-file=FILE",
    )  # fmt: skip
