"""The commands ``compare`` and ``eval …``; what carries them out is imported on use."""

import argparse
from pathlib import Path

from agent.models.parameters import PARAMETERS
from agent.settings import load
from agent.util.cli_types import Command, positive_int
from agent.util.text import plural, sanitize

_MEMBER = "model=NAME,base-url=URL,max-steps=N,temperature=T,label=TEXT,key-file=FILE"
_JUDGE = (
    "model=NAME,base-url=URL,votes=N,temperature=T,max-tokens=N,prompt-file=FILE,right=WORD,"
    "wrong=WORD,key-file=FILE"
)
_BY_SUITE = "[SUITE=]N[,SUITE=N]"


def _add_compare(parser: argparse.ArgumentParser) -> None:
    from agent.grading.checks import OFFERED  # of this command only

    add = parser.add_argument
    add("task", metavar="TASK", help="the task for the models")
    add("--input", metavar="PATH", action="append", default=[], type=Path,
        help="a file or folder to copy into each run's input/; repeatable")  # fmt: skip
    _add_shared(
        parser, f"plain or sandbox, and settings such as {_MEMBER}; 2 to 12 of them, the first is "
        "the baseline (default: plain and sandbox)", "for --check judge",
    )  # fmt: skip
    add("--resume", action="store_const", const="",
        help="continue the comparison in --output; finished runs are not repeated")  # fmt: skip
    add("--expect", metavar="TEXT", default="", help="the right answer")
    add("--check", choices=OFFERED, default="exact", help="how answers are compared with it")
    add("--tolerance", metavar="X", type=float, default=0.0,
        help="for --check number: the largest difference that is right")  # fmt: skip
    add("--relative", metavar="X", type=float, default=0.0,
        help="for --check number: the same as a share of the right number")  # fmt: skip
    parser.set_defaults(ray="", concurrency=4, k=None)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("suites", metavar="SUITE[,SUITE]", nargs="?", default="",
        help="one or several of aime, ugphysics, chembench, medxpertqa, aa_lcr, ifbench",
    )  # fmt: skip
    add("--data", metavar="[SUITE=]PATH", action="append", default=[],
        help="the authors' data, a file or folder: of all suites, or of one; repeatable (default: "
        "the small samples that come with this program)")  # fmt: skip
    add("--extraction", metavar="RULE", action="append", default=[],
        help="how final answers are found: lenient (default), or reference, as the paper's reward "
        "does; or SUITE=RULE, repeatable")  # fmt: skip
    add("--preset", choices=("paper",), default="",
        help="the paper's prompts, limits, repetitions, temperatures, extraction and judge; each "
        "can be overridden")  # fmt: skip
    add("--limit", metavar=_BY_SUITE, default="",
        help="tasks of each suite at most, evenly from its groups (default: all)")  # fmt: skip
    _add_shared(
        parser, f"settings such as {_MEMBER}; without the word plain or sandbox it stands for both "
        "modes; repeatable (default: the settings' model, else the built-in one)",
        "for suites that need one (4 votes by default)", by_suite=True,
    )  # fmt: skip
    group = parser.add_argument_group(
        "parameters of the requests of members that set none of their own; SUITE=VALUE for one "
        "suite, repeatable"
    )
    for each in PARAMETERS:
        group.add_argument(f"--{each.option}", metavar=each.metavar, action="append", default=[],
                           help=each.help)  # fmt: skip
    add("--resume", metavar="ID", nargs="?", const="", default=None,
        help="continue the evaluation in --output, or the one with this id; runs that have ended "
        "are not repeated")  # fmt: skip
    add("--extend", action="store_true",
        help="with --resume: add the --member and the tasks (--limit, --data, suites) that it has "
        "not; only what is new is run")  # fmt: skip
    add("--k", metavar="K", type=positive_int,
        help="the k of pass@k and pass^k (default: the repetitions that every task has)",
    )  # fmt: skip
    add("--retry-infrastructure", action="store_true",
        help="with --resume: repeat the runs that failed by an infrastructure error, too",
    )  # fmt: skip
    add("--yes", action="store_true",
        help="start without asking; the checks and the estimate are printed all the same",
    )  # fmt: skip
    add("--ray", metavar="ADDRESS", default="",
        help="carry out the runs on the nodes of a Ray cluster: its address, or local for one on "
        "this machine")  # fmt: skip


def _add_merge(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("evaluations", metavar="EVALUATION", nargs="+",
        help="ids of evaluations, or the folders of their results (--output)")  # fmt: skip
    add("-o", "--output", metavar="DIR", type=Path,
        help="folder for the table, the figure and the report")  # fmt: skip
    add("--title", metavar="TEXT", default="", help="a title for the page's list")


def _add_shared(
    parser: argparse.ArgumentParser, member: str, judge: str, *, by_suite: bool = False
) -> None:
    add = parser.add_argument
    add("--member", metavar="MEMBER", action="append", default=[], dest="members", help=member)
    if by_suite:
        add("--repeat", metavar=_BY_SUITE, default="",
            help="how often each member does each task (default: 1)")  # fmt: skip
    else:
        add("--repeat", metavar="N", type=positive_int,
            help="how often each member does the task (default: 1)")  # fmt: skip
    add("--concurrency", metavar="N", type=positive_int,
        help="runs at a time (default: 4); the built-in model does one at a time")  # fmt: skip
    add("--output", metavar="DIR", type=Path,
        help="folder for the table, the figure and the report")  # fmt: skip
    add("--judge", metavar="MODEL", default="", help=f"{judge}: {_JUDGE}")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", type=Path,
        help="the JSON of an export, its zip, its folder, or one of its files beside the JSON",
    )  # fmt: skip
    add("--data", metavar="[SUITE=]PATH", action="append", default=[],
        help="say, too, whether this is the data that the tasks were read from: of all suites, or "
        "of one; repeatable")  # fmt: skip


def _add_scan(parser: argparse.ArgumentParser) -> None:
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
    from agent.cli import experiments  # imports Docker's client

    return experiments.run_command(options, load())


def _scan(options: argparse.Namespace) -> int:
    from agent.cli import scan  # imports models

    return scan.run_command(options, load())


def _verify(options: argparse.Namespace) -> int:
    """Verify an export; return 0 if every figure is confirmed, or 1 after printing differences."""
    from agent.experiments.publish.verify import (  # imports statistics
        MAX_DIFFERENCES,
        verify,
        verify_data,
    )
    from agent.experiments.suites import paths_by_suite

    checked, differences = verify(options.file)
    suites = list[str]()
    if options.data:
        suites, others = verify_data(options.file, paths_by_suite(options.data))
        differences += others
    for line in differences[:MAX_DIFFERENCES]:
        print(sanitize(line))
    if len(differences) > MAX_DIFFERENCES:
        print(f"… and {len(differences) - MAX_DIFFERENCES:,} more")
    names = ", ".join(checked + [f"data of {suite}" for suite in suites])
    if differences:
        print(f"{plural(len(differences), 'difference')}; checked: {names}")
        return 1
    print(f"All figures are those of the runs: {names}")
    return 0


def _merge(options: argparse.Namespace) -> int:
    from agent.cli import experiments  # imports Docker's client

    return experiments.merge(options, load())


COMMANDS = (
    Command("compare", "compare models, modes and settings on one task", _add_compare, _run),
    Command("eval", "evaluate models on suites of tasks with known answers", _add_eval, _run),
    Command("eval merge", "make one table of the runs of several evaluations", _add_merge, _merge),
    Command("eval verify", "recompute an export's figures from its runs", _add_verify, _verify),
    Command("eval scan", "ask a model a question about an evaluation's runs", _add_scan, _scan),
)
