"""What a sandbox takes of a machine: memory and disk, idle and busy."""

import gc
import os
import statistics
import threading
from contextlib import ExitStack

from agent.events import SandboxReady
from agent.limits import Limits
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.disk_usage import bytes_on_disk, sandbox_bytes_on_disk
from agent.runs.folder import RunFolder
from agent.sandbox.docker.lifecycle import SANDBOX_LABEL
from agent.util.stop import Stop
from tests.bench.agent.memory import memory_of, private_memory, shim_memory
from tests.bench.context import TASK, BenchContext, print_progress
from tests.bench.tables import Table, format_megabytes
from tests.support.models.scripted import SUBMIT, ScriptedModel, bash

_SAMPLE_SECONDS = 0.05
_BUSY = (
    "seq 1 20000 | shuf > output/numbers.txt; sort -n output/numbers.txt > output/sorted.txt",
    """python3 -c 'import numpy, pandas
table = pandas.DataFrame(numpy.random.rand(200_000, 10)).round(3)
table.head(50_000).to_csv("output/table.csv")
print(table.describe())'""",
    """python3 -c 'import matplotlib.pyplot as plot
plot.plot(range(1000))
plot.savefig("output/chart.png")'""",
)
"""Numbers are sorted, a table is computed and written in part, and a chart is drawn."""


def table(context: BenchContext, *, count: int = 3) -> Table:
    result = Table(
        "What a sandbox takes of a machine",
        (
            "run", "application", "container at rest", "container, peak", "engine's process",
            "workspace's disk", "container's layer", "run folder",
        ),
        notes=[
            "Medians. Idle: one command `true`. Busy: numbers are sorted, a pandas table of "
            "200,000 rows is computed and 50,000 of them are written, and a chart is drawn. "
            "Application: by how much the process's private memory grows for a run that has ended "
            "and keeps its sandbox; the first run is a warm-up. Container: as in `docker stats`, "
            "without the file cache; the peak is the largest of samples every 50 ms. Engine: its "
            "process for the container. Disk: blocks of the sandbox's own file system, and what "
            "the container wrote elsewhere."
        ],
    )  # fmt: skip
    for name, commands in (("idle", ("true",)), ("busy", _BUSY)):
        print_progress(f"sizing: {name}")
        with context.provider(f"sizing-{name}") as provider, ExitStack() as kept:
            measured = [_measure(context, provider, commands, kept) for _ in range(count + 1)][1:]
        medians = (statistics.median(column) for column in zip(*measured, strict=True))
        result.add(name, *map(format_megabytes, medians))
    return result


def _measure(
    context: BenchContext,
    provider: DockerSandboxProvider,
    commands: tuple[str, ...],
    kept: ExitStack,
) -> tuple[float, ...]:
    """Return the bytes that a run takes, in the order of the table's columns."""
    before = private_memory()
    run = kept.enter_context(context.run(provider))
    turns = [*map(bash, commands), SUBMIT]
    peak = _Peak(context)
    for event in run.start(TASK, ScriptedModel(turns), Limits(), Stop()):
        if isinstance(event, SandboxReady):
            label = f"{SANDBOX_LABEL}={event.sandbox}"
            (found,) = context.client.api.containers(filters={"label": [label]})
            peak.begin(container := found["Id"])
    peak.end()
    gc.collect()
    growth, rest = float(private_memory() - before), memory_of(context, container)
    folder = RunFolder.open(provider.data.path, run.state.run)
    os.sync()  # blocks are taken when files are written back
    (listed,) = context.client.api.containers(size=True, filters={"id": container})
    return (
        growth, rest, max(rest, *peak.samples), *shim_memory([container]),
        sandbox_bytes_on_disk(folder.sandbox_folder), listed.get("SizeRw", 0),
        bytes_on_disk(folder.path),
    )  # fmt: skip


class _Peak:
    """Samples the memory of a container, in bytes, in a thread of its own."""

    def __init__(self, context: BenchContext) -> None:
        self.samples = [0.0]
        self._context = context
        self._over = threading.Event()
        self._thread = threading.Thread()

    def begin(self, container: str) -> None:
        self._thread = threading.Thread(target=self._sample, args=(container,))
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self, container: str) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            self.samples.append(memory_of(self._context, container))
