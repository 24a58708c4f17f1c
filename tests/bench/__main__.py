"""``python -m tests.bench [TABLE …]``: the tables as Markdown on stdout, progress on stderr."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec

from tests.bench import machine
from tests.bench.agent import (
    builtin,
    comparisons,
    manifests,
    reference,
    requests,
    rollouts,
    run_latency,
    shell,
    steps,
)
from tests.bench.cluster import placement, sandboxes, sizing
from tests.bench.context import bench_context, print_progress
from tests.bench.growth import table as growth
from tests.bench.models import caching
from tests.bench.page import comparison, opening, reading, reports, scrubbing, streaming, tree
from tests.bench.server import (
    bodies,
    history,
    idle,
    imports,
    load,
    neighbours,
    startup,
    transfers,
)
from tests.bench.tables import Table
from tests.support.browser.chromium import CHROMIUM

TABLES: dict[str, partial[Table]] = {
    "sizing": partial(sizing.table, count=1),
    "steps": partial(steps.table, short=3, long=6, rounds=2),
    "requests": partial(requests.table, lengths=(2, 5), times=2),
    "caching": partial(caching.table, steps=12),
    "reference": partial(reference.table, short=2, long=3, rounds=1),
    "first-command": partial(run_latency.table, times=2),
    "cold": partial(run_latency.cold_table, times=2, burst=3),
    "shell": partial(shell.table, times=8, execs=4),
    "manifests": partial(manifests.table, counts=(10, 700), times=3),
    "startup": partial(startup.table, times=1),
    "idle": partial(idle.table, seconds=1),
    "page": partial(streaming.table, lengths=(2, 5), gradio_lengths=(2, 4), window=2),
    "comparison": partial(comparison.table, lengths=(3,), window=2),
    "opening": partial(opening.table, times=1, gradio_times=1, lengths=(3,), cold=1),
    "reading": partial(reading.table, tasks=20, times=3),
    "reports": partial(reports.table, lengths=(2, 5), times=1, moves=2),
    "tree": partial(tree.table, counts=(3, 1200), times=2, paints=1),
    "scrubbing": partial(scrubbing.table, steps=6, files=60, moves=3),
    "transfers": partial(transfers.table, size=4 * 1024**2, times=1),
    "imports": partial(imports.table, counts=(20, 200), times=1),
    "load": partial(load.table, run_counts=(2,), steps=3, idle_sandboxes=2, followers=3),
    "neighbours": partial(neighbours.table, neighbours=2, connections=200, times=3),
    "bodies": partial(bodies.table, steps=2, clients=2),
    "history": partial(history.table, count=60, times=2),
    "growth": partial(growth.table, sizes=dict.fromkeys(growth.SUBJECTS, (20, 40))),
    "comparisons": partial(comparisons.table, sizes=((1, 3), (2, 3)), times=1),
    "rollouts": partial(rollouts.table, count=2, concurrency=(1, 2)),
    "evaluations": partial(rollouts.evaluations_table, count=2, concurrency=(2,)),
    "cluster": partial(placement.table, count=2, workers=(1,)),
    "placed-sandboxes": partial(sandboxes.table, count=2),
    "builtin": partial(builtin.table, trials=1, only=("outside",)),
}
"""Each table with tiny numbers; without them its function measures it as it is reported."""

BROWSER_TABLES = {
    "growth", "idle", "page", "comparison", "opening", "reading", "reports", "tree", "scrubbing",
}  # fmt: skip
RAY_TABLES = {"cluster", "placed-sandboxes"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    parser.add_argument(
        "--quick", action="store_true", help="tiny numbers, only to check that it works"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.tables) - TABLES.keys():
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not options.quick:
        os.environ["FULL_CHROMIUM"] = "1"  # as users have it
    start_time = time.monotonic()
    try:
        with bench_context() as context:
            print(machine.heading(context.client), flush=True)
            for name in options.tables or TABLES:
                if name in BROWSER_TABLES and not CHROMIUM.exists():
                    print_progress(f"{name} skipped: {CHROMIUM} is not installed")
                    continue
                if name in RAY_TABLES and find_spec("ray") is None:
                    print_progress(f"{name} skipped: Ray is not installed (make .make/ray)")
                    continue
                print_progress(name)
                measure = TABLES[name] if options.quick else TABLES[name].func
                table = measure(context)
                table.notes.append(f"Load of the machine: {machine.load()}.")
                print(table.markdown(), flush=True)
    except KeyboardInterrupt:
        return 130
    print_progress(f"done in {time.monotonic() - start_time:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
