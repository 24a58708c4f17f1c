"""A container seen from the host: its control group (cgroup v1 or v2), its deleted open files."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_BLOCK = 512
_DELETED_SUFFIX = " (deleted)"


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


def deleted_size(processes: Iterable[int], folders: Iterable[Path]) -> int:
    """Return the bytes of deleted files that processes hold open or mapped; needs root."""
    devices = {folder.stat().st_dev for folder in folders}
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        with suppress(OSError):  # it has exited, or may not be inspected
            root = Path(f"/proc/{process}/root").stat().st_dev
            for info in _open_files(Path(f"/proc/{process}")):
                if info.st_nlink == 0 and info.st_dev in (root, *devices):
                    sizes[info.st_dev, info.st_ino] = info.st_blocks * _BLOCK
    return sum(sizes.values())


def _open_files(process: Path) -> Iterator[os.stat_result]:
    """Yield the state of each regular file that a process has open or mapped."""
    for handle in _proc_paths(process):
        with suppress(OSError):  # already closed
            info = handle.stat()  # follows the /proc link to the open file, not a path name
            if stat.S_ISREG(info.st_mode):
                yield info


def _proc_paths(process: Path) -> Iterator[Path]:
    """Yield the paths in /proc of the files that a process holds."""
    with suppress(OSError):
        yield from (process / "fd").iterdir()
    with suppress(OSError), (process / "maps").open(errors="surrogateescape") as maps:
        for line in maps:
            if line.rstrip("\n").endswith(_DELETED_SUFFIX):
                start, end = (int(each, 16) for each in line.split(" ", 1)[0].split("-"))
                yield process / "map_files" / f"{start:x}-{end:x}"
