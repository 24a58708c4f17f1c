"""Capability usage of calls that a version without this record wrote: parsed, not observed."""

from dataclasses import replace
from typing import Any

from agent.capabilities.observed import call_usage
from agent.capabilities.parsed import CallReader
from agent.capabilities.usage import CapabilityUsage
from agent.events import Event, ToolEnded, ToolStarted


class EarlierUsage:
    """Adds the capability usage that an earlier version's journal does not contain."""

    def __init__(self) -> None:
        self._reader = CallReader()
        self._arguments: dict[str, dict[str, Any]] = {}

    def complete(self, event: Event) -> Event:
        """Return the event, a call's end with what the call used."""
        if isinstance(event, ToolStarted):
            self._arguments = {event.call_id: event.arguments}  # one call runs at a time
        elif isinstance(event, ToolEnded) and event.used is None:
            return replace(event, used=self._usage(event))
        return event

    def _usage(self, event: ToolEnded) -> CapabilityUsage:
        arguments = self._arguments.pop(event.call_id, None)
        if arguments is None:  # it was not executed
            return CapabilityUsage()
        requests = event.requests
        return call_usage(self._reader, event.name, arguments, ok=event.ok, requests=requests)
