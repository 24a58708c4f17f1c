"""Stop, pressed in every phase of a run, by one and by two."""

import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from agent.events import Event, Preparing, RunEnded
from agent.limits import Limits
from agent.models.base import ModelConfig
from agent.models.openai.client import OpenAIModel
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorder import Task
from agent.sandbox.base import Sandbox
from agent.util.cancellation import Stop
from agent.util.wait import WaitCancelled, run_cancellable
from agent.workspace.paths import RelPath
from agent.workspace.versions.snapshots import SnapshotTracker
from sandbox_ui.runs.manager import RunManager
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import wait_until

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
SOON = 15.0


def bash(command: str) -> Turn:
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


class HungSandboxProvider(LocalSandboxProvider):
    """Its engine takes every request and answers none, until it does."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.answers = threading.Event()

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield Preparing(state="starting_sandbox")
        try:
            run_cancellable(self.answers.wait, stop)
        except WaitCancelled:
            return None
        return (yield from super().acquire(folder, stop))


@pytest.fixture
def machine(tmp_path: Path) -> HungSandboxProvider:
    return HungSandboxProvider(tmp_path)


@pytest.fixture
def runs(tmp_path: Path, machine: HungSandboxProvider) -> Iterator[RunManager]:
    runs = RunManager(tmp_path, machine)
    runs.open()
    yield runs
    runs.close()


def begun(runs: RunManager, endpoint: Endpoint) -> str:
    run = runs.create_draft()
    runs.start(run, Task("Do it."), OpenAIModel(ModelConfig(endpoint.url, "m")), Limits())
    return run


def written(runs: RunManager, run: str) -> bytes:
    path = runs.folder(run).journal
    return path.read_bytes() if path.exists() else b""


def pressed(runs: RunManager, run: str) -> None:
    """Two people press it at once; it ends soon, as stopped, and once."""
    since = time.monotonic()
    hands = [threading.Thread(target=runs.stop, args=(run,)) for _ in range(2)]
    for hand in hands:
        hand.start()
    wait_until(lambda: b'"kind":"run_ended"' in written(runs, run))
    wait_until(lambda: run not in runs.active_runs())
    for hand in hands:
        hand.join()
    assert time.monotonic() - since < SOON
    events = [event for _, event in journal.read(runs.folder(run).journal)]
    assert [e.status for e in events if isinstance(e, RunEnded)] == ["stopped"]
    assert isinstance(events[-1], RunEnded)


def goes_on(runs: RunManager, run: str, endpoint: Endpoint) -> None:
    runs.follow_up(run, "Go on.", OpenAIModel(ModelConfig(endpoint.url, "m")), Limits())
    wait_until(lambda: written(runs, run).count(b'"kind":"run_ended"') == 2)
    assert b'"status":"submitted"' in written(runs, run)


def test_while_the_sandbox_is_prepared(runs: RunManager, machine: HungSandboxProvider) -> None:
    with Endpoint([SUBMIT]) as endpoint:
        run = begun(runs, endpoint)
        wait_until(lambda: b'"kind":"preparing"' in written(runs, run))
        pressed(runs, run)
        machine.answers.set()
        goes_on(runs, run, endpoint)


@pytest.mark.parametrize(
    ("turn", "reached"),
    [
        (Turn(fault="silent at=0"), '"kind":"step_started"'),
        (Turn(text="I think of it. " * 20, fault="silent"), '"kind":"text_delta"'),
        (Turn(fault="503 retry-after=50"), '"kind":"retrying"'),
        (bash("echo up; sleep 100"), '"kind":"tool_output"'),
        (bash("echo up; trap '' TERM; while :; do sleep 100; done"), '"kind":"tool_output"'),
    ],
    ids=["the model is silent", "it speaks", "it is asked again", "a command runs", "unwilling"],
)
def test_while(runs: RunManager, machine: HungSandboxProvider, turn: Turn, reached: str) -> None:
    machine.answers.set()
    with Endpoint([turn, SUBMIT]) as endpoint:
        run = begun(runs, endpoint)
        wait_until(lambda: reached.encode() in written(runs, run))
        assert endpoint.wait_for_requests(1)
        pressed(runs, run)
        goes_on(runs, run, endpoint)


def test_while_versions_of_files_are_kept(
    runs: RunManager, machine: HungSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.answers.set()
    taking = threading.Event()
    take = SnapshotTracker.take

    def slowly(self: SnapshotTracker, *, final: bool = False) -> object:
        if not taking.is_set() and b"tool_ended" in written(runs, run):
            taking.set()
            time.sleep(0.5)
        return take(self, final=final)

    monkeypatch.setattr(SnapshotTracker, "take", slowly)
    with Endpoint([bash("echo 1 > output/1"), SUBMIT]) as endpoint:
        run = runs.create_draft()
        model = OpenAIModel(ModelConfig(endpoint.url, "m"))
        runs.start(run, Task("Do it."), model, Limits())
        assert taking.wait(20)
        pressed(runs, run)
        goes_on(runs, run, endpoint)
    with runs.open_file(run, RelPath("output/1"), 1) as file:
        assert file.read() == b"1\n"


def test_an_end_that_nobody_can_stop_any_more_is_left_as_it_is(
    runs: RunManager, machine: HungSandboxProvider
) -> None:
    machine.answers.set()
    with Endpoint([SUBMIT]) as endpoint:
        run = begun(runs, endpoint)
        wait_until(lambda: b'"kind":"run_ended"' in written(runs, run))
        runs.stop(run)
        runs.stop(run)
        wait_until(lambda: run not in runs.active_runs())
    assert written(runs, run).count(b'"kind":"run_ended"') == 1
    assert b'"status":"submitted"' in written(runs, run)


# Waiting for what may hang


def test_a_call_is_waited_for_and_its_failure_is_raised_where_it_was_asked_for() -> None:
    assert run_cancellable(lambda: 4, Stop()) == 4
    with pytest.raises(ZeroDivisionError):
        run_cancellable(lambda: 1 // 0, Stop())


@pytest.mark.parametrize("grace", [0.0, 0.2])
def test_what_comes_too_late_is_put_away(grace: float) -> None:
    stop, come, late = Stop(), threading.Event(), list[int]()
    stop.set()

    def call() -> int:
        come.wait(10)
        return 4

    with pytest.raises(WaitCancelled):
        run_cancellable(call, stop, on_late_result=late.append, grace_seconds=grace)
    come.set()
    wait_until(lambda: late == [4])
