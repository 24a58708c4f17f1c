"""A command in the persistent shell, compared with ``docker exec``."""

import shutil
import subprocess
import uuid
from collections.abc import Callable
from contextlib import closing

from agent.data_folder import DataFolder
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.util.stop import Stop
from tests.bench.context import BenchContext
from tests.bench.tables import Table, measure, sample_table

_BLOCKS = 4


def table(context: BenchContext, *, times: int = 1000, execs: int = 40) -> Table:
    result = sample_table(
        "One command in the sandbox",
        "the same container",
        "Taken in turns, a block of each at a time. Bar: 5 ms for `true` in the shell.",
    )
    with DataFolder(context.folder / "shell") as data:
        spec = ContainerSpec(
            image=context.image,
            instance=data.instance_id,
            sandbox_id=uuid.uuid4().hex,
            workspace=data.workspace("shell"),
        )
        with closing(DockerSandbox.create(context.client, spec)) as sandbox:
            methods: dict[str, tuple[Callable[[], object], int]] = {
                "`true` in the shell": (
                    lambda: list(sandbox.execute("true", timeout=60, stop=Stop())),
                    times,
                )
            }
            if docker := shutil.which("docker"):
                command = [docker, "exec", sandbox.container, "true"]
                environment = context.environment("x")
                methods["`docker exec … true`"] = (
                    lambda: subprocess.run(command, env=environment, check=True),
                    execs,
                )
            seconds: dict[str, list[float]] = {name: [] for name in methods}
            for _ in range(_BLOCKS):
                for name, (work, count) in methods.items():
                    seconds[name] += measure(work, max(1, count // _BLOCKS))
    for name, each in seconds.items():
        result.add_sample(name, each)
    return result
