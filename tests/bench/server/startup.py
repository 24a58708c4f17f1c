"""Startup and shutdown of the application, its smallest answers, and the size of the image."""

import socket
import sys
import time
from collections import defaultdict
from http.client import HTTPConnection, HTTPException

from tests.bench.agent.memory import private_memory
from tests.bench.context import TIMEOUT_SECONDS, BenchContext, run_program
from tests.bench.tables import (
    SAMPLE_HEADINGS,
    Sample,
    Table,
    format_megabytes,
    measure,
    record_duration,
)

_POLL_SECONDS = 0.005
_ANSWERS = 20
_KEPT, _NEW = "`GET /healthz` on a kept connection", "the same on a new connection each time"


def table(context: BenchContext, *, times: int = 5) -> Table:
    """Measure repeated startups on a machine that is set up."""
    result = Table(
        "Starting the page's program",
        ("`python app.py`, from the start of the process", *SAMPLE_HEADINGS),
    )
    durations: dict[str, list[float]] = defaultdict(list)
    answers: dict[str, list[float]] = defaultdict(list)
    sizes = [_measure_start(context, durations, answers) for _ in range(times + 1)]
    for name, seconds in durations.items():
        result.add(name, *Sample.from_seconds(seconds[1:]).cells("s"))
    for name, seconds in answers.items():
        result.add(name, *Sample.from_seconds(seconds).cells())
    result.add("`import gradio` alone, for comparison", *_measure_import(context, "gradio", times))
    image = context.client.images.get(context.image).attrs["Size"]
    result.notes = [
        "Bar: the page within 5 s.",
        "Private memory of the program once it is ready: "
        f"{format_megabytes(sorted(sizes)[times // 2])}. "
        f"The sandbox image: {format_megabytes(image)} uncompressed (bar: 1,100 MB).",
    ]
    return result


def _measure_start(
    context: BenchContext, durations: dict[str, list[float]], answers: dict[str, list[float]]
) -> int:
    port = _free_port()
    environment = context.environment(
        "startup", GRADIO_SERVER_PORT=str(port), GRADIO_SERVER_NAME="127.0.0.1"
    )
    start_time = time.perf_counter()
    with run_program([sys.executable, "app.py"], environment) as process:
        _wait_for_response(port, "/", b"")
        durations["`GET /` answers"].append(time.perf_counter() - start_time)
        _wait_for_response(port, "/healthz", b'{"ok":true')
        durations["`GET /healthz` says that sandboxes can be had"].append(
            time.perf_counter() - start_time
        )
        _measure_answers(port, answers)
        size = private_memory(process.pid)
        with record_duration(durations["from TERM to its end, warm sandbox removed"]):
            process.terminate()
            process.wait(TIMEOUT_SECONDS)
    return size


def _measure_answers(port: int, answers: dict[str, list[float]]) -> None:
    kept = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    for _ in range(_ANSWERS):
        new = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        for name, connection in ((_KEPT, kept), (_NEW, new)):
            with record_duration(answers[name]):
                connection.request("GET", "/healthz")
                connection.getresponse().read()
        new.close()
    kept.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_response(port: int, path: str, content: bytes) -> None:
    """Poll until the response starts with ``content``."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status == 200 and answer.read().startswith(content):
                return
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(_POLL_SECONDS)
    raise RuntimeError(f"The page's program does not answer at {path}.")


def _measure_import(context: BenchContext, name: str, times: int) -> tuple[str, ...]:
    command = [sys.executable, "-c", f"import {name}"]

    def run() -> None:
        with run_program(command, context.environment("startup")) as process:
            process.wait(TIMEOUT_SECONDS)

    return measure(run, times).cells("s")
