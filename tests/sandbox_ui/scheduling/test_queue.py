"""The run queue: limits, order and shutdown."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.errors import RunError
from agent.events import Preparing, RunEnded
from agent.util.stop import Stop
from sandbox_ui.runs.manager import CLOSED_MESSAGE, RunManager
from sandbox_ui.scheduling.admission import Admission
from sandbox_ui.scheduling.queue import MAX_WAITING, QueueEntry, RunQueue, ordinal
from tests.sandbox_ui.managed_runs import events, follow_up, open_manager, start, wait_for_end
from tests.support.local_provider import LocalSandboxProvider, record_ends
from tests.support.models.scripted import SUBMIT, ScriptedTurn, bash
from tests.support.server import wait_until

ANSWER = ScriptedTurn(text="Four.")
SLEEP = bash("echo up; sleep 60")


def is_active(ticket: QueueEntry) -> bool:
    """Whether the ticket is active, without changing the queue."""
    return ticket in ticket._queue._active


# Order


def test_the_queue_is_first_in_first_out_up_to_the_limit(tmp_path: Path) -> None:
    queue = RunQueue(2)
    tickets = [queue.enter() for _ in range(4)]
    assert [is_active(ticket) for ticket in tickets] == [True, True, False, False]
    assert (queue.active_count, queue.count_waiting(None)) == (2, 2)
    tickets[1].leave()
    tickets[1].leave()
    assert [is_active(ticket) for ticket in tickets] == [True, False, True, False]


def test_a_larger_limit_starts_waiting_runs_and_a_smaller_one_ends_none() -> None:
    queue = RunQueue(1)
    tickets = [queue.enter() for _ in range(4)]
    queue.resize(3, 2)
    assert [is_active(ticket) for ticket in tickets] == [True, True, True, False]
    queue.resize(1, 5)
    assert (queue.active_count, queue.max_active_of("a user")) == (3, 1)
    tickets[0].leave()
    tickets[1].leave()
    assert [is_active(ticket) for ticket in tickets[2:]] == [True, False]


def test_a_user_with_many_runs_does_not_block_others() -> None:
    queue, order = RunQueue(1), list[str]()
    waiting = {f"a{number}": queue.enter("ann") for number in range(4)}
    waiting |= {f"b{number}": queue.enter("bob") for number in range(2)}
    waiting |= {"c0": queue.enter("cem")}
    while waiting:
        (active,) = [name for name, ticket in waiting.items() if is_active(ticket)]
        order.append(active)
        waiting.pop(active).leave()
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]
    assert (queue.active_count, queue.count_waiting(None)) == (0, 0)


def test_the_user_with_fewer_active_runs_is_next(tmp_path: Path) -> None:
    queue = RunQueue(3)
    first = [queue.enter("ann"), queue.enter("ann"), queue.enter("bob")]
    ann, bob = queue.enter("ann"), queue.enter("bob")
    first[0].leave()
    assert is_active(ann)  # both users had one active run
    first[1].leave()
    assert is_active(bob)


def test_users_have_a_share_and_the_operator_has_no_limit() -> None:
    queue = RunQueue(4, max_active_per_user=2)
    ann = [queue.enter("ann") for _ in range(3)]
    assert [is_active(ticket) for ticket in ann] == [True, True, False]
    operator = [queue.enter() for _ in range(3)]
    assert [is_active(ticket) for ticket in operator] == [True, True, False]
    ann[0].leave()
    assert [is_active(each) for each in (ann[2], operator[2])] == [True, False]


@pytest.mark.contract
def test_the_queue_holds_a_thousand_runs() -> None:
    queue = RunQueue(1)
    for number in range(MAX_WAITING + 1):
        queue.enter(f"person {number}")
    with pytest.raises(RunError, match=f"^The queue is full: {MAX_WAITING:,} runs are waiting"):
        queue.enter("one more")
    queue = RunQueue(1)
    for _ in range(MAX_WAITING // 10 + 1):
        queue.enter("ann")
    with pytest.raises(RunError, match="100 of your runs are already waiting"):
        queue.enter("ann")
    assert queue.enter("bob")


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (111, "111th"), (122, "122nd")],
)  # fmt: skip
def test_a_queue_position_is_an_ordinal(number: int, expected: str) -> None:
    assert ordinal(number) == expected


def test_every_waiting_run_starts_despite_others_leaving() -> None:
    queue, active, active_counts = RunQueue(3, max_active_per_user=2), list[int](), list[int]()
    lock, done = threading.Lock(), list[bool]()

    def run_ticket(owner: str, stopped: bool) -> None:
        ticket, stop = queue.enter(owner), Stop()
        if stopped:
            threading.Timer(0.01, stop.set).start()
        for _ in ticket.wait(stop):
            continue
        activated = is_active(ticket)
        if activated:
            with lock:
                active.append(1)
                active_counts.append(len(active))
            stop.wait(0.002)
            with lock:
                active.pop()
        ticket.leave()
        done.append(activated)

    with ThreadPoolExecutor(60) as pool:
        for number in range(60):
            pool.submit(run_ticket, f"person {number % 4}", number % 5 == 0)
    assert len(done) == 60
    assert done.count(True) >= 48
    assert max(active_counts) <= 3
    assert (queue.active_count, queue.count_waiting(None)) == (0, 0)


# Runs in the queue


def state(runs: RunManager, run: str) -> str:
    status = runs.feed(run).status()
    return f"{status['state']}: {status['detail']}" if status["detail"] else str(status["state"])


def wait_for(runs: RunManager, run: str, prefix: str) -> None:
    wait_until(lambda: state(runs, run).startswith(prefix))


@pytest.mark.contract
def test_a_waiting_run_shows_its_queue_position(tmp_path: Path) -> None:
    with open_manager(tmp_path, Admission(RunQueue(1))) as runs:
        first = start(runs, SLEEP, SUBMIT)
        wait_for(runs, first, "running_tool")
        second, third = start(runs, SUBMIT), start(runs, ANSWER, mode="plain")
        wait_for(runs, second, "queued: 1st in the queue")
        wait_for(runs, third, "queued: 2nd in the queue")
        with pytest.raises(RunError, match="in progress"):
            follow_up(runs, third, SUBMIT)
        runs.stop(first)
        wait_for(runs, third, "answered")
        wait_for(runs, second, "submitted")
        status = [each.detail for each in events(runs, third) if isinstance(each, Preparing)]
        assert status[0] == "2nd in the queue"
        assert sum(isinstance(each, RunEnded) for each in events(runs, third)) == 1
        wait_until(lambda: not any(each.name[:4] == "run " for each in threading.enumerate()))


@pytest.mark.contract
def test_stop_removes_a_run_from_the_queue_and_a_message_requeues_it(tmp_path: Path) -> None:
    with open_manager(tmp_path, Admission(RunQueue(1))) as runs:
        first = start(runs, SLEEP, SUBMIT)
        wait_for(runs, first, "running_tool")
        second, third = start(runs, SUBMIT), start(runs, SUBMIT)
        wait_for(runs, third, "queued: 2nd")
        runs.stop(second)
        wait_for(runs, second, "stopped")
        wait_for(runs, third, "queued: 1st")
        follow_up(runs, second, SUBMIT)
        wait_for(runs, second, "queued: 2nd")
        runs.stop(first)
        wait_for(runs, second, "submitted")


@pytest.mark.contract
def test_a_failed_run_frees_its_slot(tmp_path: Path) -> None:
    class FailingProvider(LocalSandboxProvider):
        def create_workspace(self) -> str:
            self.blobs = None  # type: ignore[assignment]
            return super().create_workspace()

    provider = FailingProvider(tmp_path)
    with open_manager(tmp_path, Admission(RunQueue(1)), provider) as runs:
        for _ in range(3):
            wait_for(runs, start(runs, SUBMIT), "failed")
        wait_until(lambda: runs.admission.queue.active_count == 0)


@pytest.mark.contract
def test_shutdown_stops_waiting_runs_immediately(tmp_path: Path) -> None:
    with open_manager(tmp_path, Admission(RunQueue(1))) as runs:
        runs.admission.queue.enter()
        run = start(runs, SUBMIT)
        wait_for(runs, run, "queued")
    assert state(runs, run) == f"stopped: {CLOSED_MESSAGE}"


@pytest.mark.contract
def test_a_user_at_their_limit_sees_why_the_run_waits(tmp_path: Path) -> None:
    with open_manager(tmp_path, Admission(RunQueue(4, max_active_per_user=1))) as runs:
        first, second = (start(runs, SLEEP, SUBMIT, owner="ann") for _ in range(2))
        wait_for(runs, second, "queued: 1st in the queue; each user may have 1 run in progress")
        runs.stop(first)
        wait_for(runs, second, "running_tool")
        runs.stop(second)


@pytest.mark.contract
def test_a_user_with_many_idle_sandboxes_loses_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = record_ends(monkeypatch)
    admission = Admission(RunQueue(2, 1), max_sandboxes=9, max_sandboxes_per_user=2)
    with open_manager(tmp_path, admission) as runs:
        done = []
        for owner in ("bob", "ann", "ann", "ann", "ann"):
            done.append(start(runs, SUBMIT, owner=owner))
            wait_for(runs, done[-1], "submitted")
            wait_until(lambda: admission.queue.active_count == 0)
        assert ends == [(runs.folder(run).sandbox, "stop") for run in done[1:3]]


@pytest.mark.contract
def test_the_longest_idle_sandbox_is_evicted_first(tmp_path: Path) -> None:
    provider = LocalSandboxProvider(tmp_path)
    with open_manager(tmp_path, Admission(RunQueue(2), max_sandboxes=2), provider) as runs:
        done = list[str]()
        for _ in range(3):
            done.append(start(runs, SUBMIT))
            wait_for(runs, done[-1], "submitted")
            wait_until(lambda: runs.admission.queue.active_count == 0)
        assert provider.take_count == 3
        follow_up(runs, done[2], SUBMIT)
        wait_for_end(runs, done[2], 2)
        assert provider.take_count == 3  # its sandbox was still there
        wait_until(lambda: runs.admission.queue.active_count == 0)
        follow_up(runs, done[0], SUBMIT)
        wait_until(lambda: provider.take_count == 4)  # its own sandbox had been evicted
