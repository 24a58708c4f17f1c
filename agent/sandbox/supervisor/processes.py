"""Processes as /proc shows them, and signals to them. Nothing here needs a fork."""

# Paths are bytes here, and pathlib would double the start-up time.
# ruff: noqa: PTH123, PTH208

import os
import signal
import time
from collections.abc import Callable, Generator, Iterable

Wait = Generator[None, None, None]
TICK = 0.01


class Process:
    """One line of the process table. ``key`` tells it from a later one with its pid."""

    __slots__ = ("group", "key", "parent", "pid")

    def __init__(self, pid: int, parent: int, group: int, started: int) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.key = (started, pid)


Table = dict[int, Process]


def table() -> Table:
    """Every process that can be seen, the dead ones left out."""
    found: Table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields and fields[0] not in b"ZX":
            pid = int(name)
            found[pid] = Process(pid, int(fields[1]), int(fields[2]), int(fields[19]))
    return found


def descendants(processes: Table, roots: Iterable[int]) -> set[int]:
    """``roots`` and everything that descends from them."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to each; those that are gone already are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def whole_container() -> Callable[[Table], set[int]]:
    """Which processes are the commands': all but PID 1, its first child, and this one.

    The first child is what keeps the container alive (``sleep infinity``).
    """
    firsts = [p for p in table().values() if p.parent == 1 and p.pid != os.getpid()]
    keeper = min(firsts, key=lambda p: p.key).pid if firsts else 1
    spared = {1, keeper, os.getpid()}
    return lambda processes: set(processes) - spared


def own_descendants() -> Callable[[Table], set[int]]:
    """Which processes are the commands': what descends from this one."""
    me = os.getpid()
    return lambda processes: descendants(processes, [me]) - {me}


def end(find: Callable[[], set[int]], grace: float) -> Wait:
    """End what ``find`` names: TERM, then after ``grace`` seconds KILL until none is left.

    ``find`` is asked again and again, so that what is started meanwhile is found too. What
    outlives the first round is stopped before it is killed: a process that only forks cannot
    outrun that, since the stopped ones keep their places under the limit on processes.
    """
    told: set[int] = set()
    deadline = time.monotonic() + grace
    while (left := find()) and time.monotonic() < deadline:
        send(left - told, signal.SIGTERM)
        send(left - told, signal.SIGCONT)
        told |= left
        yield
    send(find(), signal.SIGKILL)
    yield
    while left := find():
        stopped: set[int] = set()
        while fresh := left - stopped:
            send(fresh, signal.SIGSTOP)
            stopped |= fresh
            left = find()
        send(stopped, signal.SIGKILL)
        yield


def until(reached: Callable[[], bool], seconds: float) -> Wait:
    """Pause until a state is reached, at most that long."""
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        yield
