"""The built-in model on file tasks, in the whole application: HTTP, loop, sandbox.

``python -m tests.bench.agent.builtin --trials 5 --family count`` measures some families, and prints
the task and the answer of each failed trial.
"""

import argparse
import asyncio
import io
import itertools
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.models.builtin.install import ADAPTER_PATH, BUILTIN_MISSING_MESSAGE, find_files
from agent.models.builtin.sampler import DEFAULT_TEMPERATURE
from agent.tasks.file_tasks.generate import families, generate_file_tasks
from agent.tasks.file_tasks.task import FileTask, Split
from agent.tasks.scoring import score_rewards
from tests.bench.context import BenchContext, bench_context, print_progress
from tests.bench.server.clients import ServedApp, serve_app
from tests.bench.tables import Sample, Table, format_duration
from tests.support import httpx

OUTSIDE = "outside"
SPLITS: tuple[tuple[Split, str], ...] = (
    ("parameters", "held-out parameters"),
    ("wording", "held-out wording"),
)
_MAX_CONCURRENT = 2
_SEED = 20261120


@dataclass(frozen=True)
class Trial:
    """One trial of a task.

    Attributes:
        task: The task.
        passed: Whether the task's check succeeded.
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
    """Measure ``trials`` tasks of each family and split."""
    result = Table(
        f"The built-in model on file tasks, {trials} trials each",
        ("family", *(heading for _, heading in SPLITS), "time per task"),
    )
    if find_files() is None:
        result.notes.append(BUILTIN_MISSING_MESSAGE)
        return result
    trials_by_split: dict[tuple[str, Split], list[Trial]] = {}
    selected = [each for each in families() if not only or each in only]
    with serve_app(context, "", _MAX_CONCURRENT) as app:
        for family, (split, _) in itertools.product(selected, SPLITS):
            print_progress(f"builtin: {family}, {split}")
            tasks = list(generate_file_tasks(split, trials, _SEED, family))
            trials_by_split[family, split] = asyncio.run(_run_trials(app, tasks))
    for family in selected:
        _row(result, family, {split: trials_by_split[family, split] for split, _ in SPLITS})
    in_scope = [family for family in selected if family != OUTSIDE]
    if len(in_scope) > 1:
        _row(
            result,
            "**all but outside**",
            {split: list(_trials_of(trials_by_split, in_scope, split)) for split, _ in SPLITS},
        )
    result.notes += _notes()
    return result


def _trials_of(
    trials_by_split: dict[tuple[str, Split], list[Trial]], selected: Sequence[str], split: Split
) -> Iterator[Trial]:
    return itertools.chain.from_iterable(trials_by_split[family, split] for family in selected)


def _row(result: Table, name: str, trials_by_split: dict[Split, list[Trial]]) -> None:
    all_trials = [trial for trials in trials_by_split.values() for trial in trials]
    seconds = Sample.from_seconds([trial.seconds for trial in all_trials])
    label = f"{name}: says so" if name == OUTSIDE else name
    result.add(
        label, *map(_pass_rate, trials_by_split.values()), format_duration(seconds.median, "s")
    )


def _pass_rate(trials: Sequence[Trial]) -> str:
    """Format the number of solved tasks, with a 95 % interval."""
    scores = [float(trial.passed) for trial in trials]
    interval = score_rewards(scores, len(scores))
    return f"{sum(scores):.0f} of {len(scores)} ({interval.low:.0%} … {interval.high:.0%})"


def _notes() -> list[str]:
    adapter = "with" if ADAPTER_PATH.is_file() else "WITHOUT"
    return [
        f"At its default temperature, {DEFAULT_TEMPERATURE}; {adapter} its adapter. Each trial is "
        "a run of the application with its own sandbox, over HTTP; the task's check of the "
        "workspace decides whether it is solved. In brackets: Wilson's 95 % interval. Held-out "
        "parameters: names, words, columns, numbers and functions that are not in the training "
        "data, in wordings of the training data; held-out wording: sentences that are not in the "
        "training data. "
        "Outside: tasks out of scope, which must be refused without writing files."
    ]


async def _run_trials(app: ServedApp, tasks: Sequence[FileTask]) -> list[Trial]:
    semaphore = asyncio.Semaphore(_MAX_CONCURRENT)

    async def run_one(task: FileTask) -> Trial:
        async with semaphore, app.client() as client:
            return await _run_trial(app, client, task)

    return await asyncio.gather(*map(run_one, tasks))


async def _run_trial(app: ServedApp, client: httpx.AsyncClient, task: FileTask) -> Trial:
    run = await app.draft(client)
    for name, content in task.input_files.items():
        data = content.encode() if isinstance(content, str) else content
        response = await client.put(f"/api/runs/{run}/files/input/{name}", content=data)
        response.raise_for_status()
    await app.start(client, run, task.text)
    observed = await app.follow(client, run)
    files = await _files(client, run)
    trial = Trial(
        task,
        task.is_solved(files, observed.answer),
        observed.status,
        observed.answer,
        observed.ended_at - observed.started_at,
    )
    if not trial.passed:
        print_progress(
            f"failed: {task.id} ({trial.status}): {task.text!r} → {trial.answer[:200]!r}"
        )
    (await client.delete(f"/api/runs/{run}")).raise_for_status()
    return trial


async def _files(client: httpx.AsyncClient, run: str) -> dict[str, bytes]:
    """Return the workspace's files, path → content."""
    response = (await client.get(f"/api/runs/{run}/zip")).raise_for_status()
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names}


def main() -> int:
    """Measure the families given on the command line."""
    parser = argparse.ArgumentParser("python -m tests.bench.agent.builtin", description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--family", action="append", default=[], choices=families())
    options = parser.parse_args()
    with bench_context() as context:
        print(table(context, trials=options.trials, only=options.family).markdown(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
