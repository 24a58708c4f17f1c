"""A sandbox's requests while its neighbours try to use up the proxy that all share."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import OutputChunk, Sandbox
from agent.sandbox.network.policy import NetworkPolicy
from agent.util.stop import Stop
from tests.bench.context import BenchContext
from tests.bench.tables import Table, sample_table
from tests.contract.sandbox_helpers import acquire_sandbox, check_output

_PROGRAM = """
import os, select, socket, sys, time
host, port = os.environ["http_proxy"].removeprefix("http://").strip("/").split(":")
kind, count, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
request = b"GET http://169.254.169.254/ HTTP/1.1\\r\\nHost: 169.254.169.254\\r\\n"
opened, waiting = {}, select.epoll()
def begin():
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex((host, int(port)))
    opened[one.fileno()] = one
    waiting.register(one, select.EPOLLOUT)
while time.monotonic() < end:
    while len(opened) < count:
        begin()
    for number, event in waiting.poll(0.2):
        if kind == "half-open" and event == select.EPOLLOUT:
            opened[number].send(request)
            waiting.modify(number, select.EPOLLIN)
        elif kind == "requests" and not event & ~(select.EPOLLIN | select.EPOLLOUT):
            answered = event & select.EPOLLIN and opened[number].recv(65536)
            if event & select.EPOLLOUT or answered:
                opened[number].send(request + b"\\r\\n")
                waiting.modify(number, select.EPOLLIN)
                continue
            opened.pop(number).close()
        else:
            opened.pop(number).close()
"""
_ASK = "curl -s -m 60 -o /dev/null -w '%{time_total} ' http://169.254.169.254/"


def table(
    context: BenchContext, *, neighbours: int = 9, connections: int = 3000, times: int = 60
) -> Table:
    result = sample_table(
        "A request of a sandbox through the shared proxy",
        f"{neighbours} neighbours",
        "The host is refused, so that no other machine is measured; on new connections. Bar: 1 s.",
        f"Each keeps {connections:,} connections open, or tries to. “half-open”: with half a "
        "request; “opened and closed”: closed at once; “requests”: one request after another.",
    )
    with context.provider("neighbours") as provider, ExitStack() as stack:
        asking, *others = (
            stack.enter_context(closing(_sandbox(provider))) for _ in range(1 + neighbours)
        )
        for kind in ("idle", "half-open", "opened and closed", "requests"):
            with _busy(others, kind, connections):
                result.add_sample(kind, _ask(asking, times))
    return result


def _sandbox(provider: DockerSandboxProvider) -> Sandbox:
    sandbox = acquire_sandbox(
        provider, RunFolder.create(provider.data.path, provider.create_workspace())
    )
    sandbox.set_network_policy(NetworkPolicy())
    check_output(sandbox, f"cat > /tmp/neighbour.py <<'END'\n{_PROGRAM}\nEND")
    return sandbox


@contextmanager
def _busy(others: list[Sandbox], kind: str, connections: int) -> Iterator[None]:
    """Let the neighbours work in the background during the block."""
    if kind == "idle":
        yield
        return
    try:
        for each in others:
            command = f"ulimit -n 4096; python3 /tmp/neighbour.py '{kind}' {connections} 600"
            check_output(each, f"({command}) > /tmp/log 2>&1 &")
        yield
    finally:
        for each in others:
            each.end_processes()


def _ask(sandbox: Sandbox, times: int) -> list[float]:
    found = list(sandbox.execute(f"for i in $(seq {times}); do {_ASK}; sleep 0.2; done",
                                 timeout=3600, stop=Stop()))  # fmt: skip
    output = b"".join(each.data for each in found if isinstance(each, OutputChunk))
    return [float(each) for each in output.split()]
