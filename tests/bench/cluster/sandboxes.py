"""Commands in a sandbox on a node of a Ray cluster, beside the same in a sandbox here."""

from collections.abc import Mapping

from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Sample, Table, format_duration
from tests.support.cluster.nodes import ray_nodes


def table(context: BenchContext, *, count: int = 30) -> Table:
    result = Table(
        "Sandboxes on a cluster",
        ("a command, median", "on a node", "here"),
        notes=[
            "A command counts until its output and all files that it has written have arrived in "
            "this process. The node is on this machine: a network's time comes on top."
        ],
    )
    print_progress("sandboxes on a cluster")
    folder = context.folder / "placed-sandboxes"
    folder.mkdir()
    with ray_nodes(folder, 1, 2) as nodes:
        placed = _measure(context, "placed-sandbox", nodes.environment, nodes.address, count)
    here = _measure(context, "sandbox-here", {}, "", count)
    for name in placed:
        samples = (Sample(each[name]) for each in (placed, here))
        result.add(name, *(format_duration(each.median) for each in samples))
    return result


def _measure(
    context: BenchContext, name: str, environment: Mapping[str, str], address: str, count: int
) -> dict[str, list[float]]:
    variables = context.environment(name, **environment)
    known: dict[str, list[float]] = context.run_module(
        "tests.bench.cluster.sandbox_program", address, str(count), environment=variables
    )
    return known
