"""Latency from pressing Run to the end of the first command."""

import shutil
import subprocess
from functools import partial

from agent.data_folder import DataFolder
from agent.events import RunEnded, ToolEnded
from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.provisioning.provider import DockerSandboxProvider
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, reap
from agent.util.cancellation import Stop
from tests.bench.context import TASK, TIMEOUT_SECONDS, BenchContext
from tests.bench.tables import Table, measure, record_duration, sample_table
from tests.support.models.scripted import SUBMIT, bash


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
