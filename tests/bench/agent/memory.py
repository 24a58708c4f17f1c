"""Memory of an idle sandbox: in the application, its container and the engine."""

import gc
import itertools
import statistics
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.provisioning.provider import DockerSandboxProvider
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.util.cancellation import Stop
from tests.bench.context import TASK, BenchContext
from tests.bench.tables import Table, format_megabytes
from tests.support.models.scripted import SUBMIT, bash


def table(context: BenchContext, *, count: int = 6) -> Table:
    """Measure the memory that each run adds after a first run as warm-up."""
    result = Table("What an idle sandbox takes", ("where", "median", "smallest … largest", "n"))
    with context.provider("memory") as provider, ExitStack() as stack:
        sizes = [_memory_after_another_run(context, provider, stack) for _ in range(count + 1)]
        growth = [float(after - before) for before, after in itertools.pairwise(sizes)]
        containers = _container_memory(context, provider)
        result.add(
            "application: a run at rest with its sandbox, watch and journal", *_cells(growth)
        )
        result.add("container: supervisor, shell and init (`docker stats`)", *_cells(containers))
        result.add(
            "engine: its process for the container", *_cells(_shim_memory(context, provider))
        )
    result.notes.append(
        "Application: private memory of the process. A container may use up to its limit (2 GB)."
    )
    return result


def private_memory(process: int | str = "self") -> int:
    """Return the private memory of a process in bytes."""
    return sum(_rollup(Path(f"/proc/{process}"), "Private_"))


def _memory_after_another_run(
    context: BenchContext, provider: DockerSandboxProvider, stack: ExitStack
) -> int:
    """Return this process's memory after one more run has ended and kept its sandbox."""
    run = stack.enter_context(context.run(provider))
    for _ in run.start(TASK, ScriptedModel([bash("true"), SUBMIT]), Limits(), Stop()):
        continue
    gc.collect()
    return private_memory()


def _container_memory(context: BenchContext, provider: DockerSandboxProvider) -> list[float]:
    return [memory_of(context, each) for each in _container_ids(context, provider)]


def memory_of(context: BenchContext, container: str) -> float:
    """Return the memory of a container in bytes, without its file cache."""
    memory = context.client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
    stats = memory.get("stats", {})
    cache = stats.get("total_inactive_file", stats.get("inactive_file", 0))
    return float(memory["usage"] - cache)


def _container_ids(context: BenchContext, provider: DockerSandboxProvider) -> list[str]:
    label = f"{INSTANCE_LABEL}={provider.data.instance_id}"
    return [str(c["Id"]) for c in context.client.api.containers(filters={"label": label})]


def _shim_memory(context: BenchContext, provider: DockerSandboxProvider) -> list[float]:
    return shim_memory(_container_ids(context, provider))


def shim_memory(containers: Iterable[str]) -> list[float]:
    """Return the proportional set size of each shim process, one per container."""
    ids = {container.encode() for container in containers}
    sizes = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"shim" in words[0] and ids.intersection(words):
                sizes.append(float(sum(_rollup(process, "Pss:"))))
    return sizes


def _rollup(process: Path, prefix: str) -> Iterator[int]:
    for line in (process / "smaps_rollup").read_text().splitlines():
        if line.startswith(prefix):
            yield int(line.split()[1]) * 1024


def _cells(sizes: Iterable[float]) -> tuple[str, str, str]:
    ranked = sorted(sizes)
    if not ranked:
        return "not measurable here", "", "0"
    spread = f"{format_megabytes(ranked[0])} … {format_megabytes(ranked[-1])}"
    return format_megabytes(statistics.median(ranked)), spread, str(len(ranked))
