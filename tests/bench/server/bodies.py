"""What one user's request bodies cost the others: hostile bodies in a loop.

The application, the attackers and the model's endpoint are separate processes.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.bench.agent.memory import private_memory
from tests.bench.agent.reference import endpoint
from tests.bench.context import ROOT, BenchContext, print_progress
from tests.bench.server.clients import ServedApp, serve_app
from tests.bench.tables import Sample, Table, format_duration, format_megabytes
from tests.sandbox_ui.accounts import accounts
from tests.support import httpx
from tests.support.hostile.bodies import ATTACKS

_HEADINGS = ("attack", "/healthz", "event → follower", "attackers' requests a second", "memory")
_PAUSE_SECONDS = 0.02


def table(context: BenchContext, *, steps: int = 20, clients: int = 8) -> Table:
    result = Table(f"A neighbour of {clients} attackers: median, 95 %, largest", _HEADINGS)
    users = " ".join(f"{name}:{hashed}" for name, hashed in accounts("ann", "bob"))
    with (
        endpoint(context) as (url, _lines),
        serve_app(context, url, 4, STUDIO_USERS=users, STUDIO_OPENAI_API="on") as app,
    ):
        for name in (None, *ATTACKS):
            print_progress(f"bodies: {name}")
            result.add(*asyncio.run(_measure(app, name, steps, clients)))
    return result


async def _measure(app: ServedApp, attack: str | None, steps: int, clients: int) -> tuple[str, ...]:
    before = private_memory(app.pid)
    async with app.client() as bob:
        await bob.post("/login", data={"name": "bob", "password": "bob"})
        run = await app.draft(bob)
        following = asyncio.create_task(app.follow(bob, run))
        async with _attackers(app, attack, clients) as answered:
            await app.start(bob, run, f"Run {steps} steps of `work`.")
            delays, peak = [], before
            while not following.done():
                start_time = time.perf_counter()
                (await bob.get("/healthz")).raise_for_status()
                delays.append(time.perf_counter() - start_time)
                peak = max(peak, private_memory(app.pid))
                await asyncio.sleep(_PAUSE_SECONDS)
        observed = await following
    cells = [_cell(delays), _cell(observed.delays), answered[0] if answered else "–"]
    return (attack or "none", *cells, format_megabytes(peak - before))


def _cell(seconds: list[float]) -> str:
    sample = Sample(seconds)
    return ", ".join(map(format_duration, (sample.median, sample.p95, max(seconds))))


@asynccontextmanager
async def _attackers(app: ServedApp, attack: str | None, clients: int) -> AsyncIterator[list[str]]:
    """Attack during the block; then yields how many requests a second were answered."""
    answered: list[str] = []
    if attack is None:
        yield answered
        return
    async with httpx.AsyncClient(base_url=app.address) as ann:
        await ann.post("/login", data={"name": "ann", "password": "ann"})
        run = await app.draft(ann)
        link = (await ann.post(f"/api/runs/{run}/links")).json()["path"]
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.server.bodies_program", app.address, attack,
        str(clients), link, cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert program.stdout is not None
    await program.stdout.readline()
    try:
        yield answered
    finally:
        out, _ = await program.communicate(b"")  # closes its stdin, which ends it
        answered.append(out.decode().strip())
