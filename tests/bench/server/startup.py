"""Startup of the application, its smallest answers, and the size of the image."""

import sys
import time
from collections import defaultdict
from http.client import HTTPConnection

from tests.bench.context import TIMEOUT_SECONDS, BenchContext, free_port, run_program
from tests.bench.server.clients import wait_until_it_answers
from tests.bench.tables import Table, format_megabytes, measure, record_duration, sample_table

_ANSWERS = 20
_KEPT, _NEW = "`GET /healthz` on a kept connection", "the same on a new connection each time"


def table(context: BenchContext, *, times: int = 5) -> Table:
    image = context.client.images.get(context.image).attrs["Size"]
    result = sample_table(
        "Starting the page's program",
        "`python app.py`, from the start of the process",
        "Bar: the page within 5 s. "
        f"The sandbox image: {format_megabytes(image)} uncompressed (bar: 1,100 MB).",
    )
    starts: dict[str, list[float]] = defaultdict(list)
    answers: dict[str, list[float]] = defaultdict(list)
    for _ in range(times + 1):
        _measure_start(context, starts, answers)
    for name, seconds in starts.items():
        result.add_sample(name, seconds[1:], "s")
    for name, seconds in answers.items():
        result.add_sample(name, seconds)
    seconds = measure(lambda: _import_gradio(context), times)
    result.add_sample("`import gradio` alone, for comparison", seconds, "s")
    return result


def _measure_start(
    context: BenchContext, starts: dict[str, list[float]], answers: dict[str, list[float]]
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = context.environment(
        "startup", GRADIO_SERVER_PORT=str(port), GRADIO_SERVER_NAME="127.0.0.1"
    )
    began = time.perf_counter()
    with run_program([sys.executable, "app.py"], environment):
        wait_until_it_answers(url)
        starts["`GET /` answers"].append(time.perf_counter() - began)
        wait_until_it_answers(f"{url}/healthz", '{"ok":true')
        ready = "`GET /healthz` says that sandboxes can be had"
        starts[ready].append(time.perf_counter() - began)
        _measure_answers(port, answers)


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


def _import_gradio(context: BenchContext) -> None:
    command = [sys.executable, "-c", "import gradio"]
    with run_program(command, context.environment("startup")) as process:
        process.wait(TIMEOUT_SECONDS)
