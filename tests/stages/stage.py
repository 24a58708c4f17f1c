"""Stages: parts of a run of the tests, with their time and their results."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.levels.results import Results

ROOT = Path(__file__).parents[2]
FLAGS = "-n 2 --dist loadfile --no-loadscope-reorder"
"""Two test files in parallel on any machine: the tests mostly wait."""


@dataclass
class Stage:
    """Outcome of a stage: its tests, its seconds, the CPU seconds of its processes."""

    name: str
    seconds: float = 0
    cpu: float = 0
    machine_cpu: float = 0
    """CPU seconds of all processes meanwhile, those in containers included."""
    status: int = 0
    results: Results = field(default_factory=Results)


def run_tests(name: str, expression: str, *arguments: str) -> Stage:
    """Run the tests that an expression selects; a session without results counts as a failure."""
    print(f"\n── {name}: {expression} ──", flush=True)
    path = ROOT / ".make" / f"results-{name.replace(' ', '-')}.json"
    path.unlink(missing_ok=True)
    flags = shlex.split(os.environ.get("PYTEST_FLAGS") or FLAGS)
    files = tempfile.mkdtemp(prefix="tests-")  # not pytest's, which other sessions clean up
    command = [sys.executable, "-m", "pytest", *flags, "-m", expression]
    stage = run_command(name, [*command, f"--results={path}", f"--basetemp={files}", *arguments])
    if path.exists():
        stage.results = Results.read(path)
    if stage.status == _NO_TESTS:
        stage.status = 0
    if stage.status:
        print(f"The files of these tests are kept in {files}", flush=True)
    else:
        shutil.rmtree(files, ignore_errors=True)  # some may belong to root
    if stage.status and not stage.results.failed:
        stage.results.add_failure(f"{name}: pytest ended with status {stage.status}")
    return stage


_NO_TESTS = 5


def run_command(name: str, command: list[str], log: Path | None = None) -> Stage:
    """Run a command, whose output is printed or goes to ``log``."""
    started, busy = time.monotonic(), _busy_seconds()
    output = log.open("w") if log else None
    process = subprocess.Popen(
        command, cwd=ROOT, env=outside_make(), stdin=subprocess.DEVNULL, stdout=output,
        stderr=subprocess.STDOUT if output else None,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Stage(
        name,
        time.monotonic() - started,
        usage.ru_utime + usage.ru_stime,
        _busy_seconds() - busy,
        process.returncode,
    )


def outside_make() -> dict[str, str]:
    """Return the environment for a make that is not a part of the one that started us."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


def _busy_seconds() -> float:
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")
