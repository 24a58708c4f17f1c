"""Status of engine, image and model, for the page and for monitoring."""

from collections.abc import Mapping
from typing import Any, Protocol

from agent.models.builtin.install import NAME, parts
from agent.provisioning.backend import Readiness
from agent.settings import Settings


class Ready(Protocol):
    """Provider of sandboxes."""

    @property
    def readiness(self) -> Readiness:
        """Return the progress of engine and image."""


def report(computers: Ready, settings: Settings, unreadable: Mapping[str, int]) -> dict[str, Any]:
    """Return the state of engine, image and model; ``ok`` is true once usable.

    Args:
        computers: Provider of sandboxes.
        settings: The operator's settings.
        unreadable: Number of unreadable events by run id, for runs that have any.
    """
    now = computers.readiness
    ready = now.phase == "ready"
    image_known = bool(now.image) or now.phase == "building"
    return {
        "ok": ready,
        "engine": {
            "ok": ready or image_known,
            "state": "connecting" if now.phase == "connecting" else now.phase,
            "detail": now.detail if now.phase == "failed" else now.warning,
        },
        "image": {
            "ok": ready,
            "tag": now.image,
            "detail": now.detail,
            "progress": now.progress,
        },
        "model": _model(settings),
        "records": {
            "ok": not unreadable,
            "runs": len(unreadable),
            "unreadable_events": sum(unreadable.values()),
        },
    }


def _model(settings: Settings) -> dict[str, Any]:
    if not settings.base_url and settings.builtin and parts():
        return {"ok": True, "name": NAME, "detail": "No endpoint: small tasks only."}
    return {
        "ok": bool(settings.base_url and settings.model),
        "name": settings.model,
        "detail": "" if settings.base_url else "No endpoint: demonstrations only.",
    }
