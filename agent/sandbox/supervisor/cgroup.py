"""Statistics of the container's control group; paths are those of v2, then v1."""

# pathlib would double the start-up time.

import os
from functools import cache

_PIDS_NOW = ("/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current")
_PIDS_MAX = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
_MEMORY_EVENTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_CPU = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpuacct/cpuacct.usage")
_MEMORY_PEAK = ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")


def is_near_pids_limit() -> bool:
    """Return whether more than 90 % of the process limit is used."""
    now, maximum = _read(_PIDS_NOW).strip(), _read(_PIDS_MAX).strip()
    return now.isdigit() and maximum.isdigit() and int(now) > int(maximum) * 9 // 10


def oom_kill_count() -> int:
    """Return how many processes the kernel has killed because memory ran out."""
    for line in _read(_MEMORY_EVENTS).splitlines():
        name, _, count = line.partition(b" ")
        if name == b"oom_kill":
            return int(count)
    return 0


def peak_memory() -> int:
    """Return the peak memory use in bytes; negative if it is unknown."""
    digits = _read(_MEMORY_PEAK).strip()
    return int(digits) if digits.isdigit() else -1


def cpu_seconds() -> float:
    """Return the CPU time used so far, in seconds; negative if it is unknown."""
    text = _read(_CPU)
    if text.strip().isdigit():
        return int(text) / 1e9
    for line in text.splitlines():
        name, _, count = line.partition(b" ")
        if name == b"usage_usec" and count.isdigit():
            return int(count) / 1e6
    return -1.0


@cache
def _existing(paths: tuple[str, str]) -> str:
    return next(filter(os.path.exists, paths), "")


def _read(paths: tuple[str, str]) -> bytes:
    """Return the beginning of the file that exists, in a tenth of the time of ``open``."""
    try:
        descriptor = os.open(_existing(paths), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
