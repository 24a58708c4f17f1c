"""Limits on runs and storage: from the settings, or derived from this machine."""

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
    """Limits in total and per user; sizes are bytes on the data folder's disk.

    Attributes:
        runs: Concurrent runs.
        runs_each: Concurrent runs of one user; the operator may use all.
        sandboxes: Concurrent running sandboxes, active or idle.
        keep: Size of all runs above which the oldest are deleted; None for no limit.
        keep_each: Size of one user's runs above which the user can start no more; None for no
            limit.
        keep_days: Days after which a run is deleted; None for never.
    """

    runs: int
    runs_each: int
    sandboxes: int
    keep: int | None
    keep_each: int | None
    keep_days: float | None


def allowance(settings: Settings) -> Allowance:
    """Return the limits for this machine."""
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
    """Return the size of the disk for a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).total
