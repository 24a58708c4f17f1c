"""A sandbox's place on a node, and calls to it."""

from collections.abc import Callable, Generator
from typing import Any

from agent.cluster.node import Node, NodeLost, NodeSilent
from agent.errors import SandboxError
from agent.util.cancellation import Stop

_ANSWER_SECONDS = 20.0
LOST = (
    "The node {name} was lost, and with it the sandbox. Send a message to continue on another node "
    "with the files as they were last received; installed software is lost."
)


class PlacedSandbox:
    """A sandbox on a node.

    Attributes:
        node: The node.
        lost: Whether the node was lost.

    Args:
        node: See above.
        key: The sandbox's id.
        on_lost: Called when the node was lost, also more than once.
    """

    def __init__(self, node: Node, key: str, on_lost: Callable[[Node], None]) -> None:
        self.node = node
        self.lost = False
        self._key = key
        self._on_lost = on_lost
        self._stop = Stop()

    def set_stop(self, stop: Stop) -> None:
        """Make ``stop`` end later waits for a node that does not answer."""
        self._stop = stop

    def call(self, method: str, *args: Any, stop: Stop | None = None) -> Any:
        """Call a method of ``SandboxHost`` and return its result.

        Raises:
            SandboxError: The node was lost, or it does not answer a stop.
        """
        try:
            return self.node.call(method, self._key, *args, give_up=lambda: self._gives_up(stop))
        except NodeLost as error:
            raise self._loss(error) from error

    def stream(
        self, method: str, *args: Any, stop: Stop | None = None
    ) -> Generator[Any, None, None]:
        """Call a method of ``SandboxHost`` and yield its items; see ``call``."""
        give_up = lambda: self._gives_up(stop)  # noqa: E731 - as in call
        try:
            yield from self.node.stream(method, self._key, *args, give_up=give_up)
        except NodeLost as error:
            raise self._loss(error) from error

    def release(self, *, keep: bool) -> None:
        """Stop the sandbox, or remove it; a node that was lost is not waited for.

        Raises:
            SandboxError: It cannot be stopped.
        """
        if self.lost:
            self.node.send("release", self._key, keep)
        else:
            self.call("release", keep)

    def send(self, method: str, *args: Any) -> None:
        """Call a method of ``SandboxHost`` without waiting; the key is not among its arguments."""
        self.node.send(method, *args)

    def _gives_up(self, stop: Stop | None) -> bool:
        waited = max(self._stop.seconds_since_set(), (stop or self._stop).seconds_since_set())
        return self.lost or waited > _ANSWER_SECONDS

    def _loss(self, error: NodeLost) -> SandboxError:
        self.lost = True
        if not isinstance(error, NodeSilent):
            self._on_lost(self.node)
        return SandboxError(LOST.format(name=self.node.name))
