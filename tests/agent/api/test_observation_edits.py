"""A user edits what the model sees as the result of a call, while the run waits."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import Run, SteeringRefused, Studio, UsageError
from agent.events import (
    ApprovalRequested,
    Event,
    ObservationEdited,
    Paused,
    RunEnded,
    StepEnded,
    ToolEnded,
)
from agent.history.export import conversation_markdown
from agent.history.trajectory import build_trajectory
from agent.loop.conversation import Conversation
from agent.loop.steering import MAX_OBSERVATION
from agent.models.base import ToolResult
from agent.report.report import Budget, save_report
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.requests.body import rebuild_request
from agent.traces.formats import atif
from agent.traces.importing import import_file
from agent.traces.journal_items import items_of_journal, messages_of_journal
from tests.agent.api.conftest import bash, carry_out, script
from tests.support.component.events import of_type
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.server import wait_until

pytestmark = pytest.mark.contract

EDITED = "Edited: 42 lakes"


def results(model: ScriptedModel, request: int) -> list[str]:
    """What the model sees of its calls in a request, without the loop's note."""
    messages = model.requests[request].messages
    texts = [each.text for each in messages if isinstance(each, ToolResult)]
    return [text.partition("\nSteps Remaining")[0] for text in texts]


def edit(run: Run, call_id: str) -> None:
    run.steering.edit_observation(call_id, EDITED)


def assert_edited(events: list[Event]) -> None:
    """Check that the first step's result was edited once, and what the tool returned stays."""
    (edited,) = of_type(ObservationEdited, events)
    assert (edited.step, edited.observation) == (1, EDITED)
    assert "41 lakes" in of_type(ToolEnded, events)[0].observation


def edit_while_paused(run: Run, react: Callable[[Run, str], object] = edit) -> list[Event]:
    """Carry out a run that pauses after its first step; call a function with its first call."""
    ended: list[str] = []

    def pause(event: ToolEnded) -> None:
        ended.append(event.call_id)
        if event.step == 1:
            run.pause()

    def react_and_resume(_: Paused) -> None:
        react(run, ended[0])
        run.resume()

    return carry_out(run, tool_ended=pause, paused=react_and_resume)


def edited_run(studio: Studio, *turns: ScriptedTurn) -> tuple[Run, list[Event]]:
    run = studio.run("Count.", model=script(bash("echo 41 lakes"), *turns))
    return run, edit_while_paused(run)


def recorded(run: Run) -> list[Event]:
    return [event for _, event in journal.read(run.recorded.folder.journal)]


def test_the_model_gets_the_edited_text_with_its_next_turn(studio: Studio) -> None:
    model = script(bash("echo 41 lakes"), bash("echo done"))
    run = studio.run("Count.", model=model)
    events = edit_while_paused(run)
    assert results(model, 1) == [EDITED]
    assert results(model, 2)[0] == EDITED
    assert_edited(events)
    assert [each.observation_edited for each in run.recorded.state.steps[0].calls] == [True]


def test_the_last_of_several_edits_holds(studio: Studio) -> None:
    model = script(bash("echo a"))

    def edit_twice(run: Run, call_id: str) -> None:
        run.steering.edit_observation(call_id, "first")
        run.steering.edit_observation(call_id, "first")  # changes nothing
        run.steering.edit_observation(call_id, "second")

    events = edit_while_paused(studio.run("Go.", model=model), edit_twice)
    assert results(model, 1) == ["second"]
    assert len(of_type(ObservationEdited, events)) == 2


def test_results_are_edited_while_a_later_call_of_the_step_waits(studio: Studio) -> None:
    two = ScriptedTurn(calls=(*bash("echo a").calls, *bash("rm -f b").calls))
    model = script(two)
    run = studio.run("Go.", model=model, approve=["delete"])

    def edit_the_first(event: ApprovalRequested) -> None:
        (first,) = run.steering.state.editable
        assert first != event.call_id
        with pytest.raises(SteeringRefused, match="Only the results of the last step"):
            run.steering.edit_observation(event.call_id, "too early")
        edit(run, first)
        run.steering.allow(event.call_id)

    carry_out(run, approval_requested=edit_the_first)
    assert results(model, 1)[0] == EDITED


def test_an_edit_is_refused_where_it_could_not_reach_the_model(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a"), bash("echo b")))
    ended: list[str] = []

    def pause(event: StepEnded) -> None:
        if event.step < 3:
            with pytest.raises(SteeringRefused, match="Pause the run first"):
                edit(run, ended[-1])
            run.pause()

    def refuse(_: Paused) -> None:
        assert run.steering.state.editable == (ended[-1],)
        if len(ended) == 2:
            with pytest.raises(SteeringRefused, match="until they are sent"):
                edit(run, ended[0])
        for text, why in ((" \n", "is empty"), ("x" * (MAX_OBSERVATION + 1), "longer")):
            with pytest.raises(UsageError, match=why):
                run.steering.edit_observation(ended[-1], text)
        run.resume()

    def note(event: ToolEnded) -> None:
        ended.append(event.call_id)

    events = carry_out(run, tool_ended=note, step_ended=pause, paused=refuse)
    with pytest.raises(SteeringRefused, match="not working"):
        edit(run, ended[-1])
    assert len(of_type(Paused, events)) == 2
    assert run.steering.state.editable == ()


def test_a_paused_runs_edit_is_in_the_journal_at_once(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a")))

    def stop_when_written() -> None:
        wait_until(lambda: bool(of_type(ObservationEdited, recorded(run))))
        run.stop()  # it was paused all the time

    def edit_and_stay(_: Paused) -> None:
        edit(run, *run.steering.state.editable)
        threading.Thread(target=stop_when_written).start()

    carry_out(run, tool_ended=lambda _: run.pause(), paused=edit_and_stay)
    assert run.result.status == "stopped"
    follow_up = script()
    run.send("Go on.", model=follow_up).wait()
    assert results(follow_up, 0) == [EDITED]


# The record


def test_requests_are_rebuilt_as_the_model_got_them(studio: Studio) -> None:
    run, _ = edited_run(studio)
    messages = rebuild_request(run.recorded.folder, 2).body["messages"]
    (result,) = (each["content"] for each in messages if each["role"] == "tool")
    assert result == f"{EDITED}\nSteps Remaining: 99"
    assert Conversation(recorded(run)).messages == list(run.recorded.conversation.messages)


def test_a_fork_holds_what_the_model_saw(studio: Studio) -> None:
    run, _ = edited_run(studio, bash("echo more"))
    for step in (1, 2):
        model = script()
        run.fork(step, "Go on.", model=model).wait()
        assert results(model, 0)[0] == EDITED


def test_an_edit_is_in_every_export(studio: Studio, tmp_path: Path) -> None:
    run, _ = edited_run(studio)
    folder, events = run.recorded.folder, recorded(run)
    step = build_trajectory(events)["steps"][0]
    assert step["observation"] == EDITED
    assert "41 lakes" in step["metadata"]["original_observation"]
    markdown = "".join(conversation_markdown(events))
    assert f"The user edited this result. The model saw:*\n\n```\n{EDITED}" in markdown
    assert markdown.index("41 lakes") < markdown.index(EDITED)
    save_report(folder, tmp_path / "report.html", Budget.of_files(0))
    report = (tmp_path / "report.html").read_text()
    assert "The user edited this result" in report
    assert EDITED in report
    lines = "".join(messages_of_journal(folder.journal))
    assert EDITED in lines
    assert "\\n41 lakes" not in lines


@pytest.mark.parametrize("form", ["atif", "trajectory"])
def test_an_edit_is_kept_when_an_export_is_read_again(
    studio: Studio, tmp_path: Path, form: str
) -> None:
    run, _ = edited_run(studio)
    folder = run.recorded.folder
    file = tmp_path / f"{form}.json"
    if form == "atif":
        file.write_text("".join(atif.write(items_of_journal(folder.journal), folder.id)))
    else:
        file.write_text(json.dumps(build_trajectory(recorded(run))))
    (found,) = import_file(file, tmp_path / "imported")
    copy = RunFolder.open(tmp_path / "imported", found.run)
    events = [event for _, event in journal.read(copy.journal)]
    assert_edited(events)
    assert isinstance(events[-1], RunEnded)


def test_a_replay_compares_the_tools_own_result_and_repeats_the_edit(studio: Studio) -> None:
    run, _ = edited_run(studio, bash("echo more"))
    replay = studio.replay(run)
    events = list(replay)
    assert replay.result.replay is not None
    assert replay.result.replay.verdict in ("same", "volatile")
    assert not replay.result.replay.notes
    assert_edited(events)
    seen = next(m for m in replay.recorded.conversation.messages if isinstance(m, ToolResult))
    assert seen.text.startswith(EDITED)
