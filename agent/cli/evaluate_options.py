"""The options of the command ``eval``; what carries it out is imported on use."""

import argparse
from pathlib import Path

from agent.util.cli_types import positive_int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    add = parser.add_argument
    add("suites", metavar="SUITE[,SUITE]", nargs="?", default="",
        help="one or several of aime, ugphysics, chembench, medxpertqa, aa_lcr, ifbench",
    )  # fmt: skip
    add("--data", metavar="[SUITE=]PATH", action="append", default=[],
        help="the authors' data of a suite, a file or folder; repeatable (default: the small "
        "samples that come with this program)")  # fmt: skip
    add("--extraction", metavar="RULE", action="append", default=[],
        help="how final answers are found: lenient (default), or reference, as the paper's reward "
        "does; or SUITE=RULE, repeatable")  # fmt: skip
    add("--limit", metavar="N", type=positive_int,
        help="tasks of each suite at most, evenly from its groups (default: all)")  # fmt: skip
    add("--member", metavar="MEMBER", action="append", default=[], dest="members",
        help="settings such as model=NAME,base-url=URL,max-steps=N,temperature=T,label=TEXT,"
        "key-file=FILE; without the word plain or sandbox it stands for both modes; repeatable "
        "(default: the settings' model, else the built-in one)")  # fmt: skip
    add("--repeat", metavar="K", type=positive_int,
        help="how often each member does each task (default: 1)")  # fmt: skip
    add("--concurrency", metavar="N", type=positive_int,
        help="runs at a time (default: 4); the built-in model does one at a time")  # fmt: skip
    add("--judge", metavar="MODEL", default="",
        help="for suites that need one: model=NAME,base-url=URL,votes=N,prompt-file=FILE,"
        "key-file=FILE (4 votes by default)")  # fmt: skip
    add("--output", metavar="DIR", type=Path,
        help="folder for the results: CSV, JSON, LaTeX and the figure")  # fmt: skip
    add("--resume", metavar="ID", nargs="?", const="", default=None,
        help="continue the evaluation in --output, or the one with this id; runs that have ended "
        "are not repeated")  # fmt: skip
    add("--retry-infrastructure", action="store_true",
        help="with --resume: repeat the runs that failed by an infrastructure error, too",
    )  # fmt: skip
    add("--ray", metavar="ADDRESS", default="",
        help="carry out the runs on the nodes of a Ray cluster: its address, or local for one on "
        "this machine")  # fmt: skip
