"""The control group of a process, seen from the host (cgroup v1 or v2)."""

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def find_cgroup(process: int, controller: str) -> tuple[Path, int]:
    """Return the folder of a process's control group, and the hierarchy's version."""
    groups: dict[str, str] = {}
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path.lstrip("/"))
    if controller in groups:
        return _ROOT / controller / groups[controller], 1
    return _ROOT / groups[""], 2


def list_processes(group: Path) -> list[int]:
    """Return the ids of the processes in a control group; empty if it is gone."""
    try:
        found = (group / "cgroup.procs").read_text().split()
    except OSError:
        return []
    return [process for process in map(int, found) if process > 0]  # 0: in another namespace
