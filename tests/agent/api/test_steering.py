"""Steering a run from Python: pause, messages while it works, approval of calls."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import Run, SteeringRefused, Stop, Studio, UsageError
from agent.events import (
    ApprovalRequested,
    CallReviewed,
    Event,
    MessageDelivered,
    ModelAnswered,
    Paused,
    Resumed,
    RunEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
)
from agent.history.export import conversation_markdown
from agent.history.trajectory import build_trajectory
from agent.loop.steering import QueuedMessage, Steering
from agent.models.base import AssistantMessage, ToolResult, UserMessage
from agent.report.report import Budget, save_report
from agent.runs import journal
from agent.runs.recorded_run import STEERING_FILE
from tests.agent.api.conftest import bash, call, carry_out, script
from tests.support.component.events import of_type
from tests.support.models.scripted import ScriptedModel, ScriptedTurn

pytestmark = pytest.mark.contract


def in_step(step: int, react: Callable[[], object]) -> Callable[[Any], object]:
    """Return a function that reacts to the event of a step."""
    return lambda event: event.step == step and react()


def texts(model: ScriptedModel, request: int) -> list[str]:
    """The messages of a request that are not the model's own."""
    messages = model.requests[request].messages
    return [each.text for each in messages if isinstance(each, UserMessage | ToolResult)]


# Pause


def test_a_paused_run_waits_before_its_next_turn(studio: Studio) -> None:
    model = script(bash("echo a"), bash("echo b"))
    run = studio.run("Go.", model=model)

    def resume(_: Paused) -> None:
        assert len(model.requests) == 1
        assert run.recorded.state.state == "paused"
        run.resume()

    events = carry_out(run, tool_started=in_step(1, run.pause), paused=resume)
    kinds = [event.kind for event in events]
    assert kinds.index("paused") == kinds.index("step_ended") + 1
    assert kinds.count("paused") == kinds.count("resumed") == 1
    assert run.result.status == "submitted"


def test_a_run_paused_before_its_first_turn_takes_one_step_at_a_time(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a"), bash("echo b")))
    run.pause()
    assert run.steering.state.paused
    events = carry_out(run, paused=lambda _: run.step())
    assert [event.step for event in of_type(Paused, events)] == [0, 1, 2]
    assert run.result.status == "submitted"


def test_stop_ends_a_paused_run(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a")))
    run.pause()
    carry_out(run, paused=lambda _: threading.Thread(target=run.stop).start())
    assert run.result.status == "stopped"
    assert not run.steering.state.paused
    with pytest.raises(SteeringRefused):
        run.pause()


# Messages


def test_a_message_is_delivered_with_the_next_observation_unless_it_is_taken_back(
    studio: Studio,
) -> None:
    model = script(bash("echo a"), bash("echo b"))
    run = studio.run("Go.", model=model)
    sent: list[QueuedMessage] = []

    def send() -> None:
        sent.extend(run.steering.queue_message(text) for text in ("In German.", "In French."))
        run.steering.revoke_message(sent[0].id)
        assert run.steering.state.messages == (sent[1],)

    events = carry_out(run, tool_started=in_step(1, send))
    (delivered,) = of_type(MessageDelivered, events)
    assert (delivered.step, delivered.text) == (2, "In French.")
    assert (delivered.message, delivered.sent) == (sent[1].id, sent[1].at)
    assert run.steering.state.messages == ()
    assert texts(model, 1)[-1] == "In French."
    assert "a" in texts(model, 1)[-2]
    assert "In German." not in str(model.requests[-1])
    assert [event.step for event in of_type(StepStarted, events)] == [1, 2, 3]
    for message in sent:
        with pytest.raises(SteeringRefused):
            run.steering.revoke_message(message.id)


def test_a_model_that_has_finished_goes_on_with_a_message_that_waits(studio: Studio) -> None:
    model = ScriptedModel([call("submit"), ScriptedTurn(text="Voilà"), call("submit")])
    run = studio.run("Go.", model=model)
    messages = {1: "In French!", 2: "Really?"}

    def send(event: ModelAnswered) -> None:
        if event.step in messages:
            run.steering.queue_message(messages[event.step])

    carry_out(run, model_answered=send)
    assert run.result.status == "submitted"
    assert len(model.requests) == 3
    assert [type(each) for each in model.requests[1].messages[-2:]] == [ToolResult, UserMessage]


def test_a_message_that_was_not_delivered_survives_a_restart(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a")))

    def send_and_stop() -> None:
        run.steering.queue_message("Wait for me")
        run.stop()

    carry_out(run, tool_started=in_step(1, send_and_stop))
    assert run.result.status == "stopped"
    file = run.recorded.folder.path / STEERING_FILE
    (message,) = Steering(file).state.messages
    assert message.text == "Wait for me"
    model = script()
    run.send("Go on.", model=model).wait()
    assert "Wait for me" in texts(model, 0)[-1]
    assert not file.exists()


def test_a_round_is_steered_though_the_one_before_was_left_at_its_last_event(
    studio: Studio,
) -> None:
    run = studio.run("Go.", model=script(), approve=["every"])
    while not isinstance(next(iter(run)), RunEnded):
        continue
    run.send("More.", model=script(bash("echo b > output/answer.txt")))
    run.pause()
    carry_out(run, paused=lambda _: run.resume(), approval_requested=allow(run))
    assert (run.result.status, run.result.answer) == ("submitted", "b")


def test_a_run_that_has_ended_takes_no_message(studio: Studio) -> None:
    run = studio.run("Go.", model=script())
    run.wait()
    with pytest.raises(SteeringRefused, match="not working"):
        run.steering.queue_message("Too late")
    with pytest.raises(UsageError):
        run.steering.queue_message(" ")


def test_a_damaged_file_is_kept_aside(tmp_path: Path) -> None:
    file = tmp_path / STEERING_FILE
    file.write_text('{"approval": ["nonsense"]}')
    assert Steering(file).approval == ()
    assert [path.name for path in tmp_path.iterdir()] == [f"{STEERING_FILE}.damaged-1"]


# Approval


def allow(run: Run) -> Callable[[ApprovalRequested], None]:
    """Return a function that allows the call that waits."""

    def allow_call(event: ApprovalRequested) -> None:
        assert run.steering.state.waiting is not None
        assert run.recorded.state.state == "waiting_approval"
        run.steering.allow(event.call_id)

    return allow_call


def test_calls_that_match_a_rule_wait_for_approval(studio: Studio) -> None:
    commands = ("echo a", "rm -f x", "echo 'rm -f y' > clean.sh", "bash clean.sh")
    run = studio.run("Go.", model=script(*map(bash, commands)), approve=["delete", "network"])
    events = carry_out(run, approval_requested=allow(run))
    waiting = [each.summary for each in of_type(ApprovalRequested, events)]
    assert waiting == ["rm -f x", "bash clean.sh"]
    assert run.result.status == "submitted"


def test_a_denied_call_is_not_executed_and_the_model_gets_the_reason(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("touch denied")), approve=["every"])

    def deny(event: ApprovalRequested) -> None:
        run.steering.deny(event.call_id, "Not in this folder.")
        with pytest.raises(SteeringRefused):
            run.steering.allow(event.call_id)

    events = carry_out(run, approval_requested=deny)
    assert run.result.status == "submitted"
    assert "denied" not in "".join(run.files)
    (review,) = of_type(CallReviewed, events)
    assert (review.decision, review.reason) == ("denied", "Not in this folder.")
    denied, _ = of_type(ToolEnded, events)
    assert "because the user denied it. The user says: Not in this folder." in denied.observation
    assert [event.name for event in of_type(ToolStarted, events)] == ["submit"]
    assert run.recorded.state.steps[0].reviews == {denied.call_id: "denied"}


def edited_run(studio: Studio, model: ScriptedModel) -> tuple[Run, list[Event]]:
    run = studio.run("Go.", model=model, approve=["every"])
    changes = {"command": "echo edited > output/answer.txt"}

    def edit(event: ApprovalRequested) -> None:
        run.steering.edit(event.call_id, changes)

    return run, carry_out(run, approval_requested=edit)


def test_an_edited_call_is_executed_and_the_model_is_told(studio: Studio) -> None:
    model = script(bash("echo original > output/answer.txt"))
    run, events = edited_run(studio, model)
    assert run.result.answer == "edited"
    started = of_type(ToolStarted, events)[0]
    assert started.arguments == {"command": "echo edited > output/answer.txt"}
    asked = next(each for each in model.requests[1].messages if isinstance(each, AssistantMessage))
    assert "original" in asked.calls[0].arguments  # the model's own words stay
    assert "the user edited this call" in texts(model, 1)[-1]
    assert "echo edited" in texts(model, 1)[-1]


def test_an_edit_that_is_not_valid_is_refused_and_the_call_goes_on_waiting(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a > output/answer.txt")), approve=["every"])

    def edit(event: ApprovalRequested) -> None:
        with pytest.raises(UsageError, match="No command"):
            run.steering.edit(event.call_id, {"command": " "})
        with pytest.raises(SteeringRefused):
            run.steering.edit("another call", {"command": "echo b"})
        run.steering.edit(event.call_id, {})

    (review,) = of_type(CallReviewed, carry_out(run, approval_requested=edit))
    assert review.decision == "allowed"  # nothing was changed
    assert run.result.answer == "a"


def test_rules_change_while_the_run_works(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a"), bash("echo b"), bash("echo c")))

    def allow_all(event: ApprovalRequested) -> None:
        run.steering.set_approval([])
        run.steering.allow(event.call_id)

    set_rules = in_step(1, lambda: run.steering.set_approval(["every"]))
    events = carry_out(run, step_ended=set_rules, approval_requested=allow_all)
    assert [each.summary for each in of_type(ApprovalRequested, events)] == ["echo b"]


def test_stop_ends_a_run_whose_call_waits(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("touch x")), approve=["every"])
    events = carry_out(run, approval_requested=lambda _: threading.Thread(target=run.stop).start())
    assert run.result.status == "stopped"
    assert not of_type(CallReviewed, events)
    (ended,) = of_type(ToolEnded, events)
    assert ended.observation == "Error: not executed, because the run was stopped."
    assert run.steering.state.waiting is None


def test_a_stop_after_the_step_waits_for_no_decision(studio: Studio) -> None:
    stop = Stop()
    run = studio.run("Go.", model=script(bash("touch x")), approve=["every"], stop=stop)
    close = threading.Thread(target=stop.set_after_step, args=("The studio closes.",))
    carry_out(run, approval_requested=lambda _: close.start())
    assert (run.result.status, run.result.reason) == ("stopped", "The studio closes.")
    assert "x" not in list(run.files)


def test_a_fork_has_the_rules_of_its_parent(studio: Studio) -> None:
    run = studio.run("Go.", model=script(bash("echo a")), approve=["risky"])
    run.wait()
    fork = run.fork(1, "Go on.", model=script())
    assert fork.steering.approval == ("network", "delete", "install", "long")
    assert run.steering.approval == fork.steering.approval


# The record


def test_an_edit_is_in_every_export(studio: Studio, tmp_path: Path) -> None:
    run, _ = edited_run(studio, script(bash("echo original")))
    events = [event for _, event in journal.read(run.recorded.folder.journal)]
    review = build_trajectory(events)["steps"][0]["metadata"]["review"]
    assert review["decision"] == "edited"
    assert review["arguments"] == {"command": "echo edited > output/answer.txt"}
    markdown = "".join(conversation_markdown(events))
    assert "The user edited this call" in markdown
    assert markdown.index("echo original") < markdown.index("echo edited")
    save_report(run.recorded.folder, tmp_path / "report.html", Budget.of_files(0))
    report = (tmp_path / "report.html").read_text()
    assert "The user edited this call" in report
    assert "echo original" in report


def test_a_replay_repeats_what_the_user_did(studio: Studio) -> None:
    model = ScriptedModel(
        [bash("echo one > a"), bash("rm -f a"), call("submit"), bash("cat a"), call("submit")]
    )
    run = studio.run("Go.", model=model, approve=["every"])

    def decide(event: ApprovalRequested) -> None:
        if event.step == 1:
            run.steering.edit(event.call_id, {"command": "echo two > a"})
        elif event.step == 2:
            run.steering.deny(event.call_id, "Keep it.")
        else:
            run.steering.allow(event.call_id)

    send = in_step(3, lambda: run.steering.queue_message("Show it."))
    carry_out(run, model_answered=send, approval_requested=decide)
    assert run.result.status == "submitted"
    replay = studio.replay(run)
    events = list(replay)
    assert replay.result.replay is not None
    assert replay.result.replay.verdict in ("same", "volatile")
    found = [event.decision for event in of_type(CallReviewed, events)]
    assert found == ["edited", "denied", "allowed"]
    assert [event.text for event in of_type(MessageDelivered, events)] == ["Show it."]
    assert replay.files["a"].text() == "two\n"
    assert not of_type(Resumed, events)
