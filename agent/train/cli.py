"""Commands ``train`` and ``train report``; their dependencies are imported on use."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from agent.errors import TrainError
from agent.installation import pip_install
from agent.output_folder import check_file
from agent.util.cli_types import Command
from agent.util.signals import interrupt_once

_REQUIRED_PACKAGES = (
    "torch",
    "trl",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "gguf",
    "math_verify",
    "matplotlib",
)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("groups", metavar="NAME=DIR,DIR", nargs="+",
                        help="training folders that differ only in their seed")  # fmt: skip
    parser.add_argument(
        "--chart", metavar="FILE", type=Path, help="write a chart of the rewards (PNG, SVG, PDF)"
    )


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recipe", metavar="RECIPE", help="builtin, cpu, gpu, paper, or a YAML file")
    add("--output", metavar="DIR", type=Path,
         help="folder for the results (default: training-RECIPE)")  # fmt: skip
    add("--resume", action="store_true", help="continue from the last checkpoint in the folder")
    add("--ray", metavar="ADDRESS", default="",
         help="create the sandboxes on a Ray cluster's nodes; local starts one here")  # fmt: skip
    add("--seed", metavar="N", type=int, help="replace the recipe's seed")
    add("--set", metavar="KEY=VALUE", action="append", default=[], dest="changes",
         help="replace a value of the recipe, such as reinforced.steps=5; repeatable")  # fmt: skip


def train(args: argparse.Namespace) -> int:
    """Run a training; return 0, or 130 if it was stopped and its state is saved."""
    from agent.train.recipe import load_recipe

    changes = parse_changes(args.changes)
    if args.seed is not None:
        changes = {**changes, "seed": str(args.seed)}
    recipe = load_recipe(args.recipe, changes)
    check_installed()
    from agent.train.pipeline import train as carry_out

    output = args.output or Path(f"training-{Path(args.recipe).stem}")
    interrupt_once()  # stops the active runs and keeps all results
    try:
        carry_out(recipe, output, resume=args.resume, ray=args.ray)
    except KeyboardInterrupt:
        print(f"Stopped. Continue with --resume; the checkpoints are in {output}.", file=sys.stderr)
        return 130
    return 0


def report(args: argparse.Namespace) -> int:
    """Print a table of trainings, and plot their rewards on request."""
    check_installed()
    from agent.train.report import comparison

    if args.chart:
        check_file(args.chart)
    groups = comparison.parse_groups(args.groups)
    print(comparison.table(groups), end="")
    if args.chart:
        comparison.draw(groups, args.chart)
    return 0


def parse_changes(pairs: Sequence[str]) -> Mapping[str, str]:
    """Parse ``KEY=VALUE`` pairs. Raises ``TrainError`` if one is malformed."""
    for pair in pairs:
        if not pair.partition("=")[1]:
            raise TrainError(f"--set {pair}: must be KEY=VALUE, such as reinforced.steps=5.")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def check_installed() -> None:
    """Raise ``TrainError``, with installation instructions, if packages are missing."""
    missing = [name for name in _REQUIRED_PACKAGES if not find_spec(name)]
    if missing:
        raise TrainError(
            f"Training needs {', '.join(missing)}: {pip_install('requirements-train.txt')}"
        )


COMMANDS = (
    Command("train", "train a model in the sandbox", _add_train, train),
    Command("train report", "compare the results of trainings", _add_report, report),
)
