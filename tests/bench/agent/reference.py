"""A whole run on the command line, compared with the reference implementation's, over HTTP.

Both programs are measured from outside, at the same endpoint: a step is the time from one request
to the next; the times before the first and after the last request are startup and shutdown.
"""

import itertools
import queue
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agent.data_folder import DataFolder
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL
from tests.bench.context import ROOT, TIMEOUT_SECONDS, BenchContext, print_progress, run_program
from tests.bench.tables import Table, sample_table

REFERENCE = ROOT / ".make" / "reference"
_REQUIREMENTS = Path(__file__).parent / "requirements-reference.txt"
_INSTALL_SECONDS = 300
_Lines = queue.SimpleQueue[str]


class _ProgramUnavailable(Exception):
    """A program cannot be installed here, or fails its task."""


@dataclass(frozen=True)
class _ProgramRun:
    """Seconds of one run: until the first request, between requests, after the last one."""

    start: float
    steps: tuple[float, ...]
    end: float


@dataclass(frozen=True)
class _Program:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]


def table(context: BenchContext, *, short: int = 50, long: int = 200, rounds: int = 3) -> Table:
    result = sample_table(
        "The whole program beside the reference's, over HTTP",
        "headless, its own container, cold",
        "A step is from one request of the model's endpoint to the next, the endpoint's own "
        "time included; the conversation that is sent grows with each. Taken in turns.",
    )
    runs: dict[tuple[int, str], list[_ProgramRun]] = defaultdict(list)
    with endpoint(context) as (url, lines):
        programs = [_studio(context, url)]
        _run_task(programs[0], 2, lines)
        try:
            _install()
            _run_task(reference := _reference(context, url), 2, lines)
            programs.append(reference)
        except _ProgramUnavailable as error:
            result.notes.append(f"The reference was left out: {error}")
        for steps in [short] * rounds + [long]:
            for program in programs:
                print_progress(f"{program.name}, {steps} steps")
                runs[steps, program.name].append(_run_task(program, steps, lines))
    for (steps, name), measured in runs.items():
        seconds = [step for run in measured for step in run.steps]
        result.add_sample(f"a step, runs of {steps}: {name}", seconds)
    for program in programs:
        measured = [*runs[short, program.name], *runs[long, program.name]]
        starts, ends = [run.start for run in measured], [run.end for run in measured]
        result.add_sample(f"start to first request: {program.name}", starts, "s")
        result.add_sample(f"last request to the end: {program.name}", ends, "s")
    return result


@contextmanager
def endpoint(context: BenchContext) -> Iterator[tuple[str, _Lines]]:
    """Run the endpoint; yields its address and the lines that it prints."""
    command = [sys.executable, "-m", "tests.bench.agent.endpoint_program"]
    with run_program(command, context.environment("endpoint"), output=True) as process:
        assert process.stdout is not None
        lines: _Lines = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines))
        reader.start()
        try:
            yield lines.get(timeout=TIMEOUT_SECONDS).strip(), lines
        finally:
            process.terminate()
            reader.join()


def _read(source: IO[str], lines: _Lines) -> None:
    for line in source:
        lines.put(line)


def _run_task(program: _Program, steps: int, lines: _Lines) -> _ProgramRun:
    command = [word.format(task=f"Run {steps} steps of `true`.") for word in program.command]
    start_time = time.monotonic()
    with run_program(command, program.environment) as process:
        code = process.wait(TIMEOUT_SECONDS * 3)
        end_time = time.monotonic()
    request_times: list[float] = []
    with suppress(queue.Empty):
        while len(request_times) <= steps:
            request_times.append(float(lines.get(timeout=1)))
    if code or len(request_times) <= steps:
        raise _ProgramUnavailable(
            f"{program.name} ended with {code} after {len(request_times)} requests of {steps + 1}."
        )
    step_seconds = tuple(after - before for before, after in itertools.pairwise(request_times))
    return _ProgramRun(request_times[0] - start_time, step_seconds, end_time - request_times[-1])


def _studio(context: BenchContext, url: str) -> _Program:
    command = [sys.executable, "-m", "agent", "run", "{task}", "--base-url", url]
    command += ["--model", "test-model", "--max-steps", "1000"]
    environment = context.environment("headless", STUDIO_CONVERSATION_TOKENS="none")
    return _Program("studio", command, environment)


def _reference(context: BenchContext, url: str) -> _Program:
    """The reference, without its requests to the network at startup."""
    with DataFolder(context.folder / "reference") as data:
        label = f"{INSTANCE_LABEL}={data.instance_id}"
    script = str(Path(__file__).parent / "reference_program.py")
    command = [str(REFERENCE / "bin" / "python"), script, label, "run", "--query", "{task}"]
    command += ["--llm_name", "openai/test-model", "--llm_base_url", url]
    command += ["--docker_image", context.image, "--max_steps", "1000"]
    command += ["--max_token_limit", "10000000", "--output_dir", str(context.folder / "outputs")]
    environment = context.environment("reference", LITELLM_LOCAL_MODEL_COST_MAP="True")
    environment.pop("PYTHONPATH")
    return _Program("reference 0.2.0", command, environment)


def _install() -> None:
    """Install the reference into its own environment, once."""
    marker = REFERENCE / "installed"
    requirements = _REQUIREMENTS.read_text()
    if marker.is_file() and marker.read_text() == requirements:
        return
    print_progress("installing the reference beside the studio (.make/reference)")
    python = str(REFERENCE / "bin" / "python")
    try:
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(REFERENCE)],
            [python, "-m", "pip", "install", "--quiet", "-r", str(_REQUIREMENTS)],
            [python, "-m", "pip", "install", "--quiet", "--no-deps", "llm-in-sandbox==0.2.0"],
        ):
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS
            )
    except subprocess.CalledProcessError as error:
        raise _ProgramUnavailable(str(error.stderr).strip().splitlines()[-1]) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _ProgramUnavailable(str(error)) from error
    marker.write_text(requirements)
