"""Time from Run to the end of the first command, and from the last event to the end."""

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
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table, measure, record_duration
from tests.support.models.scripted import SUBMIT, bash

DOCKER_CLI_LABEL = "`docker run -d` and `docker exec … true` of the same image"


def table(context: BenchContext, *, times: int = 15) -> Table:
    """Measure runs from the warm pool, runs without it, and the engine's commands."""
    result = Table(
        "From Run to the first command's end",
        ("a run whose first step is `true`, the model's time aside", *SAMPLE_HEADINGS),
        notes=["Bars: 50 ms from the pool, which makes the next one meanwhile; 300 ms cold."],
    )
    for name, pool in (("sandbox from the warm pool", 1), ("sandbox made for the run (cold)", 0)):
        with context.provider(f"pool-{pool}", pool=pool) as provider:
            first_commands, shutdowns = _runs(context, provider, times)
        result.add(name, *first_commands.cells())
    result.add(DOCKER_CLI_LABEL, *_measure_docker_cli(context, max(1, times // 2)))
    result.add("the end: shell, container and watch gone", *shutdowns.cells())
    return result


def _runs(
    context: BenchContext, provider: DockerSandboxProvider, times: int
) -> tuple[Sample, Sample]:
    first_commands: list[float] = []
    shutdowns: list[float] = []
    for _ in range(times + 1):
        provider.wait_for_pool(TIMEOUT_SECONDS)
        with context.run(provider) as run:
            model = ScriptedModel([bash("true"), SUBMIT])
            events = run.start(TASK, model, Limits(), Stop())
            with record_duration(first_commands):
                next(event for event in events if isinstance(event, ToolEnded))
            next(event for event in events if isinstance(event, RunEnded))
            with record_duration(shutdowns):
                run.close()
    return Sample.from_seconds(first_commands[1:]), Sample.from_seconds(shutdowns[1:])


def _measure_docker_cli(context: BenchContext, times: int) -> tuple[str, ...]:
    docker = shutil.which("docker")
    if docker is None:
        return ("no `docker` command here", *[""] * (len(SAMPLE_HEADINGS) - 1))
    with DataFolder(context.folder / "by-hand") as data:
        label = f"{INSTANCE_LABEL}={data.instance_id}"
        run = [docker, "run", "-d", "--init", "--label", label, context.image, "sleep", "infinity"]
        try:
            return measure(
                partial(_run_and_exec, docker, run, context.environment("x")), times
            ).cells()
        finally:
            reap(context.client, data.instance_id)


def _run_and_exec(docker: str, run: list[str], environment: dict[str, str]) -> None:
    started = subprocess.run(run, env=environment, check=True, capture_output=True, text=True)
    subprocess.run([docker, "exec", started.stdout.strip(), "true"], env=environment, check=True)
