"""Ids for the calls of models that give none."""

from uuid import uuid4


def new_call_id() -> str:
    """An id for a tool call, unique for good."""
    return f"call_{uuid4().hex[:24]}"
