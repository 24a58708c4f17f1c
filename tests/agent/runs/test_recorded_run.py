"""The recorder: the journal contains every event, and a run continues from it."""

import errno
import shutil
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from agent import prompts
from agent.errors import EngineError, RunError, UsageError
from agent.events import (
    Event,
    Notice,
    Preparing,
    RunContinued,
    RunEnded,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    WorkspaceChanged,
)
from agent.fork.describe import describe_fork
from agent.limits import Limits
from agent.models.base import ModelRequest, Piece, Usage
from agent.runs import journal
from agent.runs.event_recorder import ABORTED, INTERRUPTED, end_interrupted_rounds
from agent.runs.folder import RunFolder
from agent.runs.journal import Journal
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.requests.records import read_log
from agent.sandbox.base import Sandbox
from agent.util.stop import Stop
from agent.workspace.versions import snapshots
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog
from tests.support.component.events import answered, continued, of_type
from tests.support.hostile.full_disk import limit_file_size
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash, script
from tests.support.recorded_runs import write_ended_run

pytestmark = pytest.mark.contract

GENERAL = prompts.get_bundled("general")
TEN_YEARS = 10 * 365 * 86_400.0


def run_turns(run: RecordedRun, *turns: ScriptedTurn, task: str = "Do it.") -> list[Event]:
    return list(run.start(Task(task, GENERAL), ScriptedModel(turns)))


def read_events(run: RecordedRun) -> list[Event]:
    return [event for _, event in journal.read(run.folder.journal)]


def end_of(events: Iterable[Event]) -> tuple[str, str]:
    """Return the status and the reason of a round that has ended."""
    *_, last = events
    assert isinstance(last, RunEnded)
    return last.status, last.reason


def test_a_task_that_is_not_valid_utf8_is_still_sent(run: RecordedRun) -> None:
    """The task as it comes from a command line, and a message likewise."""
    model = ScriptedModel([ScriptedTurn(text="one"), ScriptedTurn(text="two")])
    (*_, first) = run.start(Task("caf\udce9"), model, Limits(reminders=None))
    (*_, second) = run.follow_up("\ud800", model, Limits(reminders=None))
    assert [isinstance(event, RunEnded) for event in (first, second)] == [True, True]
    assert [each.text for each in run.state.rounds] == ["caf�", "�"]


def test_the_journal_contains_every_event_when_it_is_yielded(run: RecordedRun) -> None:
    events: list[Event] = []
    for event in run.start(Task("t", GENERAL), script(bash("true"))):
        events.append(event)
        assert read_events(run)[-1] == event
    assert read_events(run) == events


@pytest.mark.parametrize("jump", [TEN_YEARS, -TEN_YEARS])
def test_a_clock_that_is_set_during_a_round_changes_no_duration(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    real, ahead = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + ahead[0])
    for event in run.start(Task("t", GENERAL), script(bash("true"), bash("true"))):
        if isinstance(event, StepEnded) and event.step == 1:
            ahead[0] = jump
    times = [event.at for event in read_events(run)]
    times += [at for each in read_log(run.folder.requests) for at in (each.at, each.ended or 0.0)]
    assert max(times) - min(times) < TEN_YEARS / 2
    assert abs(next(run.follow_up("On.", script())).at - time.time()) < TEN_YEARS / 2


def test_a_follow_up_continues_in_the_same_shell_and_conversation(run: RecordedRun) -> None:
    run_turns(run, bash("cd /tmp; x=41"), SUBMIT)
    model = ScriptedModel([bash("echo $((x + 1)); pwd"), SUBMIT])
    outputs = of_type(ToolOutput, run.follow_up("And now?", model, Limits(steps=7)))
    assert "".join(event.text for event in outputs) == "42\n/tmp\n"
    assert run.state.limits["steps"] == 7
    assert "Do it." in model.requests[0].messages[1].text
    assert "And now?" in model.requests[0].messages[-1].text
    assert len(of_type(RunEnded, read_events(run))) == 2
    assert run.state.totals.steps == 4


def test_a_run_starts_once_and_accepts_messages_only_when_idle(run: RecordedRun) -> None:
    with pytest.raises(RunError):
        run.follow_up("too early", ScriptedModel([]))
    run_turns(run, SUBMIT)
    with pytest.raises(RunError):
        run.start(Task("again", GENERAL), ScriptedModel([]))


def test_a_reopened_run_has_its_state_and_conversation(
    run: RecordedRun, provider: LocalSandboxProvider
) -> None:
    run_turns(run, bash("echo hi > output/a.txt"), SUBMIT)
    run.close()
    with RecordedRun(run.folder, provider) as reopened:
        assert reopened.state == run.state
        assert reopened.conversation.messages == run.conversation.messages
        model = ScriptedModel([bash("cat output/a.txt"), SUBMIT])
        outputs = of_type(ToolOutput, reopened.follow_up("More.", model))
    assert [event.text for event in outputs] == ["hi\n"]


def test_a_step_whose_turn_was_stopped_keeps_its_number(run: RecordedRun) -> None:
    """Its events and file changes are not attributed to the next step."""
    stop = Stop()
    for event in run.start(Task("t", GENERAL), ScriptedModel([bash("true")]), Limits(), stop):
        if isinstance(event, StepStarted):
            stop.set()
    list(run.follow_up("Go on.", ScriptedModel([bash("true"), SUBMIT])))
    assert [event.step for event in of_type(StepStarted, read_events(run))] == [1, 2, 3]


def no_engine(_folder: RunFolder, _stop: Stop) -> Generator[Event, None, Sandbox | None]:
    raise EngineError("Start the engine: dockerd")


def test_a_sandbox_that_cannot_be_created_fails_the_run_with_the_reason(
    run: RecordedRun, provider: LocalSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "acquire", no_engine)
    assert end_of(run_turns(run)) == ("failed", "Start the engine: dockerd")


def test_an_internal_error_ends_the_run(run: RecordedRun) -> None:
    class BrokenModel(ScriptedModel):
        def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
            raise ZeroDivisionError("oops")

    status, reason = end_of(run.start(Task("t", GENERAL), BrokenModel([])))
    assert (status, "oops" in reason) == ("failed", True)


def test_each_step_reports_its_workspace_changes(run: RecordedRun) -> None:
    (run.folder.workspace / "input" / "given.txt").write_text("x")
    events = run_turns(
        run,
        bash("echo 1 > a; echo 2 > 'b c'"),
        bash("echo 3 >> a; rm 'b c'"),
        bash("mkdir -p new/folders"),
        SUBMIT,
    )
    changes = {
        event.step: [(change.path, change.kind) for change in event.changes]
        for event in of_type(WorkspaceChanged, events)
    }
    assert changes == {
        1: [("a", "added"), ("b%20c", "added")],
        2: [("a", "changed"), ("b%20c", "removed")],
    }


def test_the_model_does_not_wait_for_many_new_files_but_the_next_command_does(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FIRST_FILES", 1)
    put, asked = BlobStore.put, threading.Event()

    def put_late(*arguments: Any, **options: Any) -> tuple[str, int]:
        assert threading.current_thread() is threading.main_thread() or asked.wait(60)
        return put(*arguments, **options)

    monkeypatch.setattr(BlobStore, "put", put_late)
    model, recorded = script(bash("for name in a b c; do echo x > $name; done"), bash("true")), {}
    for event in run.start(Task("t"), model):
        if isinstance(event, StepStarted | ToolStarted) and event.step == 2:
            recorded[event.kind] = ManifestLog(run.folder.manifests).manifest()
            asked.set()
        elif isinstance(event, WorkspaceChanged):
            assert (event.step, event.total) == (1, 3)
    assert "c" not in recorded["step_started"].nodes
    assert recorded["tool_started"].step == 1
    assert [recorded["tool_started"].nodes[name].size for name in "abc"] == [2, 2, 2]


def test_changes_that_a_killed_process_did_not_record_are_their_steps(
    run: RecordedRun, provider: LocalSandboxProvider
) -> None:
    for event in run.start(Task("t"), script(bash("touch a"))):
        if isinstance(event, StepEnded) and event.step == 1:
            left = run.folder.journal.read_bytes()
    run.close()
    run.folder.journal.write_bytes(left)
    given, _ = run.folder.manifests.read_bytes().splitlines(keepends=True)
    run.folder.manifests.write_bytes(given)
    with pytest.raises(UsageError, match="not recorded"):
        describe_fork(run.folder, 1, provider.blobs)
    with RecordedRun(run.folder, provider) as reopened:
        list(reopened.follow_up("Go on.", script()))
    deltas = ManifestLog(run.folder.manifests).read()
    assert [(step, delta.by_user) for step, delta in deltas if "a" in delta.changed] == [(1, False)]


def test_plain_mode_pastes_the_documents_and_needs_no_sandbox(
    run: RecordedRun, provider: LocalSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "acquire", no_engine)
    (run.folder.workspace / "input" / "a.txt").write_text("The harbour is closed.")
    (run.folder.workspace / "input" / "b.bin").write_bytes(bytes(range(256)))
    model = ScriptedModel([ScriptedTurn(text="Closed.")])
    events = list(run.start(Task("Open?", GENERAL, "plain"), model))
    message = model.requests[0].messages[0].text
    assert "The harbour is closed." in message
    assert "b.bin" in message
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].status, events[-1].answer) == ("answered", "Closed.")


def test_no_process_outlives_its_round(run: RecordedRun) -> None:
    run_turns(run, bash("sleep 1000 & echo $! > output/pid"), SUBMIT)
    pid = (run.folder.workspace / "output" / "pid").read_text().strip()
    assert not Path("/proc", pid).exists()


def test_unreadable_files_do_not_end_the_run(run: RecordedRun) -> None:
    events = run_turns(run, bash("mv ../workspace ../elsewhere"), bash("echo still here"), SUBMIT)
    assert end_of(events) == ("submitted", "")
    assert any("are unknown" in event.text for event in of_type(Notice, events))


def test_a_round_refused_for_disk_space_leaves_nothing_behind(run: RecordedRun) -> None:
    """Neither an end without a start, nor one that replaces the end of the last round."""
    for size, task in ((0, "Do it."), (20_000, "x" * 30_000)):
        with limit_file_size(size), pytest.raises(RunError, match="Free some space"):
            run_turns(run, SUBMIT, task=task)
        assert not run.folder.journal.exists()
    run_turns(run, ScriptedTurn(text="The answer."), SUBMIT)
    before = read_events(run)
    with limit_file_size(20_000), pytest.raises(RunError, match="Free some space"):
        list(run.follow_up("x" * 30_000, ScriptedModel([SUBMIT])))
    assert read_events(run) == before
    assert end_of(run.follow_up("Go on.", ScriptedModel([SUBMIT]))) == ("submitted", "")


def test_the_next_step_records_files_omitted_by_a_full_disk(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = ManifestLog.append

    def raise_disk_full(versions: ManifestLog, step: int, delta: Delta) -> None:
        if "output/one" in delta.changed:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(versions, step, delta)

    with monkeypatch.context() as patch:
        patch.setattr(ManifestLog, "append", raise_disk_full)
        run_turns(run, bash("echo 1 > output/one"), SUBMIT)
    list(run.follow_up("Go on.", ScriptedModel([bash("echo 2 > output/two"), SUBMIT])))
    nodes = ManifestLog(run.folder.manifests).manifest().nodes
    assert {"output/one", "output/two"} <= set(nodes)


def test_usage_of_an_interrupted_step_is_counted(
    run: RecordedRun, provider: LocalSandboxProvider
) -> None:
    run_turns(run, SUBMIT)
    with closing(Journal(run.folder.journal)) as crashed_journal:
        for event in (
            continued("Go on."),
            StepStarted(step=2, note=""),
            answered(2, "I work.", usage=Usage(9000, 400)),
        ):
            crashed_journal.append(event)
    with RecordedRun(run.folder, provider) as reopened:
        totals = reopened.state.totals
    assert (totals.steps, totals.prompt_tokens, totals.generated_tokens) == (2, 9000, 400)


def test_a_stop_before_the_sandbox_exists_keeps_its_reason(
    run: RecordedRun, provider: LocalSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "acquire", lambda *_: iter(()))  # no sandbox was created
    stop = Stop()
    stop.reason = "The studio was closed before the run started."
    stop.set()
    events = run.start(Task("t", GENERAL), ScriptedModel([SUBMIT]), Limits(), stop)
    assert end_of(events) == ("stopped", stop.reason)


def test_a_task_starts_without_an_input_folder(run: RecordedRun) -> None:
    (run.folder.workspace / "input").rmdir()
    assert end_of(run_turns(run, SUBMIT)) == ("submitted", "")


def test_an_end_delayed_by_a_full_disk_is_written_first(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = run.journal.append

    def raise_disk_full(event: Event) -> int:
        if isinstance(event, ToolEnded | RunEnded):
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(event)

    with monkeypatch.context() as patch:
        patch.setattr(run.journal, "append", raise_disk_full)
        run_turns(run, bash("echo on"), SUBMIT)
        assert not journal.ends_with(run.folder.journal, RunEnded)
        run.stop_sandbox()
        with pytest.raises(OSError, match="No space"):
            run.write_pending_end()
    run.write_pending_end()
    assert [each.status for each in of_type(RunEnded, read_events(run))] == ["failed"]
    assert end_of(run.follow_up("Go on.", ScriptedModel([SUBMIT]))) == ("submitted", "")


def test_other_os_errors_are_not_reported_as_a_full_disk(
    run: RecordedRun, provider: LocalSandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acquire(folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        yield Preparing(state="starting_sandbox")
        (folder.path / "run.json" / "x").read_text()
        return None

    monkeypatch.setattr(provider, "acquire", acquire)
    _, reason = end_of(run_turns(run, SUBMIT))
    assert reason.startswith("A system error stopped the run: Not a directory.")
    assert "room" not in reason


def test_a_run_that_cannot_be_recorded_ends_with_the_reason(
    run: RecordedRun, provider: LocalSandboxProvider
) -> None:
    with limit_file_size(20_000):
        events = run_turns(run, ScriptedTurn(text="x" * 30_000), SUBMIT)
    assert len(of_type(RunEnded, events)) == 1
    status, reason = end_of(events)
    assert (status, "cannot be written" in reason) == ("failed", True)
    run.close()
    with RecordedRun(run.folder, provider) as reopened:
        assert not reopened.state.is_running


@pytest.mark.parametrize("way", ["close", "interrupt"])
def test_an_aborted_round_has_an_end(run: RecordedRun, way: str) -> None:
    events = run.start(Task("Go.", GENERAL), ScriptedModel([bash("echo on"), SUBMIT]))
    for event in events:
        if isinstance(event, ToolEnded):
            break
    if way == "close":
        events.close()
    else:
        with pytest.raises(KeyboardInterrupt):
            events.throw(KeyboardInterrupt())
    (ended,) = of_type(RunEnded, read_events(run))
    assert (ended.status, ended.reason) == ("stopped", ABORTED)


@pytest.mark.parametrize("others", [1, 20])
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "by an earlier version"])
def test_a_start_after_a_crash_reads_only_the_runs_whose_round_is_open(
    run: RecordedRun, others: int, marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = run.folder.data
    ended = [write_ended_run(data).id for _ in range(others)]
    end_interrupted_rounds(data)
    run_turns(run, SUBMIT)
    round_ = run.follow_up("Go on.", ScriptedModel([SUBMIT]))  # in progress until the test's end
    assert isinstance(next(round_), RunContinued)
    if not marked:
        shutil.rmtree(data / "open-rounds")
    opened = Mock(wraps=RunFolder.open)
    monkeypatch.setattr(RunFolder, "open", opened)
    for left in ([run.folder.id] if marked else [*ended, run.folder.id], []):
        opened.reset_mock()
        end_interrupted_rounds(data)
        assert {call.args for call in opened.call_args_list} == {(data, each) for each in left}
    assert end_of(read_events(run)) == ("failed", INTERRUPTED)
