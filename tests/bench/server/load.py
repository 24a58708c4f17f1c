"""Many runs at once, many sandboxes at rest, many who look on: the whole program under load.

The application is a program of its own, as are the endpoint that answers for the model and the
engine; whoever looks on is here. An event's way is the time from its own clock to its arrival.
"""

import asyncio
import time
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
    crowds: Sequence[int] = (1, 5, 20),
    steps: int = 30,
    resting: int = 50,
    watching: int = 200,
) -> Table:
    """Crowds of runs, then sandboxes at rest, then one run with many followers."""
    made = Table(f"Load: runs of {steps} steps with real commands", _HEADINGS)
    with endpoint(context) as (url, _lines), serve_app(context, url, max(crowds)) as studio:
        asyncio.run(studio.play("Run 2 steps of `true`."))
        alone = 0.0
        for crowd in crowds:
            print_progress(f"load: {crowd} at once")
            alone = _concurrent_runs(made, studio, crowd, steps, alone) or alone
        print_progress(f"load: {watching} followers")
        _followers(made, studio, watching, steps)
        print_progress(f"load: {resting} sandboxes at rest")
        _idle_sandboxes(made, studio, resting)
    made.notes.append(
        "A step is one of: write a file, sort one, search it, add it up in Python, list the "
        "workspace. Of a crowd all begin at once; a run's sandbox is made meanwhile. Event → "
        "follower is from the event's own time to its arrival over HTTP, all followers of all "
        "runs together."
    )
    return made


def _concurrent_runs(made: Table, studio: ServedApp, count: int, steps: int, alone: float) -> float:
    """So many runs at once; the steps a second of it."""
    before = private_memory(studio.pid)

    async def play() -> tuple[list[ObservedRun], int]:
        task = f"Run {steps} steps of `work`."
        runs = [asyncio.create_task(studio.play(task)) for _ in range(count)]
        most = before
        while not all(run.done() for run in runs):
            most = max(most, private_memory(studio.pid))
            await asyncio.wait(runs, timeout=0.5)
        return [run.result() for run in runs], most

    seen, most = asyncio.run(play())
    seconds = max(each.ended_at for each in seen) - min(each.started_at for each in seen)
    rate = count * steps / seconds
    late = Sample.from_seconds([late for each in seen for late in each.delays])
    failed = sum(each.status != "submitted" for each in seen)
    share = f"{rate / alone:.1f} × one alone" if alone else ""
    name = f"{count} at once" if count > 1 else "one alone"
    made.add(f"{name}: steps a second", f"{rate:.1f}", share)
    made.add(
        f"{name}: event → follower",
        format_duration(late.median),
        f"95 %: {format_duration(late.p95)}",
    )
    made.add(f"{name}: failed", str(failed), f"of {count}")
    made.add(
        f"{name}: memory of the application, a run", format_megabytes((most - before) / count), ""
    )
    return rate


def _followers(made: Table, studio: ServedApp, count: int, steps: int) -> None:
    """One run that so many follow."""

    async def play() -> list[ObservedRun]:
        async with studio.client() as first:
            run = await studio.draft(first)
            clients = [studio.client() for _ in range(count)]
            following = [asyncio.create_task(studio.follow(each, run)) for each in clients]
            await asyncio.sleep(_REST_SECONDS)
            await studio.begin(first, run, f"Run {steps} steps of `work`.")
            seen = await asyncio.gather(*following)
            await asyncio.gather(*(each.aclose() for each in clients))
            return list(seen)

    seen = asyncio.run(play())
    late = Sample.from_seconds([late for each in seen for late in each.delays])
    events = {len(each.delays) for each in seen}
    made.add(
        f"{count} followers of one run: event → follower",
        format_duration(late.median),
        f"95 %: {format_duration(late.p95)}; all were told {events}",
    )


def _idle_sandboxes(made: Table, studio: ServedApp, count: int) -> None:
    """So many runs that have come to their end and keep their sandboxes."""

    async def fill() -> list[ObservedRun]:
        seen: list[ObservedRun] = []
        while len(seen) < count:
            some = min(10, count - len(seen))
            tasks = [studio.play("Run 1 steps of `true`.") for _ in range(some)]
            seen += await asyncio.gather(*tasks)
        return seen

    before = private_memory(studio.pid)
    seen = asyncio.run(fill())
    failed = sum(each.status != "submitted" for each in seen)
    grown = (private_memory(studio.pid) - before) / count
    made.add(
        f"{count} sandboxes at rest: memory of the application, each", format_megabytes(grown), ""
    )
    busy = _cpu_share(studio.pid, _REST_SECONDS * 2)
    made.add(f"{count} sandboxes at rest: the application's processor", f"{busy:.1%}", "of one")
    made.add(f"{count} sandboxes at rest: failed", str(failed), f"of {count}")


def _cpu_share(process: int, seconds: float) -> float:
    """The share of one processor that a process takes in so many seconds."""
    before = _ticks(process)
    time.sleep(seconds)
    return (_ticks(process) - before) / 100 / seconds


def _ticks(process: int) -> int:
    """User and system time of a process, in hundredths of a second (proc(5))."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:  # noqa: PTH123 - not a path of ours
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
