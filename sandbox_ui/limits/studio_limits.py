"""Limits on runs and storage: from the settings, or derived from this machine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.provisioning.capacity import sandboxes_of_this_machine
from agent.settings import Settings


@dataclass(frozen=True, slots=True)
class StudioLimits:
    """Limits in total and per user, sizes in bytes on disk; None for no limit."""

    max_runs: int
    max_runs_per_user: int
    max_sandboxes: int
    max_storage: int | None
    max_storage_per_user: int | None
    retention_days: float | None


def studio_limits(settings: Settings, capacity: int | None = None) -> StudioLimits:
    """Return the limits for this machine, or for a cluster with room for ``capacity`` sandboxes."""
    room = sandboxes_of_this_machine() if capacity is None else max(1, capacity)
    runs = settings.max_runs or room
    if capacity is not None:
        runs = min(runs, room)  # idle sandboxes make room only for so many
    keep = (
        _disk_size(settings.data) // 2
        if settings.retention_bytes is None
        else settings.retention_bytes
    )
    each = settings.quota_per_user
    if each is None:
        each = keep // 2
    return StudioLimits(
        max_runs=runs,
        max_runs_per_user=min(settings.max_runs_per_user or -(-runs // 2), runs),
        max_sandboxes=max(settings.max_sandboxes if capacity is None else capacity, runs),
        max_storage=keep or None,
        max_storage_per_user=each or None,
        retention_days=settings.retention_days,
    )


def _disk_size(folder: Path) -> int:
    """Return the size of the disk that holds a folder or will hold it."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).total
