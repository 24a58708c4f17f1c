"""A round that was played, for assertions on its events and requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agent.events import Event, RunEnded, ToolEnded

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Played:
    """The events of a round, and the bodies of the requests that the endpoint received."""

    events: Sequence[Event]
    bodies: Sequence[dict[str, Any]] = ()

    def of_type(self, event_type: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, event_type)]

    @property
    def end(self) -> RunEnded:
        (end,) = self.of_type(RunEnded)
        assert self.events[-1] is end
        return end

    @property
    def observations(self) -> list[str]:
        return [event.observation for event in self.of_type(ToolEnded)]
