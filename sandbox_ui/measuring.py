"""What runs take on the disk that are in no list yet, or have no size in it: they are looked at."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agent.errors import RunError
from agent.folder import RunFolder
from agent.history import Entry
from agent.removal import on_disk, sandbox_on_disk


def measured(data: Path, entry: Entry) -> Entry:
    """A run of the list with its size, which one at work has not yet."""
    if entry.summary is None or entry.summary.size or not entry.sandbox:
        return entry
    size = sandbox_on_disk(data / "sandboxes" / entry.sandbox)
    return replace(entry, summary=replace(entry.summary, workspace=size, size=size))


def drafts(data: Path, owner: str | None = None) -> list[int]:
    """For each run that has not begun, or each of one person's, what was put into it."""
    sizes = []
    for run in RunFolder.ids(data):
        with suppress(RunError):
            if not (data / "runs" / run / "journal.jsonl").exists():
                folder = RunFolder.open(data, run)
                if owner is None or folder.owner == owner:
                    sizes.append(on_disk(folder.path) + sandbox_on_disk(folder.sandbox_folder))
    return sizes
