"""A node of the cluster, as the driver sees it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
import ray.exceptions

from agent.errors import EngineError, StudioError, ToolError

_UNSENT_ITEMS = 4
_CHECK_SECONDS = 1.0
GiveUp = Callable[[float], bool]
"""Asked once a second, with the seconds without an answer, whether to wait no longer."""


def _never(_seconds: float) -> bool:
    return False


class NodeLost(StudioError):
    """A node ended before its work did, or does not answer."""


class NodeSilent(NodeLost):
    """A node does not answer, but may still be there."""


@dataclass(eq=False)
class Node:
    """A node with its actor; ``preparing`` is a pending answer, None once ``sandboxes`` is set."""

    id: str
    name: str
    actor: Any
    threads: int
    preparing: Any
    sandboxes: int = 0
    busy: int = 0
    image: str = ""

    def call(self, method: str, *args: Any, give_up: GiveUp = _never) -> Any:
        """Call a method of the node's process with picklable arguments. Raises ``NodeLost``."""
        pending = self._method(method).remote(*args)
        with self._errors():
            self._wait(pending, give_up)
            return ray.get(pending)

    def stream(self, method: str, *args: Any, give_up: GiveUp = _never) -> Iterator[Any]:
        """Call a method of the node's process that yields, and yield its items; see ``call``."""
        options = {
            "num_returns": "streaming", "_generator_backpressure_num_objects": _UNSENT_ITEMS,
        }  # fmt: skip
        items = self._method(method).options(**options).remote(*args)
        with self._errors():
            while True:
                self._wait(items, give_up)
                following = next(items, None)
                if following is None:
                    return
                yield ray.get(following)

    def send(self, method: str, *args: Any) -> None:
        """Call a method of the node's process without waiting for it."""
        if ray.is_initialized():
            self._method(method).remote(*args)

    def _method(self, name: str) -> Any:
        if not ray.is_initialized():  # Ray would start a cluster
            raise NodeLost(self.name)
        return getattr(self.actor, name)

    def _wait(self, pending: Any, give_up: GiveUp) -> None:
        began = time.monotonic()
        while not ray.wait([pending], timeout=_CHECK_SECONDS)[0]:
            if give_up(time.monotonic() - began):
                raise NodeSilent(self.name)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise what the node raised, or ``NodeLost``."""
        try:
            yield
        except ray.exceptions.RayTaskError as error:
            raise cause_of(error) from error
        except ray.exceptions.RayError as error:
            raise NodeLost(self.name) from error


def cause_of(error: ray.exceptions.RayTaskError) -> Exception:
    """Return what a node raised."""
    cause = error.cause
    known = isinstance(cause, StudioError | ToolError | OSError)
    return cause if known else EngineError(str(cause))
