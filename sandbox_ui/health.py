"""Status of engine, image and model, for the page and for monitoring."""

from collections.abc import Mapping
from typing import Any

from agent.models.builtin.install import BUILTIN_NAME, find_files
from agent.settings import Settings
from sandbox_ui.sandbox_provider import StudioSandboxProvider


def report(
    provider: StudioSandboxProvider, settings: Settings, unreadable: Mapping[str, int]
) -> dict[str, Any]:
    """Return the state of engine, image and model; ``ok`` is true once usable."""
    status = provider.setup_status
    ready = status.phase == "ready"
    image_known = bool(status.image) or status.phase == "building"
    return {
        "ok": ready,
        "engine": {
            "ok": ready or image_known,
            "state": "connecting" if status.phase == "connecting" else status.phase,
            "detail": status.detail if status.phase == "failed" else status.warning,
        },
        "image": {
            "ok": ready,
            "tag": status.image,
            "detail": status.detail,
            "progress": status.progress,
        },
        "model": _model(settings),
        "records": {
            "ok": not unreadable,
            "runs": len(unreadable),
            "unreadable_events": sum(unreadable.values()),
        },
    }


def _model(settings: Settings) -> dict[str, Any]:
    if not settings.base_url and settings.builtin and find_files():
        return {"ok": True, "name": BUILTIN_NAME, "detail": "No endpoint: only small tasks."}
    return {
        "ok": bool(settings.base_url and settings.model),
        "name": settings.model,
        "detail": "" if settings.base_url else "No endpoint: only demonstrations.",
    }
