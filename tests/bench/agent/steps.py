"""The overhead of a step: its duration with a model that answers immediately."""

import time
from collections.abc import Iterator

from agent.events import Event, ModelAnswered, StepStarted, ToolEnded, ToolStarted
from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.util.cancellation import Stop
from tests.bench.context import TASK, BenchContext
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table, format_duration
from tests.support.models.scripted import SUBMIT, bash

PARTS = {
    "the model's turn, journalled": (StepStarted, ModelAnswered),
    "the command in the sandbox, its events and memory": (ToolStarted, ToolEnded),
    "manifest, end of the step, journal forced to the disk": (ToolEnded, StepStarted),
}


TimedEvents = list[tuple[type[Event], float]]
"""The event types of a run, with the times when they were received."""


def table(context: BenchContext, *, short: int = 50, long: int = 500, rounds: int = 4) -> Table:
    """Measure short and long runs alternately, so that disturbances affect both."""
    result = Table(
        "What a step costs beside the model",
        ("recorded run, each step `true` in its container", *SAMPLE_HEADINGS),
        notes=[
            "From one step's start to the next one's, as whoever drives the run sees it. Bar: "
            "10 ms, at any length."
        ],
    )
    short_runs = max(1, long // short // 2)
    rounds_of_runs = [
        ([_run(context, short) for _ in range(short_runs)], _run(context, long))
        for _ in range(rounds)
    ]
    shorts = [_sample(runs) for runs, _ in rounds_of_runs]
    longs = [_sample([run]) for _, run in rounds_of_runs]
    result.add(f"runs of {short} steps", *_merge_samples(shorts).cells())
    result.add(f"runs of {long} steps", *_merge_samples(longs).cells())
    result.add(f"of these the first {short}", *_merge_samples(longs, slice(short)).cells())
    result.add(f"of these the last {short}", *_merge_samples(longs, slice(-short, None)).cells())
    for name, (begin, end) in PARTS.items():
        part = [time for _, run in rounds_of_runs for time in _intervals(run, begin, end)]
        result.add(f"of a step: {name}", *Sample.from_seconds(part).cells())
    differences = [format_duration(b.median - a.median) for a, b in zip(shorts, longs, strict=True)]
    result.notes.append(
        f"Median of {long} steps less that of {short}, in each of {rounds} rounds: "
        f"{', '.join(differences)}."
    )
    return result


def _run(context: BenchContext, count: int) -> TimedEvents:
    """Execute a run of ``count`` steps."""
    model = ScriptedModel([bash("true")] * count + [SUBMIT])
    limits = Limits(steps=count + 2, conversation_tokens=None)
    with context.provider("steps") as provider, context.run(provider) as run:
        return [
            (type(event), time.perf_counter()) for event in run.start(TASK, model, limits, Stop())
        ]


def _sample(runs: list[TimedEvents]) -> Sample:
    return Sample.from_seconds(
        [time for run in runs for time in _intervals(run, StepStarted, StepStarted)]
    )


def _merge_samples(samples: list[Sample], part: slice = slice(None)) -> Sample:
    return Sample.from_seconds([seconds for sample in samples for seconds in sample.seconds[part]])


def _intervals(events: TimedEvents, begin: type[Event], end: type[Event]) -> Iterator[float]:
    """Yield the seconds from each event of one type to the next of another."""
    start_time = None
    for kind, at in events:
        if kind is end and start_time is not None:
            yield at - start_time
            start_time = None
        if kind is begin:
            start_time = at
