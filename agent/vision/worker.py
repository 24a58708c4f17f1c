"""The drawing process: draws one file from stdin, without network, privileges or time to spare."""

import json
import resource
import signal
import sys
from dataclasses import asdict

from agent.documents.drawing_error import DrawingError
from agent.documents.isolation import import_encodings, leave_network, switch_to_nobody
from agent.vision.draw import draw
from agent.vision.request import Drawing, DrawingRequest

MAX_MEMORY_BYTES = 1536 * 1024**2
"""Address space beyond the libraries'."""

SECONDS = 20
_DAMAGED = "It cannot be drawn; it may be damaged or truncated."


def main() -> None:
    """Draw the file on stdin, after a line with the request, and write the answer to stdout."""
    import_encodings()
    leave_network()
    _apply_limits()
    request = DrawingRequest.from_json(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    try:
        answer = _answer(draw(data, request))
    except DrawingError as error:
        answer = _line({"error": str(error)})
    except MemoryError:
        answer = _line({"error": "It needs too much memory to be drawn."})
    except Exception as error:  # noqa: BLE001 - the boundary: any library, any file
        answer = _line({"error": _DAMAGED, "cause": f"{type(error).__name__}: {error}"[:300]})
    sys.stdout.buffer.write(answer)


def _answer(drawing: Drawing) -> bytes:
    described = [
        {key: value for key, value in asdict(each).items() if key != "data"}
        | {"size": len(each.data)}
        for each in drawing.pictures
    ]
    head = {
        "remark": drawing.remark, "text": drawing.text, "pictures": described,
        "count": drawing.count,
    }  # fmt: skip
    return _line(head) + b"".join(each.data for each in drawing.pictures)


def _line(head: object) -> bytes:
    return json.dumps(head).encode() + b"\n"


def _apply_limits() -> None:
    signal.alarm(SECONDS)
    with open("/proc/self/statm") as file:  # noqa: PTH123 - a Path costs more than the read
        current = int(file.read().split()[0]) * resource.getpagesize()
    for limit, maximum in (
        (resource.RLIMIT_AS, current + MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(limit, (maximum, maximum))
    switch_to_nobody()


if __name__ == "__main__":
    main()
