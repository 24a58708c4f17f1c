"""What one more request, start, deletion, run and idle minute costs beside a history of runs."""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import httpx

from agent.history.index import History
from tests.bench.agent.reference import endpoint
from tests.bench.context import BenchContext
from tests.bench.server.clients import ServedApp, serve_app
from tests.bench.server.history import write_runs
from tests.bench.server.idle import cpu_seconds, cpu_seconds_during
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support.evaluations.client import EvaluationClient

USER = "0"  # has all runs of write_runs with one owner
REQUESTS = 20
_RUNS = 100
_IDLE_SECONDS = 65.0
"""Maintenance takes place each minute."""
_QUIET_SECONDS, _QUIET_SHARE = 3.0, 0.02
DELETION = "deletion of a run, and the list after it"
ERASURE = "deleted texts are erased in the background"


def measure(context: BenchContext, runs: int) -> Mapping[str, float]:
    data = context.folder / f"growth-{runs}"
    write_runs(data, runs, owners=1)
    history = History(data)
    while history.page() and history.indexer.backlog:
        history.indexer.update(60.0)
    history.indexer.close()
    quick = runs < REQUESTS * 10
    times = 2 if quick else REQUESTS
    users = ":".join(accounts(USER)[0])

    def serve(url: str) -> AbstractContextManager[ServedApp]:
        return serve_app(
            context, url, 8, STUDIO_DATA=str(data), STUDIO_USERS=users, STUDIO_WARM_SANDBOXES="0"
        )

    with endpoint(context) as (url, _):
        with serve(url) as app:  # the first start looks at each run's sandbox
            _wait_until_idle(app)
        with serve(url) as app:
            costs = {"start of the application": cpu_seconds(app.pid)}
            with signed_in(app.address, USER) as client:
                client.get("/api/runs").raise_for_status()
                costs |= {"start and first list": cpu_seconds(app.pid)}
                _wait_until_idle(app)
                idle = 1.0 if quick else _IDLE_SECONDS
                costs |= {"idle minute": cpu_seconds_during(app.pid, idle) * 60 / idle}
                for name, action in _actions(client).items():
                    costs[name] = _cpu_per_call(app, action, times)
            costs |= {"run of an evaluation, plain": _evaluation(app, 3 if quick else _RUNS)}
            with signed_in(app.address, USER) as client:
                costs |= {DELETION: _cpu_per_call(app, _deletion(client), times)}
            costs |= {ERASURE: _wait_until_idle(app)}
    shutil.rmtree(data)
    return costs


def _actions(client: httpx.Client) -> dict[str, Callable[[], object]]:
    def get(url: str) -> Callable[[], object]:
        return lambda: client.get(url).raise_for_status()

    return {
        "list": get("/api/runs"),
        "search": get("/api/runs?q=kingfisher"),
        "storage of all runs": get("/api/usage"),
        "new draft, with the check of the quota": lambda: client.post(
            "/api/runs"
        ).raise_for_status(),
    }


def _deletion(client: httpx.Client) -> Callable[[], object]:
    listed = client.get("/api/runs?limit=50").raise_for_status().json()["runs"]
    runs = iter([each["run"] for each in listed])

    def delete() -> None:
        client.delete(f"/api/runs/{next(runs)}").raise_for_status()
        client.get("/api/runs").raise_for_status()

    return delete


def _wait_until_idle(app: ServedApp) -> float:
    """Wait for the application's work in the background; return the CPU that it took."""
    before = cpu_seconds(app.pid)
    while cpu_seconds_during(app.pid, _QUIET_SECONDS) > _QUIET_SECONDS * _QUIET_SHARE:
        pass
    return cpu_seconds(app.pid) - before


def _cpu_per_call(app: ServedApp, action: Callable[[], object], times: int) -> float:
    action()  # warm-up
    before = cpu_seconds(app.pid)
    for _ in range(times):
        action()
    return (cpu_seconds(app.pid) - before) / times


def _evaluation(app: ServedApp, runs: int) -> float:
    """Return the CPU of each run of an evaluation that is carried out to its end."""
    with signed_in(app.address, USER) as http:
        client = EvaluationClient(http)
        tasks = [{"id": f"{n}", "problem": f"What is {n}?", "answer": "2"} for n in range(runs)]
        member = {"mode": "plain"}
        warm_up = client.create(members=[member], limit=1)
        client.wait(warm_up)
        before = cpu_seconds(app.pid)
        data = "\n".join(map(json.dumps, tasks)).encode()
        evaluation = client.create(data, members=[member], at_once=8)
        done = client.wait(evaluation, seconds=600)
        used = cpu_seconds(app.pid) - before
    if done["counts"]["right"] != runs:
        raise RuntimeError(f"The evaluation did not solve its tasks: {done['counts']}")
    return used / runs
