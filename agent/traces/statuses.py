"""How a turn or a trace ended, in the words of other tools, and how a call was reviewed."""

from typing import get_args

from agent.events import Decision, Status
from agent.models.base import FinishReason
from agent.traces.fields import Fields
from agent.traces.trace import Review

ORIGINAL_OBSERVATION = "original_observation"
"""The field of a result that the user edited: what the tool returned."""

_STATUSES: dict[str, Status] = {
    "submitted": "submitted",
    "success": "answered",
    "completed": "answered",
    "limitsexceeded": "step_limit",
    "steplimitexceeded": "step_limit",
    "message": "step_limit",
    "turn": "step_limit",
    "exit_cost": "budget_limit",
    "costlimitexceeded": "budget_limit",
    "cost": "budget_limit",
    "exit_context": "token_limit",
    "context": "token_limit",
    "token": "token_limit",
    "time": "time_limit",
    "working": "time_limit",
    "exit_total_execution_time": "time_limit",
    "timeexceeded": "time_limit",
    "userinterruption": "stopped",
    "cancelled": "stopped",
    "operator": "stopped",
}
_FINISHES: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_length": "length",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
}


def status_of(word: str) -> Status:
    """Return the status that a word means, else failed; ``submitted (exit_cost)`` is the limit."""
    inner = word.strip().lower()
    if inner.startswith("submitted (") and inner.endswith(")"):
        inner = inner[len("submitted (") : -1]
    own: dict[str, Status] = {status: status for status in get_args(Status)}
    return (own | _STATUSES).get(inner, "failed")


def finish_of(word: str) -> FinishReason | None:
    """Return the finish reason that a word means; None for an empty one."""
    own: dict[str, FinishReason] = {reason: reason for reason in get_args(FinishReason)}
    return (own | _FINISHES).get(word, "other") if word else None


def original_of(about: Fields) -> str | None:
    """Return what the tool returned, if the user edited the result; else None."""
    original = about.values.get(ORIGINAL_OBSERVATION)
    return original if isinstance(original, str) else None


def review_of(review: Fields) -> Review | None:
    """Return the user's decision on a call, as this program writes it; None without one."""
    decision, arguments = review.text("decision"), review.values.get("arguments")
    if decision not in get_args(Decision):
        return None
    return Review(
        decision=decision,  # type: ignore[arg-type]
        arguments=arguments if isinstance(arguments, dict) else None,
        reason=review.text("reason"), note=review.text("note"),
    )  # fmt: skip
