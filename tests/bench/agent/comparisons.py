"""A comparison's table from its runs' summaries: in a new process, and again."""

import multiprocessing
import random
import shutil
import time
from pathlib import Path

from agent import examples
from agent.compare.comparison import Comparison, ExpectedAnswer, Member, varying_fields
from agent.compare.description import describe
from agent.compare.exports import KINDS, export
from agent.compare.folder import ComparisonFolder
from agent.events import Event, Totals, encode
from agent.history.index import History
from agent.models.base import Usage
from agent.runs.folder import RunFolder
from tests.bench.context import BenchContext, print_progress
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table
from tests.support.component.events import bash, ended, started, step

_MEMBERS = 6


def table(
    context: BenchContext,
    *,
    sizes: tuple[tuple[int, int], ...] = ((1, 300), (20, 300)),
    times: int = 10,
) -> Table:
    """Measure comparisons of six members; ``sizes`` are (repetitions, steps of a run)."""
    result = Table("Tables of comparisons", ("six members", "what", *SAMPLE_HEADINGS))
    for repetitions, steps in sizes:
        data = context.folder / f"comparisons-{repetitions}"
        print_progress(f"comparisons: writing {_MEMBERS * repetitions} runs of {steps} steps")
        comparison = write_comparison(data, repetitions, steps)
        colds, agains, exports = list[float](), list[float](), list[float]()
        for _ in range(times):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                cold, again, exported = pool.apply(measure_description, (data, comparison))
            colds.append(cold)
            agains.append(again)
            exports.append(exported)
        shutil.rmtree(data)
        name = f"{repetitions} × {steps} steps each"
        result.add(name, "table, cold", *Sample.from_seconds(colds).cells())
        result.add(name, "table, again", *Sample.from_seconds(agains).cells())
        result.add(name, "all exports", *Sample.from_seconds(exports).cells())
    result.notes.append(
        "Cold: the first table in a new process with its modules and examples loaded, from the "
        "summaries in the history’s database; no journal is read. Again: the second."
    )
    return result


def measure_description(data: Path, comparison: str) -> tuple[float, float, float]:
    """Return the seconds of the first table, of the second, and of all exports."""
    examples.find("")  # a studio has read them when it serves its first page
    history = History(data)
    durations = []
    for _ in range(2):
        start = time.perf_counter()
        folder = ComparisonFolder.open(data, comparison)
        summaries = history.summaries([each.run for each in folder.runs()])
        description = describe(folder, summaries)
        durations.append(time.perf_counter() - start)
    assert len(description["table"]) >= 4
    start = time.perf_counter()
    for kind in KINDS:
        assert export(description, kind)
    history.indexer.close()
    return durations[0], durations[1], time.perf_counter() - start


def write_comparison(data: Path, repetitions: int, steps: int) -> str:
    """Write ended runs and their comparison, and index the runs; return the comparison's id."""
    generator = random.Random(1)
    members = tuple(
        Member(label=f"member {number}", mode="sandbox", model=f"m{number}")
        for number in range(_MEMBERS)
    )
    data.mkdir()
    folder = ComparisonFolder.create(data, Comparison(
        id="", task="How many?", members=members, varying=varying_fields(members),
        repetitions=repetitions, expected=ExpectedAnswer(kind="number", answer="12"),
    ))  # fmt: skip
    for repetition in range(1, repetitions + 1):
        for member in range(_MEMBERS):
            run = RunFolder.create(data, "none", comparison=folder.id)
            events = _events(steps, str(generator.choice((11, 12))), generator)
            run.journal.write_bytes(b"".join(encode(each) + b"\n" for each in events))
            folder.add_run(member, repetition, run.id)
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
