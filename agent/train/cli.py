"""Commands ``train`` and ``compare``; their dependencies are imported on use."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from agent.errors import TrainError
from agent.installation import pip_install
from agent.output_folder import check_file

_REQUIRED_PACKAGES = (
    "torch",
    "trl",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "gguf",
    "math_verify",
)


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    _add_train(commands)
    compare = commands.add_parser("compare", help="put trainings beside each other")
    compare.add_argument("groups", metavar="NAME=DIR,DIR", nargs="+",
                         help="trainings that differ in their seed alone")  # fmt: skip
    compare.add_argument("--picture", metavar="FILE", type=Path, help="their rewards, as a PNG")


def _add_train(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    train = commands.add_parser("train", help="train a model in the sandbox")
    add = train.add_argument
    add("recipe", metavar="RECIPE", help="builtin, cpu, gpu, paper, or a file of YAML like theirs")
    add("--output", metavar="DIR", type=Path,
         help="its folder; training-RECIPE by default")  # fmt: skip
    add("--resume", action="store_true", help="go on with what is in the folder")
    add("--seed", metavar="N", type=int, help="another one makes another training")
    add("--set", metavar="KEY=VALUE", action="append", default=[], dest="changes",
         help="a value instead of the recipe's, such as reinforced.steps=5")  # fmt: skip


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
    # The first Ctrl-C or TERM stops the active runs and keeps all results.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        carry_out(recipe, output, resume=args.resume)
    except KeyboardInterrupt:
        print(f"Stopped. --resume goes on with what is in {output}.", file=sys.stderr)
        return 130
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print a table of trainings, and plot their rewards on request."""
    check_installed()
    from agent.train.report import comparison

    if args.picture:
        check_file(args.picture)
    groups = comparison.parse_groups(args.groups)
    print(comparison.table(groups), end="")
    if args.picture:
        comparison.draw(groups, args.picture)
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
