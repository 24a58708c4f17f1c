"""The figures of a run for comparisons: reduced from its events, unknown counts are None."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from agent.capabilities.usage import CapabilityUsage, Rates
from agent.events import (
    Event,
    ModelAnswered,
    Retrying,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Totals,
)
from agent.models.base import Usage
from agent.runs.metrics.run_metrics import RunMetrics, metrics_of
from agent.runs.summary import Summary, summarize
from agent.sandbox.network.policy import NetworkRequest
from tests.support.component.events import answered, ended, reduced, started, tool_ended

STARTED = started("Count.", at=100.0)


def call(step: int, name: str, *, ok: bool = True, **arguments: Any) -> list[Event]:
    """The events of one executed call; ``requests`` are its network requests."""
    requests = arguments.pop("requests", ())
    return [
        ToolStarted(step=step, call_id=f"c{step}", name=name, arguments=arguments, summary="s"),
        tool_ended(step, f"c{step}", name=name, ok=ok, exit_code=0 if ok else 1, requests=requests),
    ]


def metrics(*events: Event, files: tuple[str, ...] = ()) -> RunMetrics:
    return metrics_of(reduced(events), files)


TWO_STEPS: list[Event] = [
    STARTED,
    StepStarted(step=1, note="", at=103.0),
    Retrying(step=1, attempt=2, reason="busy", wait=0.5, at=103.5),
    TextDelta(step=1, text="t", at=104.5),
    TextDelta(step=1, text="t", at=104.9),
    answered(1, "t", usage=Usage(100, 10, cached=0, reported=("cached",)), at=105.0),
    *call(1, "execute_bash", ok=False, command="curl x", requests=(
        NetworkRequest(1.0, "pypi.org", 443, 500, 10),
        NetworkRequest(1.0, "pypi.org", 443, 200, 10),
        NetworkRequest(1.0, "evil.example", 443, 0, 0, "not listed"),
    )),
    StepEnded(step=1, totals=Totals(steps=1, model_seconds=2.0, sandbox_seconds=1.0)),
    StepStarted(step=2, note="", at=106.0),
    answered(2, "t", usage=Usage(150, 20, cached=90, reported=("cached",)), at=108.0),
    *call(2, "str_replace_editor", command="create"),
    StepEnded(step=2, totals=Totals(steps=2, model_seconds=4.0, sandbox_seconds=2.0)),
    replace(ended(answer="42", totals=Totals(
        steps=2, model_seconds=4.0, sandbox_seconds=2.0, peak_memory=5_000_000, cost=0.25,
    )), at=110.0),
]  # fmt: skip


def test_tokens_are_never_one_sum() -> None:
    found = metrics(*TWO_STEPS)
    assert (found.prompt_tokens, found.cached_tokens, found.generated_tokens) == (250, 90, 30)
    assert (found.environment_tokens, found.largest_prompt, found.first_prompt) == (40, 150, 100)
    assert found.tokens_once == 100 + 10 + 40 + 20  # the paper's N_total


def test_a_count_that_the_endpoint_does_not_report_is_unknown() -> None:
    found = metrics(*TWO_STEPS)
    assert found.reasoning_tokens is None
    assert found.cache_written_tokens is None
    unmetered = [replace(e, usage=None) if isinstance(e, ModelAnswered) else e for e in TWO_STEPS]
    assert metrics(*unmetered).prompt_tokens is None
    assert metrics(*unmetered).tokens_once is None


def test_a_count_that_only_some_steps_report_says_so() -> None:
    events = [
        replace(e, usage=Usage(150, 20)) if isinstance(e, ModelAnswered) and e.step == 2 else e
        for e in TWO_STEPS
    ]
    found = metrics(*events)
    assert (found.cached_tokens, found.partial) == (0, {"cached": 1})


def test_times_are_told_apart() -> None:
    found = metrics(*TWO_STEPS)
    assert found.first_token_seconds == pytest.approx(1.5)
    assert found.waiting_seconds == pytest.approx(3.5)  # until the first step, and the retry
    assert (found.model_seconds, found.sandbox_seconds) == (4.0, 2.0)
    assert found.total_seconds == pytest.approx(10.0)


def test_work_is_counted_by_what_was_executed() -> None:
    failed = tool_ended(2, "x", "Error: no command", ok=False, exit_code=None, seconds=0)
    found = metrics(*TWO_STEPS[:-2], failed, *TWO_STEPS[-2:], files=("output/a", "b", "output/c"))
    assert (found.commands, found.failed_commands, found.invalid_calls) == (1, 1, 1)
    assert (found.edits, found.outputs, found.output_names) == (1, 2, ("output/a", "output/c"))
    assert (found.hosts, found.received, found.refused_requests) == (("pypi.org",), 700, 1)
    assert (found.peak_memory, found.cost) == (5_000_000, 0.25)


def test_viewing_a_file_is_no_edit() -> None:
    events = [STARTED, StepStarted(step=1, note=""), *call(1, "str_replace_editor", command="view")]
    assert metrics(*events).edits == 0


def test_plain_mode_has_no_sandbox_to_count() -> None:
    found = metrics(replace(STARTED, mode="plain"), *TWO_STEPS[1:6], *TWO_STEPS[-1:])
    assert (found.commands, found.sandbox_seconds, found.outputs, found.hosts) == (None,) * 4
    assert found.network == ""


def test_a_summary_of_an_earlier_version_has_no_figures() -> None:
    adapter = TypeAdapter(Summary)
    stored = adapter.dump_python(summarize(reduced(TWO_STEPS)), mode="json")
    assert adapter.validate_python(stored).metrics == metrics(*TWO_STEPS)
    del stored["metrics"]
    assert adapter.validate_python(stored).metrics is None


def test_capability_rates_are_shares_of_the_steps() -> None:
    used = CapabilityUsage(external="observed", paper=("file",), cpu_seconds=0.5)

    def step(number: int, usage: CapabilityUsage | None) -> list[Event]:
        begin, end = call(number, "execute_bash")
        assert isinstance(end, ToolEnded)
        return [
            StepStarted(step=number, note=""), begin, replace(end, used=usage),
            StepEnded(step=number, totals=Totals(steps=number)),
        ]  # fmt: skip

    recorded = metrics(STARTED, *step(1, used), *step(2, CapabilityUsage()))
    assert recorded.capabilities is not None
    assert recorded.capabilities.ours == Rates(external=0.5, file=0, compute=0)
    assert recorded.capabilities.paper == Rates(external=0, file=0.5, compute=0)
    assert recorded.cpu_seconds == 0.5
    stored = TypeAdapter(RunMetrics).dump_json(recorded)
    assert TypeAdapter(RunMetrics).validate_json(stored) == recorded
    earlier = metrics(STARTED, *step(1, None))
    assert (earlier.capabilities, earlier.cpu_seconds) == (None, None)
