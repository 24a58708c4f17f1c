"""The command ``eval verify``, which recomputes an export from its per-run rows."""

import argparse
from pathlib import Path
from typing import Any

from agent.util.text import plural, sanitize

VERIFY = "eval verify"


def add_commands(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    parser = commands.add_parser(VERIFY, help="recompute an export's figures from its runs")
    parser.add_argument(
        "file", metavar="FILE", type=Path,
        help="the JSON of an export, its zip, its folder, or one of its files beside the JSON",
    )  # fmt: skip


def run_command(options: argparse.Namespace) -> int:
    """Verify an export; return 0 if all its figures are recomputed, 1 with a list of differences.

    Raises:
        UsageError: It is no export, or cannot be read.
    """
    from agent.experiments.publish.verify import MAX_DIFFERENCES, verify  # imports statistics

    checked, differences = verify(options.file)
    for line in differences[:MAX_DIFFERENCES]:
        print(sanitize(line))
    if len(differences) > MAX_DIFFERENCES:
        print(f"… and {len(differences) - MAX_DIFFERENCES:,} more")
    names = ", ".join(checked)
    if differences:
        print(f"{plural(len(differences), 'figure')} cannot be recomputed; checked: {names}")
        return 1
    print(f"All figures are those of the runs: {names}")
    return 0
