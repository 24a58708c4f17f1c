"""Latency from pressing Run to the end of the first command, of one sandbox and of many."""

import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from agent.data_folder import DataFolder
from agent.events import RunEnded, ToolEnded
from agent.limits import Limits
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, reap
from agent.sandbox.network.policy import NetworkPolicy
from agent.util.stop import Stop
from tests.bench.context import TASK, TIMEOUT_SECONDS, BenchContext
from tests.bench.tables import Table, measure, record_duration, sample_table
from tests.contract.sandbox_helpers import acquire_sandbox, check_output
from tests.support.models.scripted import SUBMIT, ScriptedModel, bash

_NETWORKS = {"without a network": NetworkPolicy("none"), "with one": NetworkPolicy("open")}
_PAUSE_SECONDS = 1.0
"""Time in which what goes on behind a closed sandbox ends."""


def table(context: BenchContext, *, times: int = 15) -> Table:
    result = sample_table(
        "From Run to the first command's end",
        "a run whose first step is `true`, the model's time aside",
        "Bars: 50 ms from the pool, which makes the next one meanwhile; 300 ms cold.",
    )
    for name, pool in (("sandbox from the warm pool", 1), ("sandbox made for the run (cold)", 0)):
        with context.provider(f"pool-{pool}", pool=pool) as provider:
            result.add_sample(name, _first_commands(context, provider, times))
    if docker := shutil.which("docker"):
        name = "`docker run -d` and `docker exec … true` of the same image"
        result.add_sample(name, _measure_docker_cli(context, docker, max(1, times // 2)))
    return result


def _first_commands(
    context: BenchContext, provider: DockerSandboxProvider, times: int
) -> list[float]:
    seconds: list[float] = []
    for _ in range(times + 1):
        provider.wait_for_pool(TIMEOUT_SECONDS)
        with context.run(provider) as run:
            events = run.start(TASK, ScriptedModel([bash("true"), SUBMIT]), Limits(), Stop())
            with record_duration(seconds):
                next(event for event in events if isinstance(event, ToolEnded))
            next(event for event in events if isinstance(event, RunEnded))
    return seconds[1:]


def _measure_docker_cli(context: BenchContext, docker: str, times: int) -> list[float]:
    with DataFolder(context.folder / "by-hand") as data:
        label = f"{INSTANCE_LABEL}={data.instance_id}"
        run = [docker, "run", "-d", "--init", "--label", label, context.image, "sleep", "infinity"]
        try:
            return measure(partial(_run_and_exec, docker, run, context.environment("x")), times)
        finally:
            reap(context.client, data.instance_id)


def _run_and_exec(docker: str, run: list[str], environment: dict[str, str]) -> None:
    started = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
    subprocess.run([docker, "exec", started.stdout.strip(), "true"], env=environment, check=True)


def cold_table(context: BenchContext, *, times: int = 15, burst: int = 30) -> Table:
    result = sample_table(
        "Cold sandboxes",
        "until the first command's end, or until closed",
        f"A burst's median is half of {burst} sandboxes asked for at the same time. "
        "Bars: 186 ms for one, 2 s for half of a burst from the pool, 100 ms for a close.",
    )
    closings: list[float] = []
    for name, policy in _NETWORKS.items():
        starts, closes = list[float](), list[float]()
        with context.provider(f"cold-{policy.access}") as provider:
            for _ in range(times + 2):
                time.sleep(_PAUSE_SECONDS)
                with record_duration(starts):
                    sandbox = _start(provider, policy)
                with record_duration(closes):
                    sandbox.close()
            result.add_sample(f"one {name}", starts[2:])
            result.add_sample(f"closed, {name}", closes[2:])
            result.add_sample(f"{burst} at once {name}", _burst(provider, policy, burst), "s")
    for _ in range(max(1, times // 3)):
        with context.provider("cold-exit", pool=1) as provider:
            _start(provider, _NETWORKS["with one"]).close()
            provider.wait_for_pool(TIMEOUT_SECONDS)
            time.sleep(_PAUSE_SECONDS)
            with record_duration(closings):
                provider.close()
    result.add_sample("the application's sandboxes closed, one in the pool", closings)
    with context.provider("cold-pool", pool=burst) as provider:
        taken = _burst(provider, _NETWORKS["with one"], burst)
    result.add_sample(f"{burst} at once from a pool of {burst}", taken, "s")
    return result


def _start(provider: DockerSandboxProvider, policy: NetworkPolicy) -> Sandbox:
    """Return a new run's sandbox that has carried out its first command."""
    folder = RunFolder.create(provider.data.path, provider.create_workspace())
    folder.set_network(policy)
    sandbox = acquire_sandbox(provider, folder)
    check_output(sandbox, "true")
    return sandbox


def _burst(provider: DockerSandboxProvider, policy: NetworkPolicy, count: int) -> list[float]:
    """Return how long each of several sandboxes took that were asked for at the same time."""
    began, seconds = time.perf_counter(), list[float]()

    def start(_: int) -> Sandbox:
        sandbox = _start(provider, policy)
        seconds.append(time.perf_counter() - began)
        return sandbox

    with ThreadPoolExecutor(count) as threads:
        for each in list(threads.map(start, range(count))):
            threads.submit(each.close)
    return seconds
