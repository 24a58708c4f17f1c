"""A command in the persistent shell, compared with ``docker exec``."""

import shutil
import subprocess
import uuid
from collections.abc import Callable

from agent.data_folder import DataFolder
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.util.cancellation import Stop
from tests.bench.context import BenchContext
from tests.bench.tables import SAMPLE_HEADINGS, Sample, Table, measure

_BLOCKS = 4


def table(context: BenchContext, *, times: int = 1000, execs: int = 40) -> Table:
    """Measure ``true`` in one container by several methods."""
    result = Table(
        "One command in the sandbox",
        ("the same container", *SAMPLE_HEADINGS),
        notes=["Taken in turns, a block of each at a time. Bar: 5 ms for `true` in the shell."],
    )
    with DataFolder(context.folder / "shell") as data:
        spec = ContainerSpec(
            image=context.image,
            instance=data.instance_id,
            sandbox_id=uuid.uuid4().hex,
            workspace=data.workspace("shell"),
        )
        sandbox = DockerSandbox.create(context.client, spec)
        try:
            for name, sample in _measure_interleaved(
                _methods(context, sandbox, times, execs)
            ).items():
                result.add(name, *sample.cells())
        finally:
            sandbox.close()
    return result


def _methods(
    context: BenchContext, sandbox: DockerSandbox, times: int, execs: int
) -> dict[str, tuple[Callable[[], object], int]]:
    def execute(command: str) -> Callable[[], object]:
        return lambda: list(sandbox.execute(command, timeout=60, stop=Stop()))

    def exec_by_api() -> None:
        api = context.client.api
        created = api.exec_create(sandbox.container, ["bash", "-c", "true"])
        api.exec_start(created["Id"])
        api.exec_inspect(created["Id"])

    methods = {
        "`true` in the shell": (execute("true"), times),
        "`/bin/true` in the shell, a process": (execute("/bin/true"), times // 2),
        "`bash -c true` by the engine's API, as the reference does": (exec_by_api, execs),
    }
    if docker := shutil.which("docker"):
        command = [docker, "exec", sandbox.container, "true"]
        environment = context.environment("x")
        methods["`docker exec … true`"] = (
            lambda: subprocess.run(command, env=environment, check=True),
            execs,
        )
    return methods


def _measure_interleaved(methods: dict[str, tuple[Callable[[], object], int]]) -> dict[str, Sample]:
    durations: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(_BLOCKS):
        for name, (work, times) in methods.items():
            durations[name] += measure(work, max(1, times // _BLOCKS)).seconds
    return {name: Sample.from_seconds(seconds) for name, seconds in durations.items()}
