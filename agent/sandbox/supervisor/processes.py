"""The process table from /proc, and signals to processes. Nothing in this module forks."""

# pathlib would double the start-up time.
# ruff: noqa: PTH123, PTH208

import os
import signal
import time
from collections.abc import Callable, Generator, Iterable

Activity = Generator[None, None, None]
TICK_SECONDS = 0.01


class Process:
    """A process table entry. ``key`` tells it apart from a later process with the same pid."""

    __slots__ = ("group", "key", "parent", "pid")

    def __init__(self, pid: int, parent: int, group: int, started: int) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.key = (started, pid)


ProcessTable = dict[int, Process]


def read_process_table() -> ProcessTable:
    """Return every visible process except dead ones."""
    found: ProcessTable = {}
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


def descendants(processes: ProcessTable, roots: Iterable[int]) -> set[int]:
    """Return ``roots`` and all their descendants."""
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


def send_signal(pids: Iterable[int], number: int) -> None:
    """Send a signal to each process; skip those that are gone."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def container_processes() -> Callable[[ProcessTable], set[int]]:
    """Return a filter for the commands' processes: all but the container's own."""
    firsts = [p for p in read_process_table().values() if p.parent == 1 and p.pid != os.getpid()]
    idle_process = min(firsts, key=lambda p: p.key).pid if firsts else 1
    spared = {1, idle_process, os.getpid()}
    return lambda processes: set(processes) - spared


def descendant_processes() -> Callable[[ProcessTable], set[int]]:
    """Return a filter for the commands' processes: the descendants of this process."""
    me = os.getpid()
    return lambda processes: descendants(processes, [me]) - {me}


def terminate(find: Callable[[], set[int]], grace_seconds: float) -> Activity:
    """Terminate the processes from ``find``: TERM, then KILL after ``grace_seconds``.

    ``find`` is called until it returns none. Survivors of the first KILL are stopped before they
    are killed: a fork bomb cannot outrun that, because stopped ones still count towards the limit.
    """
    signaled: set[int] = set()
    deadline = time.monotonic() + grace_seconds
    while (left := find()) and time.monotonic() < deadline:
        send_signal(left - signaled, signal.SIGTERM)
        send_signal(left - signaled, signal.SIGCONT)
        signaled |= left
        yield
    send_signal(find(), signal.SIGKILL)
    yield
    while left := find():
        stopped: set[int] = set()
        while fresh := left - stopped:
            send_signal(fresh, signal.SIGSTOP)
            stopped |= fresh
            left = find()
        send_signal(stopped, signal.SIGKILL)
        yield


def wait_until(condition: Callable[[], bool], seconds: float) -> Activity:
    """Yield until ``condition`` returns true, for at most ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        yield
