"""What the studio adds to a step: everything but the model, on a model that answers at once."""

import itertools
import time
from collections import defaultdict

from agent.events import Event, ModelAnswered, StepStarted, ToolEnded, ToolStarted
from agent.meter import Limits
from agent.models.scripted import ScriptedModel
from agent.stop import Stop
from tests.bench.figures import SAMPLED, Sample, Table, shown
from tests.bench.place import SUBMIT, TASK, Place, bash

PARTS = {
    "the model's turn, journalled": (StepStarted, ModelAnswered),
    "the command in the sandbox, its events and memory": (ToolStarted, ToolEnded),
    "manifest, end of the step, journal forced to the disk": (ToolEnded, StepStarted),
}


def table(place: Place, *, short: int = 50, long: int = 500) -> Table:
    """Steps of short runs, and of one long run between them."""
    made = Table(
        "What a step costs beside the model",
        ("recorded run, each step `true` in its container", *SAMPLED),
        notes=[
            "From one step's start to the next one's, as whoever drives the run sees it; the "
            f"runs of {short} steps come before and after the one of {long}. Bar: 10 ms."
        ],
    )
    rounds = max(1, long // short // 2)
    before = [_steps(place, short) for _ in range(rounds)]
    whole = _steps(place, long)
    after = [_steps(place, short) for _ in range(rounds)]
    short_ones = Sample.of([step for run in before + after for step in _lengths(run)])
    lengths = _lengths(whole)
    made.add(f"{2 * rounds} runs of {short} steps", *short_ones.cells())
    made.add(f"a run of {long} steps", *Sample.of(lengths).cells())
    made.add(f"its first {short} steps", *Sample.of(lengths[:short]).cells())
    made.add(f"its last {short} steps", *Sample.of(lengths[-short:]).cells())
    for name, part in _parts(whole).items():
        made.add(f"of a step: {name}", *part.cells())
    slope = shown(Sample.of(lengths).median - short_ones.median)
    made.notes.append(f"Difference of the medians, {long} steps less {short}: {slope}.")
    return made


def _steps(place: Place, count: int) -> list[tuple[type[Event], float]]:
    """The events of a run of so many steps, each with the time when it was seen."""
    model = ScriptedModel([bash("true")] * count + [SUBMIT])
    limits = Limits(steps=count + 2, conversation_tokens=None)
    with place.computers("steps") as computers, place.run(computers) as run:
        return [
            (type(event), time.perf_counter()) for event in run.start(TASK, model, limits, Stop())
        ]


def _lengths(seen: list[tuple[type[Event], float]]) -> list[float]:
    starts = [at for kind, at in seen if kind is StepStarted]
    return [after - before for before, after in itertools.pairwise(starts)]


def _parts(seen: list[tuple[type[Event], float]]) -> dict[str, Sample]:
    found = defaultdict(list)
    last: dict[type[Event], float] = {}
    for kind, at in seen:
        for name, (begin, end) in PARTS.items():
            if kind is end and begin in last:
                found[name].append(at - last[begin])
        last[kind] = at
    return {name: Sample.of(found[name]) for name in PARTS}
