"""A replay executes the recorded calls again and says how each step compares."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import Studio
from agent.api.run import Run
from agent.errors import RunError, UsageError
from agent.events import (
    CheckedCall,
    Event,
    Mode,
    ReplayStarted,
    StepEnded,
    StepVerified,
    ToolEnded,
    ToolOutput,
    Verdict,
)
from agent.limits import Limits
from agent.models.base import ToolCall
from agent.replay.calls import EDITED_CALL, EDITED_OBSERVATION
from agent.replay.recording import NOTHING_TO_REPLAY, PLAIN_MODE
from agent.runs import journal
from agent.runs.user_changes import UserChange
from agent.util.stop import Stop
from agent.workspace.paths import RelPath
from tests.agent.api.conftest import bash, call, carry_out, script
from tests.support.component.events import of_type
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

pytestmark = pytest.mark.contract


COMPILE = "python3 -c \"import py_compile; py_compile.compile('m.py', 'm.pyc', 'm.py')\""


def record(studio: Studio, *turns: ScriptedTurn, **options: Any) -> Run:
    """Carry out a run with these turns and a final submit."""
    run = studio.run("Do it.", model=script(*turns), **options)
    run.wait()
    return run


def replay(studio: Studio, run: "Run | str | Path", **options: Any) -> tuple[Run, list[Event]]:
    replayed = studio.replay(run, **options)
    return replayed, list(replayed)


def verdicts(events: list[Event]) -> list[Verdict]:
    return [event.verdict for event in of_type(StepVerified, events)]


def overall(run: Run) -> Verdict:
    """Return the verdict of a whole replay."""
    assert run.result.replay is not None
    return run.result.replay.verdict


def verified(events: list[Event], step: int = 1) -> StepVerified:
    return next(event for event in of_type(StepVerified, events) if event.step == step)


def replayed_call(studio: Studio, run: Run) -> CheckedCall:
    """Replay a run; return what is said of its first call."""
    _, events = replay(studio, run)
    return verified(events).calls[0]


def edit(run: Run, kind: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the events of one kind in a run's journal."""
    lines = [json.loads(line) for line in run.recorded.folder.journal.read_bytes().splitlines()]
    for each in lines:
        if each["kind"] == kind:
            change(each)
    run.recorded.folder.journal.write_text("".join(f"{json.dumps(each)}\n" for each in lines))


def test_a_deterministic_run_is_the_same(studio: Studio) -> None:
    create = {"command": "create", "path": "/workspace/a.py", "file_text": "print(6*7)"}
    work = bash("mkdir -p output && python3 a.py | tee output/answer.txt; ls no-such-file")
    run, events = replay(studio, record(studio, call("str_replace_editor", **create), work))
    assert verdicts(events) == ["same", "same", "same"]
    assert overall(run) == "same"
    assert (run.result.status, run.result.answer) == ("submitted", "42")


def test_a_replay_is_a_run_of_its_own_with_a_parent(studio: Studio) -> None:
    recorded = record(studio, bash("echo hi"))
    run, events = replay(studio, recorded)
    folder = run.recorded.folder
    assert folder.parent is not None
    assert (folder.parent.run, folder.parent.kind) == (recorded.id, "replay")
    assert events == [event for _, event in journal.read(folder.journal)]
    assert of_type(ReplayStarted, events)[0].run == recorded.id
    assert run.recorded.state.model == "Replay"
    assert not run.recorded.state.metered


def test_inputs_are_put_in_with_their_modes(studio: Studio, tmp_path: Path) -> None:
    program = tmp_path / "tool.sh"
    program.write_text("echo from the input")
    program.chmod(0o755)
    recorded = record(studio, bash("input/tool.sh && cp input/tool.sh copy"), inputs=program)
    run, events = replay(studio, recorded)
    assert verdicts(events) == ["same", "same"]
    assert run.recorded.state.inputs == ("tool.sh",)


def test_times_and_temporary_paths_are_volatile(studio: Studio) -> None:
    recorded = record(studio, bash("date +%s.%N; mktemp -u; date > stamp.txt"))
    run, events = replay(studio, recorded)
    step = verified(events)
    assert (step.verdict, step.calls[0].rules) == ("volatile", ("temporary paths", "times"))
    assert overall(run) == "volatile"


def test_another_result_differs_and_is_shown_as_a_diff(studio: Studio, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("1")
    read = f"cat {counter}; echo $(( $(cat {counter}) + 1 )) > {counter}; cp {counter} result.txt"
    recorded = record(studio, bash(read), bash("echo after"))
    run, events = replay(studio, recorded)
    assert verdicts(events) == ["differs", "same", "same"]
    step = verified(events)
    assert "-1\n+2" in step.calls[0].diff
    assert [(each.path, each.verdict) for each in step.files] == [("result.txt", "differs")]
    assert "-2\n+3" in step.files[0].diff
    assert overall(run) == "differs"


def test_another_exit_code_differs(studio: Studio, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    found = replayed_call(studio, record(studio, bash(f"! test -e {flag} && touch {flag}")))
    assert found.reason == "It ended with exit code 1 instead of exit code 0."


def test_a_command_that_timed_out_is_unverified(studio: Studio) -> None:
    recorded = record(studio, bash("echo begun; sleep 60"), limits=Limits(command_seconds=0.5))

    def shorten(event: dict[str, Any]) -> None:  # so that the replay does not wait
        for each in event["calls"]:
            each["arguments"] = each["arguments"].replace("sleep 60", "sleep 0")

    edit(recorded, "model_answered", shorten)
    run, events = replay(studio, recorded)
    found = verified(events).calls[0]
    assert found.verdict == "unverified"
    assert "In the recorded run the call reached its time limit." in found.reason
    assert overall(run) == "unverified"


def test_an_edited_record_differs_and_is_named(studio: Studio) -> None:
    def lie(event: dict[str, Any]) -> None:
        event["observation"] = event["observation"].replace("41", "42")

    recorded = record(studio, bash("echo 41"))
    edit(recorded, "tool_ended", lie)
    found = replayed_call(studio, recorded)
    assert (found.verdict, EDITED_OBSERVATION in found.reason) == ("differs", True)

    recorded = record(studio, bash("echo 41"))
    edit(recorded, "tool_started", lambda event: event["arguments"].update(command="echo 42"))
    found = replayed_call(studio, recorded)
    assert (found.verdict, found.reason) == ("differs", EDITED_CALL)


def test_a_long_output_is_compared_to_its_end_if_it_was_kept(
    studio: Studio, tmp_path: Path
) -> None:
    end = tmp_path / "end"
    end.write_text("one")
    recorded = record(studio, bash(f"seq 60000; cat {end}"))
    end.write_text("two")
    found = replayed_call(studio, recorded)
    assert (found.verdict, "-one\n+two" in found.diff) == ("differs", True)
    end.write_text("one")
    for file in recorded.recorded.folder.outputs.iterdir():
        file.unlink()
    found = replayed_call(studio, recorded)
    assert (found.verdict, found.reason) == ("unverified", "Its whole output was not kept.")


def test_follow_ups_and_reminders_are_replayed(studio: Studio) -> None:
    turns = [
        bash("echo one"), ScriptedTurn(text="Nearly."), call("submit"),
        bash("echo two"), call("submit"),
    ]  # fmt: skip
    run = studio.run("Do it.", model=ScriptedModel(turns))
    run.wait()
    run.send("More.").wait()
    replayed, events = replay(studio, run)
    assert verdicts(events) == ["same"] * 5
    assert [each.text for each in replayed.recorded.state.rounds] == ["Do it.", "More."]


def test_a_plain_answer_ends_the_replay_as_it_ended_the_run(studio: Studio) -> None:
    turns = [bash("echo one"), *[ScriptedTurn(text="Done.")] * 3]
    run = studio.run("Do it.", model=ScriptedModel(turns))
    assert run.wait().status == "answered"
    replayed, events = replay(studio, run)
    assert verdicts(events) == ["same"] * 4
    assert (replayed.result.status, replayed.result.answer) == ("answered", "Done.")


def test_a_run_that_reached_its_step_limit_ends_where_it_ended(studio: Studio) -> None:
    recorded = record(studio, bash("echo 1"), bash("echo 2"), bash("echo 3"), max_steps=2)
    run, events = replay(studio, recorded)
    assert verdicts(events) == ["same", "same"]
    assert run.result.status == recorded.result.status == "step_limit"
    assert overall(run) == "same"


def test_a_stopped_command_is_not_executed_again(studio: Studio, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    work = f"echo >> {marker}; echo begun; sleep 600"
    run = studio.run("Do it.", model=script(bash("echo 1"), bash(work)))
    for event in run:
        if isinstance(event, ToolOutput) and event.step == 2:
            run.stop()
    replayed, events = replay(studio, run)
    assert verdicts(events) == ["same", "unverified"]
    assert marker.read_text() == "\n"
    assert replayed.result.status == "stopped"


def test_the_user_stops_a_replay(studio: Studio) -> None:
    recorded = record(studio, bash("echo 1"), bash("echo 2"))
    stop = Stop()
    run = studio.replay(recorded, stop=stop)
    events = carry_out(run, step_verified=lambda _: stop.set())
    assert verdicts(events)[0] == "same"
    assert run.result.status == "stopped"
    assert overall(run) == "unverified"


def test_the_users_changes_between_steps_are_made_again(studio: Studio) -> None:
    run = studio.run("Do it.", model=script(bash("echo first > a.txt"), bash("cat a.txt b.txt")))

    def change(event: StepEnded) -> None:
        if event.step == 1:
            folder = run.recorded.folder.workspace
            (folder / "a.txt").write_text("by the user\n")
            (folder / "b.txt").write_text("added\n")
            run.recorded.record_user_changes(
                [UserChange("changed", RelPath("a.txt")), UserChange("added", RelPath("b.txt"))]
            )

    carry_out(run, step_ended=change)
    replayed, events = replay(studio, run)
    assert verdicts(events) == ["same", "same", "same"]
    assert any("by the user\nadded" in each.observation for each in of_type(ToolEnded, events))
    assert replayed.recorded.folder.workspace != run.recorded.folder.workspace


def test_a_tool_of_the_users_own_is_unverified(studio: Studio) -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    found = replayed_call(studio, record(studio, call("double", number=4), tools=[double]))
    assert found.verdict == "unverified"
    assert "“double” is a tool of the user's own" in found.reason


def test_a_call_that_was_invalid_is_invalid_again_and_a_replay_can_be_replayed(
    studio: Studio,
) -> None:
    broken = ScriptedTurn(calls=(ToolCall("", "execute_bash", "{"), ToolCall("", "no_tool", "{}")))
    first, events = replay(studio, record(studio, broken))
    assert verdicts(events) == ["same", "same"]
    _, events = replay(studio, first)
    assert verdicts(events) == ["same", "same"]


def test_a_journal_alone_is_replayed_as_far_as_it_goes(studio: Studio, tmp_path: Path) -> None:
    given = tmp_path / "numbers.txt"
    given.write_text("1 2 3")
    recorded = record(studio, bash("wc -w < input/numbers.txt"), bash("touch new"), inputs=given)
    recorded.save(tmp_path / "saved")
    run, events = replay(studio, tmp_path / "saved")
    (started,) = of_type(ReplayStarted, events)
    assert not started.complete
    assert "numbers.txt" in started.notes[0]
    assert overall(run) == "differs"
    _, events = replay(studio, tmp_path / "saved" / "journal.jsonl", inputs=given)
    assert verdicts(events) == ["same", "same", "same"]


def test_a_saved_run_proves_its_files_by_their_hashes(studio: Studio, tmp_path: Path) -> None:
    counter, age = tmp_path / "counter", tmp_path / "age"
    counter.write_text("1")
    age.write_text("3")
    work = [
        "echo a > a; ln -s a link; mkdir folder; date +%s.%N > output/now; echo b > b; touch m.py",
        f"cat {counter} > number; rm b",
        f'touch -d "$(cat {age}) minutes ago" m.py; {COMPILE}',
        "seq 201 | xargs touch",
    ]
    record(studio, *map(bash, work)).save(tmp_path / "saved")
    age.write_text("1")
    _, events = replay(studio, tmp_path / "saved" / "journal.jsonl")
    assert verdicts(events) == ["volatile", "same", "volatile", "unverified", "same"]
    assert "only the first files" in verified(events, 4).notes[0]
    counter.write_text("2")
    _, events = replay(studio, tmp_path / "saved" / "journal.jsonl")
    differing = verified(events, 2)
    assert [(each.path, each.verdict) for each in differing.files] == [("number", "differs")]


def test_a_journal_without_hashes_is_compared_by_size(studio: Studio, tmp_path: Path) -> None:
    recorded = record(studio, bash("echo a > a; echo b > b"))
    recorded.save(tmp_path / "saved")
    journal_file = tmp_path / "saved" / "journal.jsonl"
    text, count = re.subn(r'(?<="size":)2,"hash":"\w+"', "2", journal_file.read_text())
    journal_file.write_text(text.replace('"size":2', '"size":3', 1))
    _, events = replay(studio, journal_file)
    assert count == 2
    assert [each.verdict for each in verified(events).files] == ["differs", "unverified"]


@pytest.mark.parametrize(
    ("mode", "reason"), [("plain", PLAIN_MODE), ("sandbox", NOTHING_TO_REPLAY)]
)
def test_a_run_without_calls_has_nothing_to_replay(studio: Studio, mode: Mode, reason: str) -> None:
    model = ScriptedModel([ScriptedTurn(text="Yes.")])
    run = studio.run("Do it.", model=model, mode=mode, limits=Limits(reminders=0))
    run.wait()
    with pytest.raises(UsageError, match=reason):
        studio.replay(run)


def test_a_run_that_does_not_exist_is_named(studio: Studio) -> None:
    with pytest.raises(RunError, match="no-such-run"):
        studio.replay("no-such-run")
