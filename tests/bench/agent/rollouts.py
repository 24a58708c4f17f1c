"""Concurrent rollouts and evaluations: their rate, and the shares of their time."""

import resource
import time
from collections.abc import Iterator, Sequence

from agent.api.studio import Studio
from agent.compare.comparison import Member
from agent.evals.suite import EvalTask, Suite
from agent.models.base import AssistantMessage, Model, ModelRequest, Piece
from agent.models.scripted import ScriptedModel
from agent.settings import load
from agent.tasks.task import TaskRecord
from agent.train.rollouts.rollouts import Rollout, RolloutPlan, run_rollouts
from agent.util.cancellation import Stop
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Sample, Table, format_duration
from tests.support.models.scripted import SUBMIT, bash

_SCRIPT = (bash("cat input/notes/*.txt"), bash("cp input/notes/a.txt output/answer.txt"), SUBMIT)
_FILES = {f"notes/{name}.txt": f"{name}\n" * 40 for name in "abcdef"}


class _DelayedModel(ScriptedModel):
    """Waits for some seconds before each of its turns."""

    def __init__(self, seconds: float) -> None:
        super().__init__(_SCRIPT)
        self._seconds = seconds

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        stop.wait(self._seconds)
        return super().stream(request, stop)


def table(
    context: BenchContext,
    *,
    count: int = 48,
    concurrency: Sequence[int] = (1, 4, 8),
    turn_seconds: float = 2.0,
) -> Table:
    """Measure runs of three turns, each in its own container: read documents, answer, submit."""
    result = Table(
        "Rollouts",
        (
            "three turns, one container each", "per minute", "duration",
            "until the sandbox is ready", "commands", "the model", "the rest",
        ),
        notes=[
            "Shares of the rollouts' own wall time, the median for what one takes. The scripted "
            "model answers at once, or after a wait in which it computes nothing: all that is "
            "measured is the studio's and the engine's. The paper's 2 to 4 % is the sandbox's "
            "share beside models that think for minutes."
        ],
    )  # fmt: skip
    for parallel in concurrency:
        _measure_rollouts(
            result,
            context,
            f"a model that answers at once, {parallel} at once",
            count,
            parallel,
            0.0,
        )
    wait = f"a model that takes {turn_seconds:g} s a turn, {concurrency[-1]} at once"
    _measure_rollouts(result, context, wait, count, concurrency[-1], turn_seconds)
    return result


def evaluations_table(
    context: BenchContext, *, count: int = 48, concurrency: Sequence[int] = (1, 8)
) -> Table:
    """Measure the CPU time of evaluations of three-step tasks, outside the containers."""
    result = Table(
        "Evaluations",
        ("three steps, one container each", "per minute", "CPU of the studio per step"),
        notes=[
            "The model answers at once. CPU time of the studio's process and of its children, with "
            "the creation and removal of the containers and the scores; the engine's own processes "
            "and those in the containers are not in it. Bar: 15 ms with 8 at once."
        ],
    )
    for parallel in concurrency:
        print_progress(f"evaluation, {parallel} at once")
        minutes, milliseconds = _evaluate(context, count, parallel)
        result.add(f"{parallel} at once", f"{count / minutes:.0f}", f"{milliseconds:.1f} ms")
    return result


class AnsweringModel(ScriptedModel):
    """Answers each run of an evaluation with the same three steps."""

    def __init__(self) -> None:
        super().__init__(())

    def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
        turn = sum(isinstance(each, AssistantMessage) for each in request.messages)
        return ScriptedModel([_SCRIPT[min(turn, 2)]]).stream(request, stop)


def _evaluate(context: BenchContext, count: int, concurrency: int) -> tuple[float, float]:
    """Return the minutes of an evaluation, and its CPU milliseconds per step."""
    settings = load(
        {
            "DOCKER_HOST": context.engine_url,
            "STUDIO_DATA": str(context.folder / f"evaluations-{concurrency}"),
            "STUDIO_WARM_SANDBOXES": "0",
        }
    )
    member = Member(label="scripted", mode="sandbox", model="scripted", network="none")
    models = {"scripted": AnsweringModel()}
    with Studio(settings) as studio:
        studio.evaluate(notes_suite(1), members=[member], models=models)  # warm-up
        began, cpu = time.monotonic(), _cpu_seconds()
        done = studio.evaluate(
            notes_suite(count), members=[member], models=models, concurrency=concurrency
        )
        seconds, cpu = time.monotonic() - began, _cpu_seconds() - cpu
    if done.counts["right"] != count:
        raise RuntimeError(f"An evaluation did not solve its tasks: {done}")
    return seconds / 60, cpu / (3 * count) * 1000


def notes_suite(count: int) -> Suite:
    """Return a suite of tasks that ``AnsweringModel`` solves."""
    tasks = tuple(
        EvalTask(id=str(number), text="What do the notes say?", scorer="letter", expected="A",
                 choices="AB", inputs={"notes/a.txt": "A"})
        for number in range(count)
    )  # fmt: skip
    return Suite(
        name="notes", title="Notes", domain="reading", tasks=tasks, prompt="general",
        scorer="letter", licence="", source="",
    )  # fmt: skip


def _cpu_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _measure_rollouts(
    result: Table,
    context: BenchContext,
    name: str,
    count: int,
    concurrency: int,
    turn_seconds: float,
) -> None:
    print_progress(name)
    rollouts, seconds = _run_rollouts(context, count, concurrency, turn_seconds)
    total_seconds = sum(each.seconds for each in rollouts)
    parts = [
        sum(each.setup_seconds for each in rollouts) / total_seconds,
        sum(each.totals.sandbox_seconds for each in rollouts) / total_seconds,
        sum(each.totals.model_seconds for each in rollouts) / total_seconds,
    ]
    shares = [f"{share:.1%}" for share in (*parts, 1 - sum(parts))]
    median = format_duration(Sample.from_seconds([each.seconds for each in rollouts]).median, "s")
    result.add(name, f"{len(rollouts) / seconds * 60:.0f}", median, *shares)


def _run_rollouts(
    context: BenchContext, count: int, concurrency: int, turn_seconds: float
) -> tuple[list[Rollout], float]:
    settings = load(
        {
            "DOCKER_HOST": context.engine_url,
            "STUDIO_DATA": str(context.folder / f"rollouts-{concurrency}-{turn_seconds:g}"),
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
        return _DelayedModel(turn_seconds)

    with Studio(settings) as studio:
        list(run_rollouts(problems[:1], model, studio, RolloutPlan(settings.limits())))  # warm-up
        start_time = time.monotonic()
        rollouts = list(
            run_rollouts(
                problems, model, studio, RolloutPlan(settings.limits(), concurrency=concurrency)
            )
        )
        seconds = time.monotonic() - start_time
    if not all(each.reward == 1.0 for each in rollouts):
        raise RuntimeError(f"A rollout did not do its task: {rollouts}")
    return rollouts, seconds
