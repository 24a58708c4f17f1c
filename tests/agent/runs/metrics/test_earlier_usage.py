"""Capability usage of calls whose journal does not contain it."""

from typing import Any

from agent.capabilities.usage import CapabilityUsage
from agent.events import Event, ToolEnded, ToolStarted
from agent.runs.metrics.earlier_usage import EarlierUsage
from agent.sandbox.network.policy import NetworkRequest
from tests.support.component.events import tool_ended


def start(call: str, command: str) -> ToolStarted:
    return ToolStarted(
        step=1, call_id=call, name="execute_bash", arguments={"command": command}, summary=""
    )


def end(call: str, **fields: Any) -> ToolEnded:
    return tool_ended(1, call, **fields)


def usages(*events: Event) -> list[CapabilityUsage | None]:
    earlier = EarlierUsage()
    completed = [earlier.complete(event) for event in events]
    return [event.used for event in completed if isinstance(event, ToolEnded)]


def test_calls_are_parsed_and_scripts_known_from_earlier_calls() -> None:
    write, run = usages(
        start("a", "echo 'print(2 * 3)' > a.py"), end("a"), start("b", "python3 a.py"), end("b")
    )
    assert write is not None
    assert run is not None
    assert (write.file, run.compute, run.cpu_seconds) == ("parsed", "parsed", None)


def test_recorded_requests_are_observed() -> None:
    request = NetworkRequest(1.0, "example.org", 443, 10, 1)
    (used,) = usages(start("a", "./tool"), end("a", requests=(request,)))
    assert used is not None
    assert used.external == "observed"


def test_a_recorded_usage_stays_and_a_refused_call_used_nothing() -> None:
    recorded = CapabilityUsage(compute="observed")
    found = usages(start("a", "ls"), end("a", used=recorded), end("b"))
    assert found == [recorded, CapabilityUsage()]
