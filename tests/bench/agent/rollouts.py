"""Concurrent rollouts and evaluations: their rate, and the CPU time of a step."""

import resource
import time
from collections.abc import Iterator, Sequence

from agent.api.studio import Studio
from agent.experiments.experiment import Member
from agent.experiments.suite import EvalTask, Suite
from agent.models.base import AssistantMessage, ModelRequest, Piece
from agent.tasks.task import TaskRecord
from agent.train.rollouts.rollouts import RolloutPlan, run_rollouts
from agent.util.stop import Stop
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Table
from tests.support.models.scripted import SUBMIT, ScriptedModel, bash

_SCRIPT = (bash("cat input/notes/*.txt"), bash("cp input/notes/a.txt output/answer.txt"), SUBMIT)
_FILES = {f"notes/{name}.txt": f"{name}\n" * 40 for name in "abcdef"}


def table(
    context: BenchContext, *, count: int = 48, concurrency: Sequence[int] = (1, 4, 8)
) -> Table:
    result = Table(
        "Rollouts",
        ("three turns, one container each", "per minute"),
        notes=["The model answers at once: what is measured is the studio's and the engine's."],
    )
    for parallel in concurrency:
        print_progress(f"rollouts, {parallel} at once")
        minutes = _run_rollouts(context, count, parallel)
        result.add(f"{parallel} at once", f"{count / minutes:.0f}")
    return result


def _run_rollouts(context: BenchContext, count: int, concurrency: int) -> float:
    settings = context.settings(f"rollouts-{concurrency}")
    answer = _FILES["notes/a.txt"]
    problems = [
        TaskRecord(f"p{number}", "What do the notes say?", answer, "exact", "", _FILES)
        for number in range(count)
    ]
    plan = RolloutPlan(settings.limits(), concurrency=concurrency)
    with Studio(settings) as studio:
        list(run_rollouts(problems[:1], lambda _: ScriptedModel(_SCRIPT), studio, plan))  # warm-up
        began = time.monotonic()
        rollouts = list(run_rollouts(problems, lambda _: ScriptedModel(_SCRIPT), studio, plan))
        seconds = time.monotonic() - began
    if not all(each.reward == 1.0 for each in rollouts):
        raise RuntimeError(f"A rollout did not do its task: {rollouts}")
    return seconds / 60


def evaluations_table(
    context: BenchContext, *, count: int = 48, concurrency: Sequence[int] = (1, 8)
) -> Table:
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


MEMBERS = [Member(label="scripted", mode="sandbox", model="scripted", network="none")]


def _evaluate(context: BenchContext, count: int, concurrency: int) -> tuple[float, float]:
    """Return the minutes of an evaluation, and its CPU milliseconds per step."""
    models = {"scripted": AnsweringModel()}
    with Studio(context.settings(f"evaluations-{concurrency}")) as studio:
        studio.evaluate(notes_suite(1), members=MEMBERS, models=models)  # warm-up
        began, cpu = time.monotonic(), _cpu_seconds()
        done = studio.evaluate(
            notes_suite(count), members=MEMBERS, models=models, concurrency=concurrency
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
