"""The built-in model on file tasks, in the whole application: HTTP, loop, sandbox."""

import asyncio
import io
import itertools
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from agent.models.builtin.install import ADAPTER_PATH, BUILTIN_MISSING_MESSAGE, find_files
from agent.models.builtin.sampler import DEFAULT_TEMPERATURE
from agent.tasks.file_tasks.generate import families, generate_file_tasks
from agent.tasks.file_tasks.task import FileTask, Split
from agent.tasks.scoring import score_rewards
from tests.bench.context import BenchContext, print_progress
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
    """One trial of a task: whether the task's check succeeded, and how long it took."""

    passed: bool
    seconds: float


def table(context: BenchContext, *, trials: int = 20, only: Sequence[str] = ()) -> Table:
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
            {
                split: [trial for family in in_scope for trial in trials_by_split[family, split]]
                for split, _ in SPLITS
            },
        )
    adapter = "with" if ADAPTER_PATH.is_file() else "WITHOUT"
    result.notes.append(
        f"At its default temperature, {DEFAULT_TEMPERATURE}; {adapter} its adapter. Each trial is "
        "a run of the application with its own sandbox, over HTTP; the task's check of the "
        "workspace decides whether it is solved. In brackets: Wilson's 95 % interval. Held-out "
        "parameters: names, words, columns, numbers and functions that are not in the training "
        "data, in wordings of the training data; held-out wording: sentences that are not in the "
        "training data. "
        "Outside: tasks out of scope, which must be refused without writing files."
    )
    return result


def _row(result: Table, name: str, trials_by_split: dict[Split, list[Trial]]) -> None:
    all_trials = [trial for trials in trials_by_split.values() for trial in trials]
    seconds = Sample([trial.seconds for trial in all_trials])
    label = f"{name}: says so" if name == OUTSIDE else name
    result.add(
        label, *map(_pass_rate, trials_by_split.values()), format_duration(seconds.median, "s")
    )


def _pass_rate(trials: Sequence[Trial]) -> str:
    scores = [float(trial.passed) for trial in trials]
    interval = score_rewards(scores, len(scores))
    return f"{sum(scores):.0f} of {len(scores)} ({interval.low:.0%} … {interval.high:.0%})"


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
    passed = task.is_solved(files, observed.answer)
    if not passed:
        answer = observed.answer[:200]
        print_progress(f"failed: {task.id} ({observed.status}): {task.text!r} → {answer!r}")
    (await client.delete(f"/api/runs/{run}")).raise_for_status()
    return Trial(passed, observed.ended_at - observed.started_at)


async def _files(client: httpx.AsyncClient, run: str) -> dict[str, bytes]:
    """Return the workspace's files, path → content."""
    response = (await client.get(f"/api/runs/{run}/zip")).raise_for_status()
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: archive.read(name) for name in names}
