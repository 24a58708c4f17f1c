"""The run that another run was made from, and the step it starts after."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

ParentKind = Literal["fork", "replay"]


@dataclass(frozen=True, slots=True)
class Parent:
    """What a run was made from.

    Attributes:
        run: The id of the other run, which may have been deleted since.
        step: The last of its steps that this run starts with; 0 for none.
        manifest: SHA-256 in hex of its workspace after that step
            (``agent.workspace.versions.manifest.Manifest.digest``); empty if unknown.
        kind: ``fork``: this run continues the conversation; ``replay``: it executes the recorded
            calls again.
    """

    run: str
    step: int
    manifest: str = ""
    kind: ParentKind = "fork"


@cache  # on first use, so that importing this module stays cheap
def parent_adapter() -> TypeAdapter[Parent]:
    """Return the adapter that reads and writes a parent as JSON."""
    return TypeAdapter(Parent)
