"""The loop with a scripted endpoint and a real shell."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from agent.errors import ModelRefused
from agent.events import (
    CallDelta,
    Event,
    ModelAnswered,
    Notice,
    ObservationsCleared,
    ReasoningDelta,
    Reminder,
    Retrying,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
)
from agent.limits import Limits
from agent.loop import loop
from agent.loop.conversation import Conversation
from agent.loop.loop import Round
from agent.loop.notes import REMINDER
from agent.models.base import Model, ModelConfig, ModelRequest, Piece, ReasoningPiece
from agent.models.endpoint.client import EndpointModel
from agent.sandbox.process import ProcessSandbox
from agent.tools.toolbox import Toolbox
from agent.util.stop import Stop
from tests.agent.loop.played_round import Played
from tests.support.component.events import started
from tests.support.hostile.flood import FloodServer
from tests.support.models import scripted
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.models.scripted import ScriptedModel, ScriptedTurn
from tests.support.models.turns import bash

pytestmark = pytest.mark.contract

SUBMIT = Turn(calls=[("submit", {})])
TOOL, PLAIN, EMPTY = bash("true"), Turn(text="4"), Turn()
WRITE_ANSWER = bash("echo 42 > output/answer.txt")
LONG_OUTPUTS = [bash(f"seq {n} {n + 400}") for n in range(6)]
EVENT_STREAM_HEAD = "HTTP/1.1 200 OK\nContent-Type: text/event-stream"


class LoopRunner:
    """Runs rounds of one conversation; ``reactions`` are called after events of their type."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        self.sandbox = sandbox
        self.stop = Stop()
        self.conversation = Conversation([started(system="You work.", user="Do it.")])
        self.reactions: dict[type[Event], Callable[[], None]] = {}

    def run_model(
        self, model: Model, *, plain: bool = False, verify_claims: bool = False, **limits: Any
    ) -> Played:
        inputs = Round(
            model, None if plain else Toolbox(self.sandbox), self.conversation,
            Limits(**{"backoff": 0.01, **limits}), self.stop, verify_claims=verify_claims,
        )  # fmt: skip
        events = []
        for event in loop.run_round(inputs):
            events.append(event)
            self.reactions.get(type(event), lambda: None)()
        return Played(events)

    def play(self, turns: Iterable[Turn], **options: Any) -> Played:
        """Run a round against an endpoint; options are limits and those of ``run_model``."""
        with Endpoint(turns) as endpoint:
            model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
            played = self.run_model(model, **options)
        assert endpoint.history_errors == []
        return replace(played, bodies=[received.body for received in endpoint.requests])


@pytest.fixture
def runner(sandbox: ProcessSandbox) -> LoopRunner:
    return LoopRunner(sandbox)


# Complete runs


def test_commands_are_executed_until_the_model_submits(runner: LoopRunner) -> None:
    played = runner.play([bash("echo hello; pwd", text="Look."), SUBMIT])
    assert played.end.status == "submitted"
    assert "hello" in played.observations[0]
    assert played.bodies[1]["messages"][-1]["role"] == "tool"
    assert "hello" in played.bodies[1]["messages"][-1]["content"]


def test_streamed_text_equals_the_final_answer(runner: LoopRunner) -> None:
    played = runner.play([bash("true", text="Wörds.", reasoning="Hm…"), SUBMIT])
    text = "".join(each.text for each in played.of_type(TextDelta) if each.step == 1)
    reasoning = "".join(each.text for each in played.of_type(ReasoningDelta) if each.step == 1)
    arguments = "".join(each.arguments for each in played.of_type(CallDelta) if each.step == 1)
    first = played.of_type(ModelAnswered)[0]
    assert (text, reasoning, arguments) == (first.text, first.reasoning, first.calls[0].arguments)


def test_remaining_steps_are_announced_and_stay_in_the_history(runner: LoopRunner) -> None:
    played = runner.play([TOOL, SUBMIT], steps=7)
    assert played.bodies[0]["messages"][-1]["content"].endswith("\nSteps Remaining: 7")
    messages = played.bodies[1]["messages"]
    assert messages[1]["content"].endswith("\nSteps Remaining: 7")
    assert messages[-1]["content"].endswith("\nSteps Remaining: 6")


def test_every_step_starts_and_ends_once(runner: LoopRunner) -> None:
    played = runner.play([TOOL] * 3 + [SUBMIT])
    assert [event.step for event in played.of_type(StepStarted)] == [1, 2, 3, 4]
    assert [event.step for event in played.of_type(StepEnded)] == [1, 2, 3, 4]
    assert played.end.totals.sandbox_seconds > 0
    assert not played.end.totals.estimated


def test_the_answer_is_the_file_written_in_this_round(runner: LoopRunner) -> None:
    assert runner.play([WRITE_ANSWER, SUBMIT]).end.answer == "42"
    runner.conversation.apply(Reminder(step=0, text="And now?"))
    assert runner.play([replace(SUBMIT, text="Nothing new.")]).end.answer == "Nothing new."


# Tool calls: each has exactly one result


def test_all_calls_of_a_message_run_in_order(runner: LoopRunner) -> None:
    played = runner.play([bash("echo a >> log", "echo b >> log", "cat log"), SUBMIT])
    assert "a\nb" in played.observations[2]
    assert len(played.of_type(ToolStarted)) == 4


def test_a_malformed_call_is_answered_with_the_error(runner: LoopRunner) -> None:
    played = runner.play([Turn(calls=[Call("execute_bash", '["ls"]')]), SUBMIT])
    assert played.end.status == "submitted"
    assert "object" in played.observations[0]
    assert not played.of_type(ToolEnded)[0].ok


def test_repeated_call_ids_are_made_unique(runner: LoopRunner) -> None:
    turn = Turn(calls=[Call("execute_bash", {"command": "true"}, id="call_0")])
    ids = [event.call_id for event in runner.play([turn, turn, SUBMIT]).of_type(ToolEnded)]
    assert len(set(ids)) == len(ids)


def test_calls_after_submit_are_answered_but_not_executed(runner: LoopRunner) -> None:
    played = runner.play([Turn(calls=[*SUBMIT.calls, *bash("touch late").calls])])
    assert played.end.status == "submitted"
    assert "submitted" in played.observations[1]
    assert not (runner.sandbox.workspace / "late").exists()


def test_a_call_truncated_by_the_token_limit_is_reported(runner: LoopRunner) -> None:
    truncated_call = Turn(calls=[Call("execute_bash", '{"command": "echo ')], finish="length")
    assert "token limit" in runner.play([truncated_call, SUBMIT]).observations[0]


def test_a_call_started_in_a_lost_sandbox_is_not_reported_as_not_executed(
    runner: LoopRunner,
) -> None:
    runner.reactions[ToolOutput] = runner.sandbox.close
    played = runner.play([bash("echo begun; sleep 600", "true")])
    assert played.end.status == "failed"
    first, second = played.observations
    assert "in part" in first
    assert "not executed" in second


def test_a_lost_sandbox_answers_every_call_and_fails_the_run(runner: LoopRunner) -> None:
    runner.sandbox.close()
    played = runner.play([bash("true", "true")])
    assert played.end.status == "failed"
    assert played.end.reason
    assert len(played.observations) == 2


# Plain answers


def test_a_plain_answer_ends_the_run_after_two_consecutive_reminders(runner: LoopRunner) -> None:
    played = runner.play([Turn(text="It is 4.")] * 3)
    assert (played.end.status, played.end.answer) == ("answered", "It is 4.")
    assert [event.text for event in played.of_type(Reminder)] == [REMINDER] * 2
    assert REMINDER in played.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("turns", "limits", "status", "answer", "reason", "reminders"),
    [
        pytest.param(
            [PLAIN, PLAIN, TOOL, PLAIN, PLAIN, SUBMIT], {}, "submitted", "4", "", 4,
            id="a tool call resets the count",
        ),
        pytest.param(
            [replace(TOOL, text="Let me see."), *[Turn(reasoning="hm")] * 3], {},
            "failed", "", "wrote no text", 2, id="an empty answer is a failure",
        ),
        pytest.param(
            [WRITE_ANSWER, *[EMPTY] * 3], {}, "answered", "42", "", 2,
            id="an empty turn after the answer file is not",
        ),
        pytest.param(
            [Turn(text="It is", finish="length")] * 3, {}, "token_limit", "It is", "cut", 2,
            id="a truncated answer is not accepted",
        ),
        pytest.param(
            [PLAIN], {"reminders": 0}, "answered", "4", "", 0, id="accepted immediately"
        ),
        pytest.param(
            [PLAIN] * 6, {"reminders": None, "steps": 6}, "step_limit", "4", "", 6,
            id="always refused",
        ),
        pytest.param([EMPTY, SUBMIT], {}, "submitted", "", "", 1, id="an empty turn"),
    ],
)  # fmt: skip
def test_answers_without_a_call(
    runner: LoopRunner, turns: list[Turn], limits: dict[str, Any], status: str, answer: str,
    reason: str, reminders: int,
) -> None:  # fmt: skip
    played = runner.play(turns, **limits)
    assert (played.end.status, played.end.answer) == (status, answer)
    assert reason in played.end.reason
    assert len(played.of_type(Reminder)) == reminders


# Limits


def test_the_last_step_is_announced_and_ends_the_run_unless_it_submits(runner: LoopRunner) -> None:
    played = runner.play([TOOL] * 3, steps=3)
    assert played.end.status == "step_limit"
    notes = [event.note for event in played.of_type(StepStarted)]
    assert ["last turn" in note for note in notes] == [False, False, True]
    assert runner.play([TOOL, SUBMIT], steps=2).end.status == "submitted"


def test_one_last_turn_remains_near_the_token_limit(runner: LoopRunner) -> None:
    turns = [bash("true", usage=(500 * n, 10)) for n in range(1, 6)]
    played = runner.play(turns, conversation_tokens=1000)
    assert played.end.status == "token_limit"
    assert len(played.of_type(StepEnded)) == 3
    assert "last turn" in played.of_type(StepStarted)[2].note


def test_wall_time_ends_a_command_and_leaves_one_last_turn(runner: LoopRunner) -> None:
    played = runner.play([bash("echo begun; sleep 600"), TOOL], seconds=2.0)
    assert played.end.status == "time_limit"
    assert played.of_type(ToolEnded)[0].end_reason == "timeout"
    assert "begun" in played.observations[0]


def test_wall_time_ends_an_endless_turn(runner: LoopRunner) -> None:
    class EndlessModel(ScriptedModel):
        def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
            while not stop.wait(0.005):
                yield ReasoningPiece("hm ")

    assert runner.run_model(EndlessModel([]), seconds=0.5).end.status == "time_limit"


def test_wall_time_ends_a_stream_of_comments(runner: LoopRunner) -> None:
    with FloodServer(EVENT_STREAM_HEAD, endless_comments()) as server:
        played = runner.run_model(EndpointModel(ModelConfig(server.url, "m")), seconds=1.0)
    assert played.end.status == "time_limit"
    assert server.sent > 0


def endless_comments() -> Iterator[bytes]:
    while True:
        yield b": waiting\n\n"
        time.sleep(0.05)


def test_wall_time_skips_calls_that_have_not_started(runner: LoopRunner) -> None:
    turn = Turn(calls=[*bash("sleep 600", "echo late").calls, *SUBMIT.calls])
    played = runner.play([turn], seconds=2.0)
    assert played.end.status == "submitted"
    assert ["not executed" in text for text in played.observations] == [False, True, False]
    assert "the time limit was reached" in played.observations[1]


def test_wall_time_ends_the_wait_for_a_retry(runner: LoopRunner) -> None:
    played = runner.play([Turn(fault="429 retry-after=50")], seconds=1.0)
    assert played.end.status == "time_limit"
    assert played.of_type(Retrying)


# Errors of the endpoint


@pytest.mark.parametrize("fault", ["429 retry-after=0.01", "503", "cut"])
def test_transient_errors_are_retried_and_shown(runner: LoopRunner, fault: str) -> None:
    played = runner.play([Turn(text="LOST" * 20, fault=fault), SUBMIT])
    assert played.end.status == "submitted"
    retry = played.of_type(Retrying)[0]
    assert retry.attempt == 2
    assert retry.reason
    assert "LOST" not in json.dumps(played.bodies[-1])


def test_retries_are_limited(runner: LoopRunner) -> None:
    played = runner.play([Turn(fault="503")] * 3, attempts=3)
    assert played.end.status == "failed"
    assert len(played.of_type(Retrying)) == 2
    assert "503" in played.end.reason


def test_a_permanent_error_is_not_retried_and_the_text_before_it_is_no_answer(
    runner: LoopRunner,
) -> None:
    played = runner.play([replace(TOOL, text="Let me look."), Turn(fault="401")])
    assert (played.end.status, played.end.answer) == ("failed", "")
    assert len(played.bodies) == 2
    assert "401" in played.end.reason


def full_context(used: int, detail: str = "") -> Turn:
    message = "This model's maximum context length is 4096 tokens. However, you requested"
    return Turn(fault="400", message=f"{message} {used} tokens{detail}")


def test_a_full_context_then_trims_older_outputs_with_a_note(runner: LoopRunner) -> None:
    played = runner.play([*LONG_OUTPUTS, full_context(9000), SUBMIT])
    assert played.end.status == "submitted"
    assert len(played.of_type(ObservationsCleared)) == 1
    results = [m["content"] for m in played.bodies[-1]["messages"] if m["role"] == "tool"]
    assert results[0].startswith("[This output was removed")
    assert "400" in results[-1]


def test_a_full_context_reduces_max_tokens_until_it_has_room_again(runner: LoopRunner) -> None:
    refusals = [full_context(used, f" ({used} in the messages)") for used in (3500, 4000)]
    played = runner.play([*LONG_OUTPUTS, *refusals, SUBMIT], turn_tokens=2000)
    assert played.end.status == "submitted"
    assert played.of_type(ObservationsCleared)
    assert played.of_type(Notice)
    max_tokens = [body["max_tokens"] for body in played.bodies]
    assert max_tokens[-3:] == [2000, 4096 - 3500 - 100, 2000]


def test_a_context_that_stays_full_ends_as_a_token_limit(runner: LoopRunner) -> None:
    assert runner.play([full_context(9000)]).end.status == "token_limit"


def test_an_unaffordable_answer_is_requested_with_fewer_tokens(runner: LoopRunner) -> None:
    message = "This request requires more credits: you can only afford 3000 tokens."
    played = runner.play([Turn(fault="402", message=message), SUBMIT], turn_tokens=65536)
    assert played.end.status == "submitted"
    assert played.bodies[1]["max_tokens"] == 3000


def test_an_html_page_is_an_error_at_first_and_retried_after_valid_answers(
    runner: LoopRunner,
) -> None:
    first = runner.play([Turn(fault="html")])
    assert (first.end.status, first.of_type(Retrying)) == ("failed", [])
    assert "end in /v1" in first.end.reason
    later = runner.play([TOOL, Turn(fault="html"), SUBMIT])
    assert later.end.status == "submitted"
    assert "not a model's answer" in later.of_type(Retrying)[0].reason


def test_a_model_refusal_is_the_reason_for_the_failure(runner: LoopRunner) -> None:
    model = ScriptedModel([ScriptedTurn(error=ModelRefused("Connect a model."))])
    assert runner.run_model(model).end.reason == "Connect a model."


# Stop


def test_stop_ends_the_wait_for_a_silent_model(runner: LoopRunner) -> None:
    def turns() -> Iterator[Turn]:
        threading.Timer(0.05, runner.stop.set).start()
        yield Turn(fault="silent at=0")

    with ThreadPoolExecutor() as pool:
        assert pool.submit(runner.play, turns()).result(10).end.status == "stopped"


def test_stop_ends_a_command_and_answers_the_remaining_calls(runner: LoopRunner) -> None:
    runner.reactions[ToolOutput] = runner.stop.set
    played = runner.play([bash("echo begun; sleep 600", "touch never", text="Let me look.")])
    assert (played.end.status, played.end.answer) == ("stopped", "")
    assert played.of_type(ToolEnded)[0].end_reason == "stop"
    assert len(played.observations) == 2
    assert not (runner.sandbox.workspace / "never").exists()


def test_stop_ends_the_wait_between_retries(runner: LoopRunner) -> None:
    runner.reactions[Retrying] = threading.Timer(0.05, runner.stop.set).start
    with ThreadPoolExecutor() as pool:
        playing = pool.submit(runner.play, [Turn(fault="429 retry-after=50")])
        assert playing.result(10).end.status == "stopped"


# Totals


def test_missing_token_counts_are_estimated_and_marked(runner: LoopRunner) -> None:
    totals = runner.play([replace(SUBMIT, text="hello " * 10, usage=None)]).end.totals
    assert totals.estimated
    assert totals.generated_tokens >= 15


# Without a sandbox


@pytest.mark.parametrize("calls", [[], [bash("ls")]], ids=["immediately", "after one call"])
def test_plain_mode_accepts_an_answer(runner: LoopRunner, calls: list[Turn]) -> None:
    played = runner.play([*calls, PLAIN], plain=True)
    assert (played.end.status, played.end.answer) == ("answered", "4")
    assert "tools" not in played.bodies[0]
    assert "Steps Remaining" not in json.dumps(played.bodies[0])


def test_plain_mode_ends_if_the_model_keeps_calling_tools(runner: LoopRunner) -> None:
    played = runner.play(itertools.repeat(bash("ls", text="Let me see.")), plain=True)
    assert (played.end.status, len(played.bodies)) == ("failed", 2)
    assert "plain mode has none" in played.end.reason


# The history and the workspace


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_returned_under_its_original_field_name(
    runner: LoopRunner, field: str
) -> None:
    played = runner.play([replace(TOOL, reasoning="Hm.", reasoning_field=field), SUBMIT])
    (message,) = [m for m in played.bodies[1]["messages"] if m["role"] == "assistant"]
    assert {key: text for key, text in message.items() if text == "Hm."} == {field: "Hm."}
    assert played.of_type(ModelAnswered)[0].reasoning_field == field


@pytest.mark.parametrize(
    ("command", "claim", "status", "reason"),
    [
        ("true", "output/a.txt", "failed", "output/a.txt is done, but it does not exist"),
        ("touch output/a.txt", "output/a.txt", "failed", "output/a.txt is done, but it is empty"),
        ("true", "output/", "failed", "output/ is done, but it is empty"),
        ("echo 1 > output/a.txt", "output/a.txt", "submitted", ""),
        ("echo 1 > output/a.txt", "output/", "submitted", ""),
        ("true", "nothing", "submitted", ""),
    ],
)
def test_claimed_files_are_checked_against_the_workspace(
    runner: LoopRunner, command: str, claim: str, status: str, reason: str
) -> None:
    runner.sandbox.write("output/.keep", b"")
    turns = [scripted.bash(command), replace(scripted.SUBMIT, text=f"Done: {claim}")]
    end = runner.run_model(ScriptedModel(turns), verify_claims=True).end
    assert end.status == status
    assert reason in end.reason
