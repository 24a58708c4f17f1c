"""A scripted endpoint in a process of its own, so that it takes no time from who is measured.

It prints its address, then a line at each chat request: the time by the machine's monotonic
clock. A task that says ``N steps of `true` `` gets N commands ``true``, then ``submit``; one
of `` `work` `` gets commands that do something.
"""

import re
import signal
import time

from tests.support.models.endpoint import Call, Endpoint, ReceivedRequest, Turn
from tests.support.models.turns import Body

_STEPS = re.compile(r"(\d+) steps of `(true|work)`")
_WORK = (
    "seq 1 20000 | shuf > output/numbers.txt",
    "sort -n output/numbers.txt > output/sorted.txt; tail -3 output/sorted.txt",
    "grep -c 7 output/numbers.txt",
    "python3 -c 'print(sum(map(int, open(\"output/numbers.txt\"))))'",
    "ls -l output; wc -l output/*",
)


class _UnrecordedEndpoint(Endpoint):
    """Keeps no request: there are hundreds, each with the whole conversation."""

    def record(self, received: ReceivedRequest) -> None:
        pass


def _turn(body: Body) -> Turn:
    print(time.monotonic(), flush=True)
    wanted = _STEPS.search(str(body["messages"][:2]))
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if wanted and done < int(wanted[1]):
        command = "true" if wanted[2] == "true" else _WORK[done % len(_WORK)]
        return Turn(calls=[Call("execute_bash", {"command": command}, f"call_{done}")])
    return Turn(calls=[Call("submit", {}, f"call_{done}")])


if __name__ == "__main__":
    with _UnrecordedEndpoint(_turn, strict=False) as endpoint:
        print(endpoint.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
