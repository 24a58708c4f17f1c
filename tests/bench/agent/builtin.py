"""The built-in model at its chores, through the whole application: HTTP, loop, sandbox.

``python -m tests.bench.agent.builtin --trials 5 --family count`` measures some families, and prints
the prompt and the answer of each task that failed.
"""

import argparse
import asyncio
import io
import itertools
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import httpx

from agent.models.builtin.install import ADAPTER_PATH, BUILTIN_MISSING_MESSAGE, find_files
from agent.models.builtin.sampler import DEFAULT_TEMPERATURE
from agent.tasks.file_tasks.generate import families, generate_file_tasks
from agent.tasks.file_tasks.task import FileTask, Split
from agent.tasks.scoring import score_rewards
from tests.bench.context import BenchContext, bench_context, print_progress
from tests.bench.server.clients import ServedApp, serve_app
from tests.bench.tables import Sample, Table, format_duration

OUTSIDE = "outside"
SPLITS: tuple[tuple[Split, str], ...] = (
    ("parameters", "held-out parameters"),
    ("wording", "held-out wording"),
)
_MAX_CONCURRENT = 2
_SEED = 20261120


@dataclass(frozen=True)
class Trial:
    """One chore, tried.

    Attributes:
        task: What was asked.
        passed: Whether its own check says so.
        status: How the run ended.
        answer: Its answer.
        seconds: How long it took.
    """

    task: FileTask
    passed: bool
    status: str
    answer: str
    seconds: float


def table(context: BenchContext, *, trials: int = 20, only: Sequence[str] = ()) -> Table:
    """So many trials of each family on each split."""
    made = Table(
        f"The built-in model at its chores, {trials} trials each",
        ("family", *(heading for _, heading in SPLITS), "a chore takes"),
    )
    if find_files() is None:
        made.notes.append(BUILTIN_MISSING_MESSAGE)
        return made
    tried: dict[tuple[str, Split], list[Trial]] = {}
    wanted = [each for each in families() if not only or each in only]
    with serve_app(context, "", _MAX_CONCURRENT) as studio:
        for family, (split, _) in itertools.product(wanted, SPLITS):
            print_progress(f"builtin: {family}, {split}")
            asked = list(generate_file_tasks(split, trials, _SEED, family))
            tried[family, split] = asyncio.run(_run_trials(studio, asked))
    for family in wanted:
        _row(made, family, {split: tried[family, split] for split, _ in SPLITS})
    known = [family for family in wanted if family != OUTSIDE]
    if len(known) > 1:
        _row(
            made,
            "**all but outside**",
            {split: list(_trials_of(tried, known, split)) for split, _ in SPLITS},
        )
    made.notes += _notes()
    return made


def _trials_of(
    tried: dict[tuple[str, Split], list[Trial]], wanted: Sequence[str], split: Split
) -> Iterator[Trial]:
    return itertools.chain.from_iterable(tried[family, split] for family in wanted)


def _row(made: Table, name: str, tried: dict[Split, list[Trial]]) -> None:
    every = [trial for trials in tried.values() for trial in trials]
    seconds = Sample.from_seconds([trial.seconds for trial in every])
    named = f"{name}: says so" if name == OUTSIDE else name
    made.add(named, *map(_pass_rate, tried.values()), format_duration(seconds.median, "s"))


def _pass_rate(trials: Sequence[Trial]) -> str:
    """How many were done, with a 95 % interval."""
    done = [float(trial.passed) for trial in trials]
    told = score_rewards(done, len(done))
    return f"{sum(done):.0f} of {len(done)} ({told.low:.0%} … {told.high:.0%})"


def _notes() -> list[str]:
    adapter = "with" if ADAPTER_PATH.is_file() else "WITHOUT"
    return [
        f"At its default temperature, {DEFAULT_TEMPERATURE}; {adapter} its adapter. Each trial is "
        "a run of "
        "the application with a sandbox of its own, over HTTP; done is what the chore's own check "
        "of the workspace says. In brackets Wilson's 95 % interval. Held-out parameters: names, "
        "words, columns, numbers and functions that were never trained on, in the words of "
        "training; held-out wording: sentences that were never trained on. Outside: tasks that it "
        "does not know; done is to say so and to make nothing."
    ]


async def _run_trials(studio: ServedApp, tasks: Sequence[FileTask]) -> list[Trial]:
    turn = asyncio.Semaphore(_MAX_CONCURRENT)

    async def one(chore: FileTask) -> Trial:
        async with turn, studio.client() as client:
            return await _run_trial(studio, client, chore)

    return await asyncio.gather(*map(one, tasks))


async def _run_trial(studio: ServedApp, client: httpx.AsyncClient, task: FileTask) -> Trial:
    run = await studio.draft(client)
    for name, content in task.input_files.items():
        data = content.encode() if isinstance(content, str) else content
        put = await client.put(f"/api/runs/{run}/files/input/{name}", content=data)
        put.raise_for_status()
    await studio.begin(client, run, task.text)
    seen = await studio.follow(client, run)
    files = await _files(client, run)
    trial = Trial(
        task,
        task.is_solved(files, seen.answer),
        seen.status,
        seen.answer,
        seen.ended_at - seen.started_at,
    )
    if not trial.passed:
        print_progress(
            f"not done: {task.id} ({trial.status}): {task.text!r} → {trial.answer[:200]!r}"
        )
    (await client.delete(f"/api/runs/{run}")).raise_for_status()
    return trial


async def _files(client: httpx.AsyncClient, run: str) -> dict[str, bytes]:
    """The workspace, path → content."""
    packed = (await client.get(f"/api/runs/{run}/zip")).raise_for_status()
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names}


def main() -> int:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser("python -m tests.bench.agent.builtin", description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--family", action="append", default=[], choices=families())
    given = parser.parse_args()
    with bench_context() as where:
        print(table(where, trials=given.trials, only=given.family).markdown(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
