"""The overhead of a step: its duration with a model that answers immediately."""

import itertools
import time

from agent.events import StepStarted
from agent.limits import Limits
from agent.util.stop import Stop
from tests.bench.context import TASK, BenchContext
from tests.bench.tables import Table, sample_table
from tests.support.models.scripted import SUBMIT, ScriptedModel, bash


def table(context: BenchContext, *, short: int = 50, long: int = 500, rounds: int = 4) -> Table:
    """Measure short and long runs alternately, so that disturbances affect both."""
    result = sample_table(
        "What a step costs beside the model",
        "recorded run, each step `true` in its container",
        "From one step's start to the next one's, as whoever drives the run sees it. Bar: 10 ms, "
        "at any length.",
    )
    seconds: dict[int, list[float]] = {short: [], long: []}
    for _ in range(rounds):
        for count in [short] * max(1, long // short // 2) + [long]:
            seconds[count] += _run(context, count)
    for count, each in seconds.items():
        result.add_sample(f"runs of {count} steps", each)
    return result


def _run(context: BenchContext, count: int) -> list[float]:
    """Execute a run of ``count`` steps; returns the seconds from each step to the next."""
    model = ScriptedModel([bash("true")] * count + [SUBMIT])
    limits = Limits(steps=count + 2, conversation_tokens=None)
    with context.provider("steps") as provider, context.run(provider) as run:
        events = run.start(TASK, model, limits, Stop())
        starts = [time.perf_counter() for event in events if isinstance(event, StepStarted)]
    return [after - before for before, after in itertools.pairwise(starts)]
