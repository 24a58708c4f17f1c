"""Usage of disk, sandboxes and memory, in total and per user."""

import shutil
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from agent.errors import StudioError
from agent.history.index import Entry
from agent.sandbox.docker.inventory import Census, Standing
from agent.settings import Settings
from agent.workspace.versions.blobs import BlobStore
from sandbox_ui.auth.user import name_of
from sandbox_ui.history.catalog import Shelf
from sandbox_ui.history.disk_usage import drafts, measured
from sandbox_ui.history.limits import Allowance
from sandbox_ui.scheduling.queue import Line

_LARGEST = 20
_PEOPLE = 50


class Counting(Protocol):
    """Provider of sandboxes, with counts."""

    @property
    def blobs(self) -> BlobStore:
        """The store of file versions."""

    def census(self) -> Census:
        """Return the engine's sandboxes and images. Raises ``StudioError``."""


class Usage:
    """Reports usage.

    Args:
        shelf: The catalog of all runs.
        line: The queue of runs.
        computers: Provider of the sandboxes.
        settings: The operator's settings.
        allowed: The limits derived from them.
        kept: The retention rule, in words.
    """

    def __init__(
        self,
        shelf: Shelf,
        line: Line,
        computers: Counting,
        settings: Settings,
        allowed: Allowance,
        kept: str,
    ) -> None:
        self._shelf = shelf
        self._line = line
        self._computers = computers
        self._settings = settings
        self._allowed = allowed
        self._kept = kept

    def of(self, owner: str | None) -> dict[str, Any]:
        """Return one user's usage in bytes; for None, all users' and the machine's."""
        data = self._settings.data
        entries = [measured(data, entry) for entry in self._shelf.entries(owner)]
        waiting = drafts(data, owner)
        census, problem = self._census()
        mine = {entry.sandbox: entry for entry in entries if entry.sandbox}
        sandboxes = [each for each in census.sandboxes if each.sandbox in mine or owner is None]
        told = {
            "runs": self._runs(entries, owner, sum(waiting)),
            "drafts": {"count": len(waiting), "size": sum(waiting)},
            "largest": _largest(entries),
            "sandboxes": {**_sandboxes(sandboxes), "problem": problem},
            "limits": self._limits(owner),
            "kept": self._kept,
        }
        if owner is None:
            told["machine"] = self._machine(census, mine)
            told["people"] = _people(entries)
        return told

    def _census(self) -> tuple[Census, str]:
        try:
            return self._computers.census(), ""
        except StudioError as error:
            return Census(), str(error)

    def _runs(self, entries: Sequence[Entry], owner: str | None, waiting: int) -> dict[str, int]:
        known = [entry.summary for entry in entries if entry.summary]
        workspaces = sum(each.workspace for each in known)
        versions = sum(each.versions for each in known)
        records = sum(each.size for each in known) - workspaces - versions
        versions = min(versions, self._computers.blobs.size)
        size = workspaces + records + versions
        free = shutil.disk_usage(self._settings.data).free
        limit = (self._allowed.keep if not owner else self._allowed.keep_each) or 0
        return {
            "count": len(entries),
            "unknown": len(entries) - len(known),
            "pinned": sum(entry.pinned for entry in entries),
            "alive": sum(each.alive for each in known),
            "workspaces": workspaces,
            "records": records,
            "versions": versions,
            "size": size,
            "limit": limit,
            "left": max(0, min(limit - size - waiting, free)),
        }

    def _limits(self, owner: str | None) -> dict[str, Any]:
        settings, allowed = self._settings, self._allowed
        return {
            "runs": allowed.runs_each if owner else allowed.runs,
            "runs_in_all": allowed.runs,
            "working": self._line.working_of(owner),
            "waiting": self._line.waiting_of(owner),
            "sandboxes": allowed.sandboxes,
            "memory": settings.memory,
            "cpus": settings.cpus,
            "disk": settings.disk,
            "steps": settings.limits().steps,
            "seconds": settings.seconds,
            "idle": settings.idle,
            "resting_days": settings.resting_days,
        }

    def _machine(self, census: Census, mine: dict[str, Entry]) -> dict[str, Any]:
        disk = shutil.disk_usage(self._settings.data)
        blobs = self._computers.blobs
        return {
            "disk": {"free": disk.free, "size": disk.total},
            "versions": {"size": blobs.size, "limit": blobs.limit},
            "images": [{"tag": each.tag, "size": each.size} for each in census.images],
            "warm": sum(each.running and each.sandbox not in mine for each in census.sandboxes),
        }


def _largest(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    known = [(entry, entry.summary) for entry in entries if entry.summary]
    known.sort(key=lambda each: each[1].size, reverse=True)
    return [
        {
            "run": entry.run,
            "title": entry.title,
            "at": entry.at,
            "pinned": entry.pinned,
            "alive": summary.alive,
            "size": summary.size,
            "workspace": summary.workspace,
            "versions": summary.versions,
        }
        for entry, summary in known[:_LARGEST]
        if summary.size
    ]


def _sandboxes(sandboxes: Sequence[Standing]) -> dict[str, int]:
    running = sum(each.running for each in sandboxes)
    return {
        "running": running,
        "stopped": len(sandboxes) - running,
        "memory": sum(each.memory for each in sandboxes),
        "installed": sum(each.layer for each in sandboxes),
    }


def _people(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the usage per user, largest first."""
    runs, sizes = Counter[str](), Counter[str]()
    for entry in entries:
        runs[entry.owner] += 1
        sizes[entry.owner] += entry.summary.size if entry.summary else 0
    return [
        {"name": _called(owner), "runs": runs[owner], "size": size}
        for owner, size in sizes.most_common(_PEOPLE)
    ]


def _called(owner: str) -> str:
    return (name_of(owner) or f"visitor {owner[-4:]}") if owner else "operator"
