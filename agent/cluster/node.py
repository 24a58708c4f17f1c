"""A node of the cluster, as the driver sees it."""

from dataclasses import dataclass
from typing import Any

from agent.errors import StudioError


class NodeLost(StudioError):
    """A node ended before its run did."""


@dataclass(eq=False)
class Node:
    """A node with its actor.

    Attributes:
        id: Ray's id of the node.
        name: The node's host name, for people.
        actor: The handle of its ``Worker``.
        threads: How many runs the actor can carry out at once at the most.
        preparing: The pending answer of ``Worker.prepare``; None once it is there.
        sandboxes: How many runs it carries out at once; 0 until it is prepared.
        busy: How many it carries out now.
    """

    id: str
    name: str
    actor: Any
    threads: int
    preparing: Any
    sandboxes: int = 0
    busy: int = 0
