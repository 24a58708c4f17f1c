"""The line in which runs wait for their turn: its limits, its order, its end."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agent import prompts
from agent.errors import RunError
from agent.events import Event, Preparing, RunEnded
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from agent.settings import Settings
from agent.util.cancellation import Stop
from sandbox_ui.runs.manager import CLOSED_MESSAGE, RunManager
from sandbox_ui.scheduling.admission import Admission
from sandbox_ui.scheduling.queue import MAX_WAITING, QueueEntry, RunQueue, ordinal
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint
from tests.support.models.endpoint import Turn as Said
from tests.support.server import create_app, run_server, wait_until
from tests.support.tab import StudioTab, launch_chromium

SUBMIT = ScriptedTurn(text="Done.", calls=(ToolCall("", "submit", "{}"),))
ANSWER = ScriptedTurn(text="Four.")
SLEEP = ScriptedTurn(calls=(ToolCall("", "execute_bash", '{"command": "echo up; sleep 60"}'),))


def order_of(line: RunQueue, turns: dict[str, QueueEntry]) -> list[str]:
    """The order in which those who wait are let in, when each leaves as the next one comes."""
    order, left = list[str](), dict(turns)
    while left:
        names = [name for name, turn in left.items() if is_in(turn)]
        assert len(names) == 1
        order += names
        left.pop(names[0]).leave()
    assert (line.active_count, line.waiting_count) == (0, 0)
    return order


def is_in(turn: QueueEntry) -> bool:
    """Whether its turn has come, without giving its place up."""
    return turn in turn._queue._active


# The order


def test_the_queue_is_first_in_first_out_up_to_the_limit(tmp_path: Path) -> None:
    line = RunQueue(2)
    turns = [line.enter() for _ in range(4)]
    assert [is_in(turn) for turn in turns] == [True, True, False, False]
    assert (line.active_count, line.waiting_count) == (2, 2)
    turns[1].leave()
    turns[1].leave()
    assert [is_in(turn) for turn in turns] == [True, False, True, False]


def test_a_user_with_many_runs_does_not_block_others() -> None:
    line = RunQueue(1)
    turns = {f"a{number}": line.enter("ann") for number in range(4)}
    turns |= {f"b{number}": line.enter("bob") for number in range(2)}
    turns |= {"c0": line.enter("cem")}
    assert order_of(line, turns) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_the_user_with_fewer_active_runs_is_next(tmp_path: Path) -> None:
    line = RunQueue(3)
    first = [line.enter("ann"), line.enter("ann"), line.enter("bob")]
    ann, bob = line.enter("ann"), line.enter("bob")
    first[0].leave()
    assert is_in(ann)  # each had one
    first[1].leave()
    assert is_in(bob)


def test_users_have_a_share_and_the_operator_has_no_limit() -> None:
    line = RunQueue(4, max_active_per_user=2)
    ann = [line.enter("ann") for _ in range(3)]
    assert [is_in(turn) for turn in ann] == [True, True, False]
    operator = [line.enter() for _ in range(3)]
    assert [is_in(turn) for turn in operator] == [True, True, False]
    ann[0].leave()
    assert [is_in(each) for each in (ann[2], operator[2])] == [True, False]


def test_the_queue_holds_a_thousand_runs() -> None:
    line = RunQueue(1)
    for number in range(MAX_WAITING + 1):
        line.enter(f"person {number}")
    with pytest.raises(RunError, match=f"^The queue is full: {MAX_WAITING} runs are waiting"):
        line.enter("one more")
    line = RunQueue(1)
    for _ in range(MAX_WAITING // 10 + 1):
        line.enter("ann")
    with pytest.raises(RunError, match="100 of your runs are already waiting"):
        line.enter("ann")
    assert line.enter("bob")


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (111, "111th"), (122, "122nd")],
)  # fmt: skip
def test_a_queue_position_is_an_ordinal(number: int, said: str) -> None:
    assert ordinal(number) == said


def test_every_waiting_run_starts_despite_others_leaving() -> None:
    line, inside, most = RunQueue(3, max_active_per_user=2), list[int](), list[int]()
    lock, done = threading.Lock(), list[bool]()

    def visit(owner: str, stopped: bool) -> None:
        turn, stop = line.enter(owner), Stop()
        if stopped:
            threading.Timer(0.01, stop.set).start()
        waited = turn.wait(stop)
        try:
            while True:
                next(waited)
        except StopIteration as end:
            let_in = bool(end.value)
        if let_in:
            with lock:
                inside.append(1)
                most.append(len(inside))
            stop.wait(0.002)
            with lock:
                inside.pop()
        turn.leave()
        done.append(let_in)

    threads = [
        threading.Thread(target=visit, args=(f"person {number % 4}", number % 5 == 0))
        for number in range(60)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(done) == 60
    assert done.count(True) >= 48
    assert max(most) <= 3
    assert (line.active_count, line.waiting_count) == (0, 0)


# Runs in it


@contextmanager
def opened(data: Path, line: RunQueue) -> Iterator[RunManager]:
    runs = RunManager(data, LocalSandboxProvider(data), Admission(line))
    runs.open()
    yield runs
    runs.close()


def start(runs: RunManager, *turns: ScriptedTurn, plain: bool = False) -> str:
    run = runs.create_draft()
    mode = Task("Do it.", prompts.get_bundled("general"), "plain" if plain else "sandbox")
    runs.start(run, mode, ScriptedModel(turns), Limits())
    return run


def events(runs: RunManager, run: str) -> list[Event]:
    path = runs.folder(run).journal
    return [event for _, event in journal.read(path)] if path.exists() else []


def state(runs: RunManager, run: str) -> str:
    told = runs.feed(run).status()
    return f"{told['state']}: {told['detail']}" if told["detail"] else str(told["state"])


def wait_for(runs: RunManager, run: str, wanted: str) -> None:
    wait_until(lambda: state(runs, run).startswith(wanted))


def test_a_waiting_run_shows_its_queue_position(tmp_path: Path) -> None:
    with opened(tmp_path, RunQueue(1)) as runs:
        first = start(runs, SLEEP, SUBMIT)
        wait_for(runs, first, "running_tool")
        second, third = start(runs, SUBMIT), start(runs, ANSWER, plain=True)
        wait_for(runs, second, "queued: 1st in the queue")
        wait_for(runs, third, "queued: 2nd in the queue")
        with pytest.raises(RunError, match="in progress"):
            runs.follow_up(third, "More", ScriptedModel([SUBMIT]), Limits())
        runs.stop(first)
        wait_for(runs, third, "answered")
        wait_for(runs, second, "submitted")
        told = [each.detail for each in events(runs, third) if isinstance(each, Preparing)]
        assert told[0] == "2nd in the queue"
        assert sum(isinstance(each, RunEnded) for each in events(runs, third)) == 1


def test_stop_removes_a_run_from_the_queue_and_a_message_requeues_it(tmp_path: Path) -> None:
    with opened(tmp_path, RunQueue(1)) as runs:
        first = start(runs, SLEEP, SUBMIT)
        wait_for(runs, first, "running_tool")
        second, third = start(runs, SUBMIT), start(runs, SUBMIT)
        wait_for(runs, third, "queued: 2nd")
        runs.stop(second)
        wait_for(runs, second, "stopped")
        wait_for(runs, third, "queued: 1st")
        runs.follow_up(second, "Now", ScriptedModel([SUBMIT]), Limits())
        wait_for(runs, second, "queued: 2nd")
        runs.stop(first)
        wait_for(runs, second, "submitted")


def test_a_failed_run_frees_its_slot(tmp_path: Path) -> None:
    class Broken(LocalSandboxProvider):
        def create_workspace(self) -> str:
            self.blobs = None  # type: ignore[assignment]
            return super().create_workspace()

    runs = RunManager(tmp_path, Broken(tmp_path), Admission(RunQueue(1)))
    runs.open()
    for _ in range(3):
        run = start(runs, SUBMIT)
        wait_for(runs, run, "failed")
    wait_until(lambda: runs.admission.queue.active_count == 0)
    runs.close()


def test_shutdown_stops_waiting_runs_immediately(tmp_path: Path) -> None:
    with opened(tmp_path, RunQueue(1)) as runs:
        runs.admission.queue.enter()
        run = start(runs, SUBMIT)
        wait_for(runs, run, "queued")
    assert state(runs, run) == f"stopped: {CLOSED_MESSAGE}"


def test_a_user_at_their_limit_is_told_why_they_wait(tmp_path: Path) -> None:
    with opened(tmp_path, RunQueue(4, max_active_per_user=1)) as runs:
        owned = list[str]()
        for _ in range(2):
            folder = RunFolder.create(
                tmp_path, LocalSandboxProvider(tmp_path).create_workspace(), owner="ann"
            )
            task = Task("Do it.", prompts.get_bundled("general"))
            runs.start(folder.id, task, ScriptedModel([SLEEP, SUBMIT]), Limits())
            owned.append(folder.id)
        wait_for(runs, owned[1], "queued: 1st in the queue; each user may have 1 run in progress")
        runs.stop(owned[0])
        wait_for(runs, owned[1], "running_tool")
        runs.stop(owned[1])


def test_the_longest_idle_sandbox_is_evicted_first(tmp_path: Path) -> None:
    machine = LocalSandboxProvider(tmp_path)
    runs = RunManager(tmp_path, machine, Admission(RunQueue(2), max_sandboxes=2))
    runs.open()
    done = list[str]()
    for _ in range(3):
        done.append(start(runs, SUBMIT))
        wait_for(runs, done[-1], "submitted")
        wait_until(lambda: runs.admission.queue.active_count == 0)
    assert machine.take_count == 3
    runs.follow_up(done[2], "More", ScriptedModel([SUBMIT]), Limits())
    wait_until(lambda: runs.feed(done[2]).status()["state"] == "submitted")
    assert machine.take_count == 3  # its sandbox was there still
    wait_until(lambda: runs.admission.queue.active_count == 0)
    runs.follow_up(done[0], "More", ScriptedModel([SUBMIT]), Limits())
    wait_until(lambda: machine.take_count == 4)  # its own had made room
    runs.close()


def test_many_runs_of_several_users_end_and_leave_nothing_behind(tmp_path: Path) -> None:
    machine = LocalSandboxProvider(tmp_path)
    most = list[int]()
    with opened(tmp_path, RunQueue(3, max_active_per_user=2)) as runs:
        owned = list[str]()
        for number in range(45):
            owner = ("ann", "bob", "")[number % 3]
            owned.append(RunFolder.create(tmp_path, machine.create_workspace(), owner).id)
            task = Task("Say it.", prompts.get_bundled("general"), "plain")
            runs.start(owned[-1], task, ScriptedModel([ANSWER]), Limits())
            most.append(runs.admission.queue.active_count)
        for run in owned:
            wait_for(runs, run, "answered")
        wait_until(lambda: runs.admission.queue.active_count == 0)
        assert max(most) <= 3
        wait_until(lambda: not any(each.name[:4] == "run " for each in threading.enumerate()))


# On the page


@pytest.mark.browser
def test_the_page_shows_the_queue_position_and_stop_leaves_the_queue(tmp_path: Path) -> None:
    task = "Say four."
    gates = [threading.Event(), threading.Event()]
    turns = [Said(calls=[Call("submit")], gate=gate) for gate in gates]
    with ExitStack() as held:
        endpoint = held.enter_context(Endpoint(turns))
        settings = Settings(data=tmp_path, base_url=endpoint.url, model="m", max_runs=1)
        studio_url = held.enter_context(
            run_server(create_app(settings, LocalSandboxProvider(tmp_path)))
        )
        browser = held.enter_context(launch_chromium())
        tabs = [StudioTab(browser.new_page()) for _ in range(3)]
        for tab in tabs:
            tab.open(studio_url)
            tab.send(task)
            expect(tab.state).to_contain_text(
                "waiting for the model" if tab is tabs[0] else "queue"
            )
        first, second, third = tabs
        expect(second.state).to_contain_text("1st in the queue")
        expect(third.state).to_contain_text("2nd in the queue")
        expect(third.timeline).to_contain_text("2nd in the queue. It starts automatically.")
        second.button("Stop").click()
        expect(second.state).to_have_text("stopped")
        expect(third.state).to_contain_text("1st in the queue")
        gates[0].set()
        expect(first.state).to_contain_text("submitted")
        expect(third.state).to_contain_text("waiting for the model")
        gates[1].set()
        expect(third.state).to_contain_text("submitted")
        assert [tab.errors for tab in tabs] == [[], [], []]


# How many
