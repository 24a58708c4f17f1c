"""How engine, image and model are, for the page and for whoever watches over the service."""

from typing import Any, Protocol

from agent.engine_room import Readiness
from agent.models.builtin.parts import NAME, parts
from agent.settings import Settings


class Ready(Protocol):
    """Whoever makes sandboxes."""

    @property
    def readiness(self) -> Readiness:
        """How far it is."""


def report(computers: Ready, settings: Settings) -> dict[str, Any]:
    """The state of each as JSON can hold it; ``ok`` is false until it can be used."""
    now = computers.readiness
    ready = now.phase == "ready"
    image_known = bool(now.image) or now.phase == "building"
    return {
        "ok": ready,
        "engine": {
            "ok": ready or image_known,
            "state": "connecting" if now.phase == "connecting" else now.phase,
            "detail": now.detail if now.phase == "failed" else "",
        },
        "image": {
            "ok": ready,
            "tag": now.image,
            "detail": now.detail,
            "progress": now.progress,
        },
        "model": _model(settings),
    }


def _model(settings: Settings) -> dict[str, Any]:
    if not settings.base_url and settings.builtin and parts():
        return {"ok": True, "name": NAME, "detail": "No endpoint: small tasks only."}
    return {
        "ok": bool(settings.base_url and settings.model),
        "name": settings.model,
        "detail": "" if settings.base_url else "No endpoint: demonstrations only.",
    }
