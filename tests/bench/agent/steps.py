"""What the studio adds to a step: everything but the model, on a model that answers at once."""

import time
from collections.abc import Iterator

from agent.events import Event, ModelAnswered, StepStarted, ToolEnded, ToolStarted
from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.util.cancellation import Stop
from tests.bench.context import SUBMIT, TASK, BenchContext, bash
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table, format_duration

PARTS = {
    "the model's turn, journalled": (StepStarted, ModelAnswered),
    "the command in the sandbox, its events and memory": (ToolStarted, ToolEnded),
    "manifest, end of the step, journal forced to the disk": (ToolEnded, StepStarted),
}


TimedEvents = list[tuple[type[Event], float]]
"""The events of a run, each with the time when it was seen."""


def table(context: BenchContext, *, short: int = 50, long: int = 500, rounds: int = 4) -> Table:
    """Short runs and long ones in turns, so that what disturbs the machine disturbs both."""
    made = Table(
        "What a step costs beside the model",
        ("recorded run, each step `true` in its container", *SAMPLE_HEADINGS),
        notes=[
            "From one step's start to the next one's, as whoever drives the run sees it. Bar: "
            "10 ms, at any length."
        ],
    )
    few = max(1, long // short // 2)
    turns = [
        ([_run(context, short) for _ in range(few)], _run(context, long)) for _ in range(rounds)
    ]
    shorts = [_sample(runs) for runs, _ in turns]
    longs = [_sample([run]) for _, run in turns]
    made.add(f"runs of {short} steps", *_merge_samples(shorts).cells())
    made.add(f"runs of {long} steps", *_merge_samples(longs).cells())
    made.add(f"of these the first {short}", *_merge_samples(longs, slice(short)).cells())
    made.add(f"of these the last {short}", *_merge_samples(longs, slice(-short, None)).cells())
    for name, (begin, end) in PARTS.items():
        part = [time for _, run in turns for time in _intervals(run, begin, end)]
        made.add(f"of a step: {name}", *Sample.from_seconds(part).cells())
    apart = [format_duration(b.median - a.median) for a, b in zip(shorts, longs, strict=True)]
    made.notes.append(
        f"Median of {long} steps less that of {short}, in each of {rounds} rounds: "
        f"{', '.join(apart)}."
    )
    return made


def _run(context: BenchContext, count: int) -> TimedEvents:
    """A run of so many steps."""
    model = ScriptedModel([bash("true")] * count + [SUBMIT])
    limits = Limits(steps=count + 2, conversation_tokens=None)
    with context.provider("steps") as computers, context.run(computers) as run:
        return [
            (type(event), time.perf_counter()) for event in run.start(TASK, model, limits, Stop())
        ]


def _sample(runs: list[TimedEvents]) -> Sample:
    return Sample.from_seconds(
        [time for run in runs for time in _intervals(run, StepStarted, StepStarted)]
    )


def _merge_samples(samples: list[Sample], part: slice = slice(None)) -> Sample:
    return Sample.from_seconds([seconds for sample in samples for seconds in sample.seconds[part]])


def _intervals(seen: TimedEvents, begin: type[Event], end: type[Event]) -> Iterator[float]:
    """From each event of one kind to the next of another."""
    began = None
    for kind, at in seen:
        if kind is end and began is not None:
            yield at - began
            began = None
        if kind is begin:
            began = at
