"""Runs placed on the nodes of a Ray cluster, beside the same runs without Ray."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Sample, Table, format_duration
from tests.support.cluster.nodes import ray_nodes


@dataclass(frozen=True)
class _Measured:
    """How long an evaluation and each of its runs took."""

    seconds: float
    runs: Sample


def table(
    context: BenchContext,
    *,
    count: int = 48,
    workers: Sequence[int] = (1, 2, 4),
    sandboxes: int = 2,
) -> Table:
    result = Table(
        "Cluster",
        (
            "three steps, one container each", "per minute", "without Ray", "a run, median",
            "without Ray",
        ),
        notes=[
            "The scripted model answers at once. The nodes are Ray nodes of this machine, each "
            "with a process, a data folder and containers of its own. They share its processors: "
            "more workers show what placement costs, not what further machines add. A run is "
            "measured from its creation to its score; the difference at one at a time is what "
            "placement adds to a run: the order to the node, and its record, files and versions "
            "back. Connecting and starting the nodes' processes is not in it."
        ],
    )  # fmt: skip
    _add(result, context, "1 worker, 1 at once", count, 1, 1)
    for number in workers:
        name = f"{number} workers, {number * sandboxes} at once".replace("1 workers", "1 worker")
        _add(result, context, name, count, number, sandboxes)
    return result


def _add(
    result: Table, context: BenchContext, name: str, count: int, workers: int, sandboxes: int
) -> None:
    print_progress(f"cluster: {name}")
    folder, at_once = context.folder / f"cluster-{workers}-{sandboxes}", workers * sandboxes
    folder.mkdir()
    with ray_nodes(folder, workers, sandboxes) as nodes:
        placed = _evaluate(context, f"placed-{at_once}", nodes.environment, nodes.address, count,
                           at_once)  # fmt: skip
    here = _evaluate(context, f"here-{at_once}", {}, "", count, at_once)
    rates = (f"{count / each.seconds * 60:.0f}" for each in (placed, here))
    times = (format_duration(each.runs.median) for each in (placed, here))
    result.add(name, *rates, *times)


def _evaluate(
    context: BenchContext,
    name: str,
    environment: Mapping[str, str],
    address: str,
    count: int,
    at_once: int,
) -> _Measured:
    variables = context.environment(name, **environment, STUDIO_WARM_SANDBOXES="0")
    arguments = (address, str(count), str(at_once))
    known = context.run_module("tests.bench.cluster.program", *arguments, environment=variables)
    return _Measured(known["seconds"], Sample(known["runs"]))
