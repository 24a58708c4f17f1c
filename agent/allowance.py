"""What people may use at once and what is kept: as the settings say, or as fits this machine."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.settings import Settings

_RUNS_PER_CPU = 4  # a run mostly waits for its model
_RUN_MEMORY = 1024**3
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits in all and for each person; bytes are on the data folder's disk.

    Attributes:
        runs: Runs at work at once.
        runs_each: Those of one person; the operator may use all.
        sandboxes: Sandboxes that run at once, at work or idle.
        keep: Bytes that all runs together may take before the oldest go; None without limit.
        keep_each: Bytes that one person's runs may take before they begin no more.
        keep_days: How long a run is kept; None for ever.
    """

    runs: int
    runs_each: int
    sandboxes: int
    keep: int | None
    keep_each: int | None
    keep_days: float | None


def allowance(settings: Settings) -> Allowance:
    """The limits that hold on this machine."""
    runs = settings.runs or _fitting_runs()
    keep = _disk(settings.data) // 2 if settings.keep_size is None else settings.keep_size
    each = settings.keep_each
    if each is None:
        each = keep // 2
    return Allowance(
        runs=runs,
        runs_each=min(settings.runs_each or -(-runs // 2), runs),
        sandboxes=max(settings.sandboxes, runs),
        keep=keep or None,
        keep_each=each or None,
        keep_days=settings.keep_days,
    )


def _fitting_runs() -> int:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_FEWEST, min(_RUNS_PER_CPU * (os.cpu_count() or 1), memory // _RUN_MEMORY))


def _disk(folder: Path) -> int:
    """The size of the disk that a folder is on, or will be once it is made."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).total
