"""The command ``eval verify``, which recomputes an export from its per-run rows."""

import argparse
from pathlib import Path

from agent.util.cli_types import Command
from agent.util.text import plural, sanitize


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", type=Path,
        help="the JSON of an export, its zip, its folder, or one of its files beside the JSON",
    )  # fmt: skip
    parser.add_argument(
        "--data", metavar="[SUITE=]PATH", action="append", default=[],
        help="say, too, whether this is the data that the tasks were read from: of all suites, or "
        "of one; repeatable",
    )  # fmt: skip


def run_command(options: argparse.Namespace) -> int:
    """Verify an export; return 0 if all its figures are recomputed, 1 with what differs."""
    from agent.experiments.publish.verify import (  # imports statistics
        MAX_DIFFERENCES,
        verify,
        verify_data,
    )

    checked, differences = verify(options.file)
    suites = list[str]()
    if options.data:
        suites, others = verify_data(options.file, _paths(options.data))
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


def _paths(texts: list[str]) -> dict[str, Path]:
    """Return paths by suite; one without a suite is under ""."""
    from agent.experiments.suites import NAMES

    pairs = (text.partition("=") for text in texts)
    return {
        name if equals and name in NAMES else "": Path(
            path if equals and name in NAMES else f"{name}{equals}{path}"
        )
        for name, equals, path in pairs
    }


VERIFY = Command(
    "eval verify", "recompute an export's figures from its runs", _add_options, run_command
)
