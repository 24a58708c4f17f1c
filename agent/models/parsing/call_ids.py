"""Ids for tool calls of models that do not provide any."""

from uuid import uuid4


def new_call_id() -> str:
    """Return a globally unique id for a tool call."""
    return f"call_{uuid4().hex[:24]}"
