"""The application under load: concurrent runs, idle sandboxes and followers.

The application, the model's endpoint and the engine are separate processes; the followers are in
this one. The delay of an event is the time from its timestamp to its arrival.
"""

import asyncio
from collections.abc import Sequence

from tests.bench.agent.memory import private_memory
from tests.bench.agent.reference import endpoint
from tests.bench.context import BenchContext, print_progress
from tests.bench.server.clients import ObservedRun, ServedApp, serve_app
from tests.bench.tables import Sample, Table, format_duration, format_megabytes

_HEADINGS = ("what", "value", "beside it")
_REST_SECONDS = 5.0


def table(
    context: BenchContext,
    *,
    run_counts: Sequence[int] = (1, 5, 20),
    steps: int = 30,
    idle_sandboxes: int = 50,
    followers: int = 200,
) -> Table:
    result = Table(f"Load: runs of {steps} steps with real commands", _HEADINGS)
    with endpoint(context) as (url, _lines), serve_app(context, url, max(run_counts)) as app:
        asyncio.run(app.run("Run 2 steps of `true`."))
        for count in run_counts:
            print_progress(f"load: {count} at once")
            _concurrent_runs(result, app, count, steps)
        print_progress(f"load: {followers} followers")
        _followers(result, app, followers, steps)
        print_progress(f"load: {idle_sandboxes} sandboxes at rest")
        _idle_sandboxes(result, app, idle_sandboxes)
    result.notes.append(
        "A step is one of: write a file, sort one, search it, add it up in Python, list the "
        "workspace. Of a crowd all begin at once; a run's sandbox is made meanwhile. Event → "
        "follower is from the event's own time to its arrival over HTTP, all followers of all "
        "runs together."
    )
    return result


def _concurrent_runs(result: Table, app: ServedApp, count: int, steps: int) -> None:
    before = private_memory(app.pid)

    async def run_all() -> tuple[list[ObservedRun], int]:
        task = f"Run {steps} steps of `work`."
        runs = [asyncio.create_task(app.run(task)) for _ in range(count)]
        peak_memory = before
        while not all(run.done() for run in runs):
            peak_memory = max(peak_memory, private_memory(app.pid))
            await asyncio.wait(runs, timeout=0.5)
        return [run.result() for run in runs], peak_memory

    observed, peak_memory = asyncio.run(run_all())
    seconds = max(each.ended_at for each in observed) - min(each.started_at for each in observed)
    growth = format_megabytes((peak_memory - before) / count)
    name = f"{count} at once" if count > 1 else "one alone"
    result.add(f"{name}: steps a second", f"{count * steps / seconds:.1f}", "")
    result.add(f"{name}: event → follower", *_delay_cells(observed))
    result.add(f"{name}: failed", str(_failed(observed)), f"of {count}")
    result.add(f"{name}: memory of the application, a run", growth, "")


def _delay_cells(observed: Sequence[ObservedRun]) -> tuple[str, str]:
    delays = Sample([delay for each in observed for delay in each.delays])
    return format_duration(delays.median), f"95 %: {format_duration(delays.p95)}"


def _failed(observed: Sequence[ObservedRun]) -> int:
    return sum(each.status != "submitted" for each in observed)


def _followers(result: Table, app: ServedApp, count: int, steps: int) -> None:
    async def follow_all() -> list[ObservedRun]:
        async with app.client() as first:
            run = await app.draft(first)
            clients = [app.client() for _ in range(count)]
            following = [asyncio.create_task(app.follow(each, run)) for each in clients]
            await asyncio.sleep(_REST_SECONDS)
            await app.start(first, run, f"Run {steps} steps of `work`.")
            observed = await asyncio.gather(*following)
            await asyncio.gather(*(each.aclose() for each in clients))
            return list(observed)

    observed = asyncio.run(follow_all())
    result.add(f"{count} followers of one run: event → follower", *_delay_cells(observed))


def _idle_sandboxes(result: Table, app: ServedApp, count: int) -> None:
    async def fill() -> list[ObservedRun]:
        observed: list[ObservedRun] = []
        while len(observed) < count:
            batch = min(10, count - len(observed))
            tasks = [app.run("Run 1 steps of `true`.") for _ in range(batch)]
            observed += await asyncio.gather(*tasks)
        return observed

    before = private_memory(app.pid)
    observed = asyncio.run(fill())
    growth = format_megabytes((private_memory(app.pid) - before) / count)
    result.add(f"{count} sandboxes at rest: memory of the application, each", growth, "")
    result.add(f"{count} sandboxes at rest: failed", str(_failed(observed)), f"of {count}")
