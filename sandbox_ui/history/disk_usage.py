"""Measured disk usage of runs without a recorded size: active runs and drafts."""

from dataclasses import replace
from pathlib import Path

from agent.history.index import HistoryEntry
from agent.runs.disk_usage import bytes_on_disk, sandbox_bytes_on_disk
from sandbox_ui.history.drafts import draft_folders


def with_measured_size(data: Path, entry: HistoryEntry) -> HistoryEntry:
    """Return a catalog entry with its size, measured if none is recorded yet."""
    if entry.summary is None or entry.summary.size or not entry.sandbox:
        return entry
    size = sandbox_bytes_on_disk(data / "sandboxes" / entry.sandbox)
    return replace(entry, summary=replace(entry.summary, workspace=size, size=size))


def draft_sizes(data: Path, owner: str | None = None) -> list[int]:
    """Return the measured bytes on disk of each draft, of all users or of one."""
    return [
        bytes_on_disk(folder.path) + sandbox_bytes_on_disk(folder.sandbox_folder)
        for folder in draft_folders(data, owner)
    ]
