"""What an idle sandbox takes: in the application, in its container, in the engine."""

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
from tests.bench.context import SUBMIT, TASK, BenchContext, bash
from tests.bench.tables import Table, format_megabytes


def table(context: BenchContext, *, count: int = 6) -> Table:
    """The first run warms the process up; what each further one adds is counted."""
    made = Table("What an idle sandbox takes", ("where", "median", "smallest … largest", "n"))
    with context.provider("memory") as computers, ExitStack() as stack:
        sizes = [_memory_after_another_run(context, computers, stack) for _ in range(count + 1)]
        grown = [float(after - before) for before, after in itertools.pairwise(sizes)]
        containers = _container_memory(context, computers)
        made.add("application: a run at rest with its sandbox, watch and journal", *_cells(grown))
        made.add("container: supervisor, shell and init (`docker stats`)", *_cells(containers))
        made.add("engine: its process for the container", *_cells(_shim_memory(context, computers)))
    made.notes.append(
        "Application: private memory of the process. A container may use up to its limit (2 GB)."
    )
    return made


def private_memory(process: int | str = "self") -> int:
    """Bytes of memory that are this process's alone."""
    return sum(_rollup(Path(f"/proc/{process}"), "Private_"))


def _memory_after_another_run(
    context: BenchContext, computers: DockerSandboxProvider, stack: ExitStack
) -> int:
    """This process's memory with a further run that has come to its end and keeps its sandbox."""
    run = stack.enter_context(context.run(computers))
    for _ in run.start(TASK, ScriptedModel([bash("true"), SUBMIT]), Limits(), Stop()):
        continue
    gc.collect()
    return private_memory()


def _container_memory(context: BenchContext, computers: DockerSandboxProvider) -> list[float]:
    used = []
    for container in _ids(context, computers):
        memory = context.client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
        known = memory.get("stats", {})
        cache = known.get("total_inactive_file", known.get("inactive_file", 0))
        used.append(float(memory["usage"] - cache))
    return used


def _ids(context: BenchContext, computers: DockerSandboxProvider) -> list[str]:
    label = f"{INSTANCE_LABEL}={computers.data.instance_id}"
    return [str(c["Id"]) for c in context.client.api.containers(filters={"label": label})]


def _shim_memory(context: BenchContext, computers: DockerSandboxProvider) -> list[float]:
    """The proportional share of memory of each process that the engine keeps for a container."""
    ids = {ident.encode() for ident in _ids(context, computers)}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"shim" in words[0] and ids.intersection(words):
                found.append(float(sum(_rollup(process, "Pss:"))))
    return found


def _rollup(process: Path, what: str) -> Iterator[int]:
    for line in (process / "smaps_rollup").read_text().splitlines():
        if line.startswith(what):
            yield int(line.split()[1]) * 1024


def _cells(sizes: Iterable[float]) -> tuple[str, str, str]:
    ranked = sorted(sizes)
    if not ranked:
        return "cannot be seen here", "", "0"
    spread = f"{format_megabytes(ranked[0])} … {format_megabytes(ranked[-1])}"
    return format_megabytes(statistics.median(ranked)), spread, str(len(ranked))
