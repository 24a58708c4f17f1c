"""Rollouts beside each other: how many a minute, and what their time goes into."""

import time
from collections.abc import Iterator, Sequence

from agent.api.studio import Studio
from agent.models.base import Model, ModelRequest, Piece
from agent.models.scripted import ScriptedModel
from agent.settings import load
from agent.tasks.task import TaskRecord
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.util.cancellation import Stop
from tests.bench.context import SUBMIT, BenchContext, bash, print_progress
from tests.bench.tables import Sample, Table, format_duration

_SCRIPT = (bash("cat input/notes/*.txt"), bash("cp input/notes/a.txt output/answer.txt"), SUBMIT)
_FILES = {f"notes/{name}.txt": f"{name}\n" * 40 for name in "abcdef"}


class _DelayedModel(ScriptedModel):
    """Thinks so many seconds before each of its turns, and computes nothing meanwhile."""

    def __init__(self, seconds: float) -> None:
        super().__init__(_SCRIPT)
        self._seconds = seconds

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        stop.wait(self._seconds)
        return super().stream(request, stop)


def table(
    context: BenchContext,
    *,
    many: int = 48,
    at_once: Sequence[int] = (1, 4, 8),
    think: float = 2.0,
) -> Table:
    """A run of three turns, in a container of its own: read the documents, answer, submit."""
    made = Table(
        "Rollouts",
        (
            "three turns, a container each", "a minute", "one takes",
            "until its sandbox is ready", "commands", "the model", "all else",
        ),
        notes=[
            "Shares of the rollouts' own wall time, the median for what one takes. The scripted "
            "model answers at once, or after a wait in which it computes nothing: all that is "
            "measured is the studio's and the engine's. The paper's 2 to 4 % is the sandbox's "
            "share beside models that think for minutes."
        ],
    )  # fmt: skip
    for crowd in at_once:
        _measure_rollouts(
            made, context, f"a model that answers at once, {crowd} at once", many, crowd, 0.0
        )
    wait = f"a model that takes {think:g} s a turn, {at_once[-1]} at once"
    _measure_rollouts(made, context, wait, many, at_once[-1], think)
    return made


def _measure_rollouts(
    made: Table, context: BenchContext, name: str, count: int, concurrency: int, think: float
) -> None:
    print_progress(name)
    done, seconds = _run_rollouts(context, count, concurrency, think)
    whole = sum(each.seconds for each in done)
    parts = [
        sum(each.setup_seconds for each in done) / whole,
        sum(each.totals.sandbox_seconds for each in done) / whole,
        sum(each.totals.model_seconds for each in done) / whole,
    ]
    shares = [f"{share:.1%}" for share in (*parts, 1 - sum(parts))]
    one = format_duration(Sample.from_seconds([each.seconds for each in done]).median, "s")
    made.add(name, f"{len(done) / seconds * 60:.0f}", one, *shares)


def _run_rollouts(
    context: BenchContext, count: int, concurrency: int, think: float
) -> tuple[list[Rollout], float]:
    settings = load(
        {
            "DOCKER_HOST": context.engine_url,
            "STUDIO_DATA": str(context.folder / f"rollouts-{concurrency}-{think:g}"),
            "STUDIO_WARM_SANDBOXES": "0",
        }
    )
    problems = [
        TaskRecord(
            f"p{number}", "What do the notes say?", _FILES["notes/a.txt"], "exact", "", _FILES
        )
        for number in range(count)
    ]

    def model(_: TaskRecord) -> Model:
        return _DelayedModel(think)

    with Studio(settings) as studio:
        list(
            run_rollouts(problems[:1], model, studio, RolloutPlan(settings.limits()))
        )  # the engine is found
        began = time.monotonic()
        done = list(
            run_rollouts(
                problems, model, studio, RolloutPlan(settings.limits(), concurrency=concurrency)
            )
        )
        seconds = time.monotonic() - began
    if not all(each.reward == 1.0 for each in done):
        raise RuntimeError(f"A rollout did not do its task: {done}")
    return done, seconds
