"""What recording the capability usage of a call costs."""

import subprocess
import sys
import uuid
from collections.abc import Callable

from agent.capabilities.observed import call_usage
from agent.capabilities.parsed import CallReader
from agent.data_folder import DataFolder
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.util.cancellation import Stop
from tests.bench.context import BenchContext
from tests.bench.tables import SAMPLE_HEADINGS, Table, measure

_SCRIPT = "import math\n" + "".join(f"x{n} = math.sqrt({n}) * 2\n" for n in range(400))
_COMMANDS = {
    "`ls -la input && head -5 input/a.csv`": "ls -la input && head -5 input/a.csv",
    "a pipeline of four programs": "cat a.txt | grep -i word | sort -u | wc -l",
    "a heredoc script of 400 lines, executed": f"python3 <<'EOF'\n{_SCRIPT}EOF",
    "64,000 characters made to be slow": "a | " * 16_000,
}
_OBSERVE = """
import sys, time
sys.path.insert(0, "/opt/studio")
from supervisor.observation import Observation
began = time.perf_counter()
for _ in range(1000): Observation().report()
print((time.perf_counter() - began) / 1000)
"""
_FIRST = """
import time
from agent.capabilities.parsed import CallReader
began = time.perf_counter()
CallReader().read("execute_bash", {"command": "ls"})
print(time.perf_counter() - began)
"""


def table(context: BenchContext, *, times: int = 200) -> Table:
    """Measure the reading of calls, and what the supervisor observes per command."""
    result = Table(
        "What recording a command's capability usage costs",
        ("per command", *SAMPLE_HEADINGS),
        notes=[
            "Bar: 1 ms for a usual command; a hostile one at most 0.1 s.",
            f"The first command of a process: {_first_command() * 1000:.0f} ms (the grammar is "
            "loaded; not when the process starts).",
            f"In the container, CPU time and packages: {_observation(context) * 1e6:.0f} µs.",
        ],
    )
    for name, command in _COMMANDS.items():
        sample = measure(_reading(command), times if len(command) < 20_000 else 5)
        result.add(name, *sample.cells())
    return result


def _reading(command: str) -> Callable[[], object]:
    arguments = {"command": command}
    return lambda: call_usage(CallReader(), "execute_bash", arguments, ok=True, cpu_seconds=0.1)


def _first_command() -> float:
    return float(subprocess.check_output([sys.executable, "-c", _FIRST]))


def _observation(context: BenchContext) -> float:
    with DataFolder(context.folder / "capabilities") as data:
        spec = ContainerSpec(
            image=context.image,
            instance=data.instance_id,
            sandbox_id=uuid.uuid4().hex,
            workspace=data.workspace("capabilities"),
        )
        sandbox = DockerSandbox.create(context.client, spec)
        try:
            command = f"/usr/bin/python3 -I -S -c '{_OBSERVE}'"
            items = list(sandbox.execute(command, timeout=60, stop=Stop()))
            output = b"".join(getattr(item, "data", b"") for item in items)
            return float(output)
        finally:
            sandbox.close()
