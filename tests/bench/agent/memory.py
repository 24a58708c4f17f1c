"""Memory of processes and containers."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.bench.context import BenchContext


def private_memory(process: int | str = "self") -> int:
    """Return the private memory of a process in bytes."""
    return sum(_rollup(Path(f"/proc/{process}"), "Private_"))


def memory_of(context: BenchContext, container: str) -> float:
    """Return the memory of a container in bytes, without its file cache."""
    memory = context.client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
    stats = memory.get("stats", {})
    cache = stats.get("total_inactive_file", stats.get("inactive_file", 0))
    return float(memory["usage"] - cache)


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
