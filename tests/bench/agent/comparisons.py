"""A comparison's table from its runs' summaries: in a new process, and again."""

import multiprocessing
import random
import shutil
from pathlib import Path

from agent import examples
from agent.events import Event, Totals, encode
from agent.experiments.description import describe
from agent.experiments.experiment import ExpectedAnswer, Experiment, Member
from agent.experiments.folder import ExperimentFolder
from agent.history.index import History
from agent.models.base import Usage
from agent.runs.folder import RunFolder
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import Table, record_duration, sample_table
from tests.support.component.events import bash, ended, started, step

_MEMBERS = 6


def table(
    context: BenchContext,
    *,
    sizes: tuple[tuple[int, int], ...] = ((1, 300), (20, 300)),
    times: int = 10,
) -> Table:
    """Measure comparisons of six members; ``sizes`` are (repetitions, steps of a run)."""
    result = sample_table(
        "Tables of comparisons",
        "six members",
        "Cold: the first table in a new process with its modules and examples loaded, from the "
        "summaries in the history’s database; no journal is read. Again: the second.",
    )
    for repetitions, steps in sizes:
        data = context.folder / f"comparisons-{repetitions}"
        print_progress(f"comparisons: writing {_MEMBERS * repetitions} runs of {steps} steps")
        comparison = write_comparison(data, repetitions, steps)
        measured: list[list[float]] = []
        for _ in range(times):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                measured.append(pool.apply(measure_description, (data, comparison)))
        shutil.rmtree(data)
        for name, seconds in zip(("cold", "again"), zip(*measured, strict=True), strict=True):
            result.add_sample(f"{repetitions} × {steps} steps each, {name}", seconds)
    return result


def measure_description(data: Path, comparison: str) -> list[float]:
    """Return the seconds of the first table and of the second."""
    examples.find("")  # a studio has read them when it serves its first page
    history = History(data)
    durations: list[float] = []
    for _ in range(2):
        with record_duration(durations):
            folder = ExperimentFolder.open(data, comparison)
            summaries = history.summaries([each.run for each in folder.runs()])
            assert len(describe(folder, summaries)["table"]) >= 4
    history.indexer.close()
    return durations


def write_comparison(data: Path, repetitions: int, steps: int) -> str:
    """Write ended runs and their comparison, and index the runs; return the comparison's id."""
    generator = random.Random(1)
    members = tuple(
        Member(label=f"member {number}", mode="sandbox", model=f"m{number}")
        for number in range(_MEMBERS)
    )
    data.mkdir()
    folder = ExperimentFolder.create(data, Experiment(
        task="How many?", members=members, repetitions=repetitions,
        expected=ExpectedAnswer(kind="number", answer="12"),
    ))  # fmt: skip
    for repetition in range(1, repetitions + 1):
        for member in range(_MEMBERS):
            run = RunFolder.create(data, "none", comparison=folder.id)
            events = _events(steps, str(generator.choice((11, 12))), generator)
            run.journal.write_bytes(b"".join(encode(each) + b"\n" for each in events))
            folder.add_run(0, member, repetition, run.id)
    history = History(data)
    history.page()
    while history.indexer.backlog:
        history.indexer.update(60.0)
    history.indexer.close()
    return folder.id


def _events(steps: int, answer: str, generator: random.Random) -> list[Event]:
    events: list[Event] = [started("How many?", limits={"steps": 300.0})]
    totals, prompt = Totals(), 500
    for number in range(1, steps + 1):
        generated = generator.randrange(20, 200)
        usage = Usage(prompt, generated, cached=prompt // 2, reported=("cached",))
        totals = Totals(steps=number, model_seconds=2.0 * number, sandbox_seconds=0.1 * number)
        call = bash("wc", "12", seconds=0.1) if number % 7 else bash("wc", "12", 1, seconds=0.1)
        events += step(number, call, text="I count.", usage=usage, totals=totals, seconds=2.0)
        prompt += generated + generator.randrange(10, 300)
    return [*events, ended(answer=answer, totals=totals)]
