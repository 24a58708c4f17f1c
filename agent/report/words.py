"""Numbers, times and states as the page writes them."""

from datetime import UTC, datetime
from typing import Literal

from agent.events import Status

Tone = Literal["good", "bad", "warn", "idle", "live"]
_LABELS: dict[str, str] = {
    "step_limit": "step limit reached",
    "token_limit": "token limit reached",
    "budget_limit": "budget reached",
    "time_limit": "time limit reached",
}


def seconds(count: float) -> str:
    """Return a duration: ``80 ms``, ``4.2 s``, ``3 min 12 s``, ``1.5 h``."""
    if count < 0.0995:
        return f"{count * 1000:.0f} ms"
    if count < 59.95:
        return f"{count:.1f} s"
    whole = round(count)
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{count / 3600:.1f} h"


def number(count: float | None, *, about: bool = False) -> str:
    """Return a count; one that is not known is named, and ≈ marks an estimate."""
    if count is None:
        return "not reported"
    return f"{'≈ ' if about else ''}{count:,.0f}"


def moment(at: float | None) -> str:
    """Return a time of the clock, in UTC; empty if it is unknown or out of range."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""
    except (OverflowError, OSError, ValueError):
        return ""


def status_label(status: Status | str | None) -> str:
    """Return how a round ended, in a few words."""
    return _LABELS.get(str(status), str(status)) if status else "running"


def status_tone(status: Status | str | None) -> Tone:
    """Return the colour of a state."""
    if status is None:
        return "live"
    if status in ("submitted", "answered", "finished"):
        return "good"
    if status == "failed":
        return "bad"
    return "warn" if str(status).endswith("_limit") else "idle"
