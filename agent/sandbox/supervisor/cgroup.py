"""Statistics of the container's control group, where it is visible.

The first path of each pair is cgroup v2, the second v1.
"""

_PIDS_NOW = ("/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current")
_PIDS_MAX = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
_MEMORY_EVENTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_MEMORY_PEAK = ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")


def _read_first(paths: tuple[str, str]) -> str:
    for path in paths:
        try:
            with open(path) as file:  # noqa: PTH123
                return file.read()
        except OSError:
            continue
    return ""


def is_near_pids_limit() -> bool:
    """Return whether more than 90 % of the process limit is used."""
    now, maximum = _read_first(_PIDS_NOW).strip(), _read_first(_PIDS_MAX).strip()
    return now.isdigit() and maximum.isdigit() and int(now) > int(maximum) * 9 // 10


def oom_kill_count() -> int:
    """Return how many processes the kernel has killed because memory ran out."""
    for line in _read_first(_MEMORY_EVENTS).splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def peak_memory() -> str:
    """Return the peak memory use in bytes, as digits; empty if it is unknown."""
    return _read_first(_MEMORY_PEAK).strip()
