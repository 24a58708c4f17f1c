"""Starting and ending the page's program, and how large the image is."""

import socket
import sys
import time
from collections import defaultdict
from http.client import HTTPConnection, HTTPException

from tests.bench.figures import SAMPLED, Sample, Table, megabytes, repeated, timed
from tests.bench.memory import private
from tests.bench.place import PATIENCE, Place, program

_LOOK = 0.005


def table(place: Place, *, times: int = 5) -> Table:
    """The program started anew each time, on a machine that is set up."""
    made = Table(
        "Starting the page's program",
        ("`python app.py`, from the start of the process", *SAMPLED),
    )
    found: dict[str, list[float]] = defaultdict(list)
    sizes = [_start(place, found) for _ in range(times + 1)]
    for name, seconds in found.items():
        made.add(name, *Sample.of(seconds[1:]).cells("s"))
    made.add("of it: `import gradio`, for comparison", *_import(place, "gradio", times))
    image = place.client.images.get(place.image).attrs["Size"]
    made.notes = [
        "Bar: the page within 5 s.",
        f"Private memory of the program once it is ready: {megabytes(sorted(sizes)[times // 2])}. "
        f"The sandbox image: {megabytes(image)} uncompressed (bar: 1,100 MB).",
    ]
    return made


def _start(place: Place, found: dict[str, list[float]]) -> int:
    port = _free_port()
    environment = place.environment(
        "startup", GRADIO_SERVER_PORT=str(port), GRADIO_SERVER_NAME="127.0.0.1"
    )
    began = time.perf_counter()
    with program([sys.executable, "app.py"], environment) as process:
        _wait(port, "/", b"")
        found["`GET /` answers"].append(time.perf_counter() - began)
        _wait(port, "/healthz", b'{"ok":true')
        found["`GET /healthz` says that sandboxes can be had"].append(time.perf_counter() - began)
        size = private(process.pid)
        with timed(found["from TERM to its end, warm sandbox removed"]):
            process.terminate()
            process.wait(PATIENCE)
    return size


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(port: int, path: str, content: bytes) -> None:
    """Ask until there is an answer that begins in this way."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status == 200 and answer.read().startswith(content):
                return
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(_LOOK)
    raise RuntimeError(f"The page's program does not answer at {path}.")


def _import(place: Place, name: str, times: int) -> tuple[str, ...]:
    command = [sys.executable, "-c", f"import {name}"]

    def run() -> None:
        with program(command, place.environment("startup")) as process:
            process.wait(PATIENCE)

    return repeated(run, times).cells("s")
