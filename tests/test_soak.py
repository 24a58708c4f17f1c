"""Two hundred short runs, one after the other and beside each other, leave nothing behind."""

import asyncio
from contextlib import suppress
from pathlib import Path

import docker
import httpx
import pytest

from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from tests.bench.agent.memory import private_memory
from tests.bench.agent.reference import endpoint
from tests.bench.context import bench_context
from tests.bench.server.clients import ServedApp, serve_app
from tests.support.server import wait_until

WARM, RUNS, AT_ONCE = 52, 200, 4
GROWTH = 24 * 1024**2
"""Bytes that memory may differ by: the allocator's and the interpreter's own breath."""


async def play(program: ServedApp, count: int) -> list[str]:
    """So many runs, some at a time; their statuses."""
    statuses: list[str] = []
    while len(statuses) < count:
        task = "Run 1 steps of `true`."
        seen = await asyncio.gather(*(program.play(task) for _ in range(AT_ONCE)))
        statuses += [each.status for each in seen]
    return statuses


async def delete_all(program: ServedApp) -> None:
    """Delete every run there is."""
    async with program.client() as client:
        while rows := (await client.get("/api/runs?most=200")).json()["runs"]:
            for row in rows:
                (await client.delete(f"/api/runs/{row['run']}")).raise_for_status()


def held(program: ServedApp, engine: docker.DockerClient, instance: str) -> dict[str, int]:
    """What the application and the engine hold for it.

    Threads that serve requests and have been idle for a while go when another request comes.
    """
    httpx.get(f"{program.address}/api/runs").raise_for_status()
    mine = {"label": f"{INSTANCE_LABEL}={instance}"}
    return {
        "threads": len(list(Path(f"/proc/{program.pid}/task").iterdir())),
        "descriptors": len(list(Path(f"/proc/{program.pid}/fd").iterdir())),
        "containers": len(engine.api.containers(all=True, filters=mine)),
        "networks": len(engine.api.networks(filters=mine)),
    }


def more(now: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """What there is more of than before, and by how much."""
    return {name: now[name] - before[name] for name in now if now[name] > before[name]}


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_two_hundred_runs_leave_what_there_was(engine: docker.DockerClient, image: str) -> None:
    with (
        bench_context() as where,
        endpoint(where) as (url, _),
        serve_app(where, url, AT_ONCE, sandboxes=64) as program,
    ):
        instance = (Path(where.folder) / "load" / "instance").read_text().strip()
        asyncio.run(play(program, WARM))
        asyncio.run(delete_all(program))
        before, memory = held(program, engine, instance), private_memory(program.pid)
        statuses = asyncio.run(play(program, RUNS))
        assert statuses == ["submitted"] * RUNS
        asyncio.run(delete_all(program))
        with suppress(AssertionError):  # what there is too much of is shown below
            wait_until(lambda: not more(held(program, engine, instance), before), 60)
        assert more(held(program, engine, instance), before) == {}
        assert private_memory(program.pid) - memory < GROWTH
