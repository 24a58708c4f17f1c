"""Usage of disk, sandboxes and memory, in total and per user."""

import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agent.errors import StudioError
from agent.sandbox.docker.inventory import Inventory, SandboxUsage
from agent.settings import Settings
from sandbox_ui.auth.user import account_name
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.limits.studio_limits import StudioLimits
from sandbox_ui.sandbox_provider import StudioSandboxProvider
from sandbox_ui.scheduling.admission import Admission

_MAX_LISTED_RUNS = 20
_MAX_USERS = 50


@dataclass(frozen=True, slots=True)
class UsageReporter:
    """Reports usage."""

    _catalog: Catalog
    _admission: Admission
    _provider: StudioSandboxProvider
    _settings: Settings
    _studio_limits: StudioLimits
    _retention_text: str

    def report(self, owner: str | None) -> dict[str, Any]:
        """Return one user's usage in bytes; for None, all users' and the machine's."""
        draft_bytes = self._catalog.draft_list.sizes(owner)
        inventory, error = self._get_inventory()
        owned = self._catalog.history.owned_sandboxes(
            (each.sandbox_id for each in inventory.sandboxes), owner
        )
        sandboxes = [
            each for each in inventory.sandboxes if each.sandbox_id in owned or owner is None
        ]
        usage = {
            "runs": self._runs(owner, sum(draft_bytes)),
            "drafts": {"count": len(draft_bytes), "size": sum(draft_bytes)},
            "largest": self._largest(owner),
            "sandboxes": {**_sandboxes(sandboxes), "error": error},
            "limits": self._limits(owner),
            "retention": self._retention_text,
        }
        if owner is None:
            usage["machine"] = self._host_usage(inventory, owned)
            usage["users"] = [
                {"name": _display_name(owner), "runs": runs, "size": size}
                for owner, (runs, size) in islice(
                    self._catalog.history.size_by_owner().items(), _MAX_USERS
                )
            ]
        return usage

    def _get_inventory(self) -> tuple[Inventory, str]:
        try:
            return self._provider.inventory(), ""
        except StudioError as error:
            return Inventory(), str(error)

    def _runs(self, owner: str | None, draft_bytes: int) -> dict[str, int]:
        totals = self._catalog.history.totals(owner, measured=True)
        records = totals.size - totals.workspace - totals.versions
        versions = min(totals.versions, self._provider.blobs.size)
        size = totals.workspace + records + versions
        free = shutil.disk_usage(self._settings.data).free
        limit = (
            self._studio_limits.max_storage
            if not owner
            else self._studio_limits.max_storage_per_user
        ) or 0
        return {
            "count": totals.count,
            "unknown": totals.unknown,
            "pinned": totals.pinned,
            "running": totals.running,
            "workspaces": totals.workspace,
            "records": records,
            "versions": versions,
            "size": size,
            "limit": limit,
            "remaining": max(0, min(limit - size - draft_bytes, free)),
        }

    def _largest(self, owner: str | None) -> list[dict[str, Any]]:
        names = ("run", "title", "at", "pinned", "running", "size", "workspace", "versions")
        runs = self._catalog.history.largest(_MAX_LISTED_RUNS, owner)
        return [{name: getattr(run, name) for name in names} for run in runs if run.size]

    def _limits(self, owner: str | None) -> dict[str, Any]:
        settings, queue = self._settings, self._admission.queue
        return {
            "max_runs": queue.max_active_of(owner or ""),
            "max_runs_total": queue.max_active,
            "active": queue.count_active(owner),
            "queued": queue.count_waiting(owner),
            "sandboxes": self._max_sandboxes(owner),
            "memory": settings.memory,
            "cpus": settings.cpus,
            "disk": settings.disk,
            "steps": settings.limits().steps,
            "round_seconds": settings.round_seconds,
            "idle_seconds": settings.idle_seconds,
            "stopped_days": settings.stopped_days,
        }

    def _max_sandboxes(self, owner: str | None) -> int:
        admission = self._admission
        return admission.max_sandboxes if owner is None else admission.max_sandboxes_of(owner)

    def _host_usage(self, inventory: Inventory, owned: Collection[str]) -> dict[str, Any]:
        disk = shutil.disk_usage(self._settings.data)
        blobs = self._provider.blobs
        return {
            "disk": {"free": disk.free, "size": disk.total},
            "versions": {"size": blobs.size, "limit": blobs.limit},
            "images": [{"tag": each.tag, "size": each.size} for each in inventory.images],
            "warm": sum(
                each.running and each.sandbox_id not in owned for each in inventory.sandboxes
            ),
        }


def _sandboxes(sandboxes: Sequence[SandboxUsage]) -> dict[str, int]:
    running = sum(each.running for each in sandboxes)
    return {
        "running": running,
        "stopped": len(sandboxes) - running,
        "memory": sum(each.memory for each in sandboxes),
        "installed": sum(each.layer_size for each in sandboxes),
    }


def _display_name(owner: str) -> str:
    return (account_name(owner) or f"visitor {owner[-4:]}") if owner else "operator"
