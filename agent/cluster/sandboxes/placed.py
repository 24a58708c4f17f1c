"""A sandbox's place on a node, and calls to it."""

import math
from collections.abc import Callable, Generator
from typing import Any

from agent.cluster.node import GiveUp, Node, NodeLost, NodeSilent
from agent.errors import SandboxError
from agent.util.stop import Stop

RELEASE_SECONDS = 60.0  # time that a node has to stop or remove a sandbox
_ANSWER_SECONDS = 30.0
LOST = (
    "The node {name} was lost, and with it the sandbox. Send a message to continue on another node "
    "with the files as they were last received; installed software is lost."
)


class PlacedSandbox:
    """A sandbox on a node; ``on_lost`` is called when that was lost, also more than once."""

    def __init__(self, node: Node, key: str, on_lost: Callable[[Node], None]) -> None:
        self.node = node
        self.lost = False
        self._key = key
        self._on_lost = on_lost
        self._stop = Stop()

    def set_stop(self, stop: Stop) -> None:
        """Make ``stop`` end later waits for a node that does not answer."""
        self._stop = stop

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of ``SandboxHost``; raise ``SandboxError`` if the node does not answer."""
        try:
            return self.node.call(method, self._key, *args, give_up=self._give_up(self._stop))
        except NodeLost as error:
            raise self._loss(error) from error

    def stream(
        self, method: str, *args: Any, stop: Stop | None = None
    ) -> Generator[Any, None, None]:
        """Call a method of ``SandboxHost`` and yield its items, soon after ``stop``."""
        try:
            yield from self.node.stream(method, self._key, *args, give_up=self._give_up(stop))
        except NodeLost as error:
            raise self._loss(error) from error

    def release(self, *, keep: bool) -> None:
        """Stop the sandbox, or remove it; a node that was lost or is silent is not waited for."""
        if self.lost:
            self.node.send("release", self._key, keep)
            return
        try:
            self.node.call(
                "release", self._key, keep, give_up=lambda seconds: seconds > RELEASE_SECONDS
            )
        except NodeLost as error:
            raise self._loss(error) from error

    def is_late(self, stop: Stop | None) -> bool:
        """Whether the node has not done in time what has to follow a stop."""
        return self._give_up(stop or self._stop)(math.inf)

    def send(self, method: str, *args: Any) -> None:
        """Call a method of ``SandboxHost`` without waiting; the key is not among its arguments."""
        self.node.send(method, *args)

    def _give_up(self, stop: Stop | None) -> GiveUp:
        def give_up(seconds: float) -> bool:
            after_stop = min(seconds, stop.seconds_since_set()) if stop is not None else 0.0
            return self.lost or after_stop > _ANSWER_SECONDS

        return give_up

    def _loss(self, error: NodeLost) -> SandboxError:
        self.lost = True
        if not isinstance(error, NodeSilent):
            self._on_lost(self.node)
        return SandboxError(LOST.format(name=self.node.name))
