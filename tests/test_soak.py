"""Many short runs, some of them concurrent, leave nothing behind."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from agent.sandbox.engine.client import Client
from tests.bench.agent.memory import private_memory
from tests.bench.agent.reference import endpoint
from tests.bench.context import bench_context
from tests.bench.server.clients import ServedApp, serve_app
from tests.support import httpx
from tests.support.server import wait_until

WARM, RUNS, CONCURRENCY = 8, 24, 4
MAX_MEMORY_GROWTH = 24 * 1024**2
"""Bytes by which memory may grow, to allow for the allocator and the interpreter."""


async def run_concurrently(app: ServedApp, count: int) -> list[str]:
    statuses: list[str] = []
    while len(statuses) < count:
        task = "Run 1 steps of `true`."
        observed = await asyncio.gather(*(app.run(task) for _ in range(CONCURRENCY)))
        statuses += [each.status for each in observed]
    return statuses


async def delete_all(app: ServedApp) -> None:
    async with app.client() as client:
        while rows := (await client.get("/api/runs?limit=200")).json()["runs"]:
            for row in rows:
                (await client.delete(f"/api/runs/{row['run']}")).raise_for_status()


def resource_counts(app: ServedApp, engine: Client, instance: str) -> dict[str, int]:
    """Count the resources of the application; a request ends idle threads of the server."""
    httpx.get(f"{app.address}/api/runs").raise_for_status()
    filters = {"label": f"{INSTANCE_LABEL}={instance}"}
    return {
        "threads": len(list(Path(f"/proc/{app.pid}/task").iterdir())),
        "descriptors": len(list(Path(f"/proc/{app.pid}/fd").iterdir())),
        "containers": len(engine.api.containers(all=True, filters=filters)),
        "networks": len(engine.api.networks(filters=filters)),
    }


def open_files(app: ServedApp) -> Counter[str]:
    """Count the descriptors by what is open: a path, “socket”, “pipe”."""
    found = Counter[str]()
    for each in Path(f"/proc/{app.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            found[str(each.readlink()).partition(":[")[0]] += 1
    return found


def increases(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in after if after[name] > before[name]}


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_runs_leak_no_resources(engine: Client, image: str) -> None:
    with (
        bench_context() as context,
        endpoint(context) as (url, _),
        serve_app(context, url, CONCURRENCY, sandboxes=64) as app,
    ):
        instance = (Path(context.folder) / "load" / "instance").read_text().strip()
        asyncio.run(run_concurrently(app, WARM))
        asyncio.run(delete_all(app))
        before, memory = resource_counts(app, engine, instance), private_memory(app.pid)
        files = open_files(app)
        statuses = asyncio.run(run_concurrently(app, RUNS))
        assert statuses == ["submitted"] * RUNS
        asyncio.run(delete_all(app))
        with suppress(AssertionError):  # the assertion below shows the difference
            wait_until(lambda: not increases(resource_counts(app, engine, instance), before), 60)
        more = increases(resource_counts(app, engine, instance), before)
        assert more == {}, open_files(app) - files
        assert private_memory(app.pid) - memory < MAX_MEMORY_GROWTH
