"""A scripted endpoint in a separate process, so that it does not slow down what is measured.

It prints its address, then one line per chat request: the time of the monotonic clock. A task with
``N steps of `true` `` gets N commands ``true``, then ``submit``; one with `` `work` `` gets
commands that write and read files. Without tools the answer is 2.
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
    """Does not keep requests: there are hundreds, each with the whole conversation."""

    def record(self, received: ReceivedRequest) -> None:
        pass


def _turn(body: Body) -> Turn:
    print(time.monotonic(), flush=True)
    if not body.get("tools"):
        return Turn(text="\\boxed{2}")
    task_match = _STEPS.search(str(body["messages"][:2]))
    done = sum(message["role"] == "assistant" for message in body["messages"])
    if task_match and done < int(task_match[1]):
        command = "true" if task_match[2] == "true" else _WORK[done % len(_WORK)]
        return Turn(calls=[Call("execute_bash", {"command": command}, f"call_{done}")])
    return Turn(calls=[Call("submit", {}, f"call_{done}")])


if __name__ == "__main__":
    with _UnrecordedEndpoint(_turn, strict=False) as endpoint:
        print(endpoint.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
