"""The loop with a scripted endpoint and a real shell."""

import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

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
    RunEnded,
    RunStarted,
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
from agent.models.base import Model, ModelConfig, ModelRequest, Piece, ReasoningPiece, ToolCall
from agent.models.endpoint.client import EndpointModel
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs.state import format_totals
from agent.sandbox.process import ProcessSandbox
from agent.tools.toolbox import Toolbox
from agent.util.cancellation import Stop
from tests.support.hostile.flood import FloodServer
from tests.support.models.endpoint import Call, Endpoint, Turn

pytestmark = pytest.mark.contract

E = TypeVar("E", bound=Event)
SUBMIT = Turn(calls=[("submit", {})])
QUICK_RETRIES = Limits(backoff=0.01)
EVENT_STREAM_HEAD = "HTTP/1.1 200 OK\nContent-Type: text/event-stream"


def bash(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("execute_bash", {"command": command, **more})


class LoopRunner:
    """Runs rounds against scripted endpoints and keeps the requests."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        self.sandbox = sandbox
        self.stop = Stop()
        self.conversation = Conversation()
        self.endpoint: Endpoint | None = None

    def run_model(
        self, model: Model, limits: Limits = QUICK_RETRIES, *, plain: bool = False, **options: Any
    ) -> list[Event]:
        self.conversation.apply(Reminder(step=0, text="Do it."))
        toolbox = None if plain else Toolbox(self.sandbox)
        return list(
            loop.run_round(Round(model, toolbox, self.conversation, limits, self.stop, **options))
        )

    def stream_round(
        self, endpoint: Endpoint, limits: Limits = QUICK_RETRIES, **config: Any
    ) -> Iterator[Event]:
        if not self.conversation.messages:
            self.conversation.apply(
                RunStarted(
                    run="r", task="t", mode="sandbox", model="m", metered=True, prompt="general",
                    system="You work.", user="Do it.",
                )
            )  # fmt: skip
        model = EndpointModel(ModelConfig(endpoint.url, "test-model", **config))
        return loop.run_round(
            Round(model, Toolbox(self.sandbox), self.conversation, limits, self.stop)
        )

    def run_round(
        self, turns: Sequence[Turn], limits: Limits = QUICK_RETRIES, **config: Any
    ) -> list[Event]:
        with Endpoint(turns) as endpoint:
            self.endpoint = endpoint
            events = list(self.stream_round(endpoint, limits, **config))
        assert endpoint.history_errors == []
        assert sum(isinstance(event, RunEnded) for event in events) == 1
        return events

    @property
    def request_bodies(self) -> list[dict[str, Any]]:
        assert self.endpoint is not None
        return [received.body for received in self.endpoint.requests]


@pytest.fixture
def runner(sandbox: ProcessSandbox) -> LoopRunner:
    return LoopRunner(sandbox)


def events_of_type(event_type: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, event_type)]


def run_end(events: Sequence[Event]) -> RunEnded:
    assert isinstance(events[-1], RunEnded)
    return events[-1]


def observations(events: Sequence[Event]) -> list[str]:
    return [event.observation for event in events_of_type(ToolEnded, events)]


# Complete runs


def test_commands_are_executed_until_the_model_submits(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(text="Look.", calls=[bash("echo hello; pwd")]), SUBMIT])
    assert run_end(events).status == "submitted"
    assert "hello" in observations(events)[0]
    assert runner.request_bodies[1]["messages"][-1]["role"] == "tool"
    assert "hello" in runner.request_bodies[1]["messages"][-1]["content"]


def test_streamed_text_equals_the_final_answer(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(text="Wörds.", reasoning="Hm…", calls=[bash("true")]), SUBMIT])
    first = events_of_type(ModelAnswered, events)[0]
    text = "".join(event.text for event in events_of_type(TextDelta, events) if event.step == 1)
    reasoning = "".join(
        event.text for event in events_of_type(ReasoningDelta, events) if event.step == 1
    )
    arguments = "".join(
        event.arguments for event in events_of_type(CallDelta, events) if event.step == 1
    )
    assert (text, reasoning, arguments) == (first.text, first.reasoning, first.calls[0].arguments)


def test_remaining_steps_are_announced_and_stay_in_the_history(runner: LoopRunner) -> None:
    runner.run_round([Turn(calls=[bash("true")]), SUBMIT], Limits(steps=7))
    assert runner.request_bodies[0]["messages"][-1]["content"].endswith("\nSteps Remaining: 7")
    messages = runner.request_bodies[1]["messages"]
    assert messages[1]["content"].endswith("\nSteps Remaining: 7")
    assert messages[-1]["content"].endswith("\nSteps Remaining: 6")


def test_every_step_starts_and_ends_once(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[bash("true")])] * 3 + [SUBMIT])
    assert [event.step for event in events_of_type(StepStarted, events)] == [1, 2, 3, 4]
    assert [event.step for event in events_of_type(StepEnded, events)] == [1, 2, 3, 4]


def test_the_answer_is_the_file_written_in_this_round(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[bash("echo 42 > output/answer.txt")]), SUBMIT])
    assert run_end(events).answer == "42"
    runner.conversation.apply(Reminder(step=0, text="And now?"))
    events = runner.run_round([Turn(text="Nothing new.", calls=[("submit", {})])])
    assert run_end(events).answer == "Nothing new."


# Tool calls: each has exactly one result


def test_all_calls_of_a_message_run_in_order(runner: LoopRunner) -> None:
    calls = [bash("echo a >> log"), bash("echo b >> log"), bash("cat log")]
    events = runner.run_round([Turn(calls=calls), SUBMIT])
    assert "a\nb" in observations(events)[2]
    assert len(events_of_type(ToolStarted, events)) == 4


def test_a_malformed_call_is_answered_with_the_error(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[Call("execute_bash", '["ls"]')]), SUBMIT])
    assert run_end(events).status == "submitted"
    assert "object" in observations(events)[0]
    assert not events_of_type(ToolEnded, events)[0].ok


def test_a_call_without_an_id_gets_a_generated_id(runner: LoopRunner) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "function": {"name": "execute_bash", "arguments": '{"command": "echo hi"}'}}
    ]}, "finish_reason": "tool_calls"}]}  # fmt: skip
    events = runner.run_round([Turn(chunks=[chunk]), SUBMIT])
    assert events_of_type(ToolEnded, events)[0].call_id
    assert "hi" in observations(events)[0]


def test_repeated_call_ids_are_made_unique(runner: LoopRunner) -> None:
    turn = Turn(calls=[Call("execute_bash", {"command": "true"}, id="call_0")])
    events = runner.run_round([turn, turn, SUBMIT])
    ids = [event.call_id for event in events_of_type(ToolEnded, events)]
    assert len(set(ids)) == len(ids)


def test_calls_after_submit_are_answered_but_not_executed(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[("submit", {}), bash("touch late")])])
    assert run_end(events).status == "submitted"
    assert "submitted" in observations(events)[1]
    assert not (runner.sandbox.workspace / "late").exists()


def test_a_call_truncated_by_the_token_limit_is_reported(runner: LoopRunner) -> None:
    truncated_call = Turn(calls=[Call("execute_bash", '{"command": "echo ')], finish="length")
    events = runner.run_round([truncated_call, SUBMIT])
    assert "token limit" in observations(events)[0]


def test_a_call_started_in_a_lost_sandbox_is_not_reported_as_not_executed(
    runner: LoopRunner,
) -> None:
    with Endpoint([Turn(calls=[bash("echo begun; sleep 600"), bash("true")])]) as endpoint:
        events = []
        for event in runner.stream_round(endpoint):
            events.append(event)
            if isinstance(event, ToolOutput):
                runner.sandbox.close()
    assert run_end(events).status == "failed"
    first, second = observations(events)
    assert "in part" in first
    assert "not executed" in second


def test_a_lost_sandbox_answers_every_call_and_fails_the_run(runner: LoopRunner) -> None:
    runner.sandbox.close()
    events = runner.run_round([Turn(calls=[bash("true"), bash("true")])])
    assert run_end(events).status == "failed"
    assert run_end(events).reason
    assert len(events_of_type(ToolEnded, events)) == 2


# Plain answers


def test_a_plain_answer_ends_the_run_after_two_consecutive_reminders(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(text="It is 4.")] * 3)
    assert run_end(events).status == "answered"
    assert run_end(events).answer == "It is 4."
    assert [event.text for event in events_of_type(Reminder, events)] == [REMINDER] * 2
    assert REMINDER in runner.request_bodies[1]["messages"][-1]["content"]


PLAIN, TOOL, EMPTY = Turn(text="4"), Turn(calls=[bash("true")]), Turn()
WRITE_ANSWER = Turn(calls=[bash("echo 42 > output/answer.txt")])


@pytest.mark.parametrize(
    ("turns", "limits", "status", "answer", "reason", "reminders"),
    [
        pytest.param(
            [PLAIN, PLAIN, TOOL, PLAIN, PLAIN, SUBMIT], {}, "submitted", "4", "", 4,
            id="a tool call resets the count",
        ),
        pytest.param(
            [Turn(text="Let me see.", calls=[bash("true")]), *[Turn(reasoning="hm")] * 3], {},
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
    events = runner.run_round(turns, replace(QUICK_RETRIES, **limits))
    assert (run_end(events).status, run_end(events).answer) == (status, answer)
    assert reason in run_end(events).reason
    assert len(events_of_type(Reminder, events)) == reminders


# Limits


def test_the_last_step_is_announced_and_the_run_ends_at_the_limit(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[bash("true")])] * 3, Limits(steps=3))
    assert run_end(events).status == "step_limit"
    assert "last turn" in events_of_type(StepStarted, events)[-1].note
    assert "last turn" not in events_of_type(StepStarted, events)[0].note


def test_a_submit_in_the_last_turn_is_accepted(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[bash("true")]), SUBMIT], Limits(steps=2))
    assert run_end(events).status == "submitted"


def test_one_last_turn_remains_near_the_token_limit(runner: LoopRunner) -> None:
    turns = [Turn(calls=[bash("true")], usage=(500 * n, 10)) for n in range(1, 6)]
    events = runner.run_round(turns, replace(QUICK_RETRIES, conversation_tokens=1000))
    assert run_end(events).status == "token_limit"
    assert len(events_of_type(StepEnded, events)) == 3
    assert "last turn" in events_of_type(StepStarted, events)[2].note


def test_wall_time_ends_a_command_and_leaves_one_last_turn(runner: LoopRunner) -> None:
    turns = [Turn(calls=[bash("echo begun; sleep 600")]), Turn(calls=[bash("true")])]
    events = runner.run_round(turns, replace(QUICK_RETRIES, seconds=2.0))
    assert run_end(events).status == "time_limit"
    assert events_of_type(ToolEnded, events)[0].end_reason == "timeout"
    assert "begun" in observations(events)[0]


def test_wall_time_ends_an_endless_turn(runner: LoopRunner) -> None:
    class EndlessModel(ScriptedModel):
        def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
            while not stop.wait(0.005):
                yield ReasoningPiece("hm ")

    events = runner.run_model(EndlessModel([]), replace(QUICK_RETRIES, seconds=0.5))
    assert run_end(events).status == "time_limit"


def test_wall_time_ends_a_stream_of_comments(runner: LoopRunner) -> None:
    with FloodServer(EVENT_STREAM_HEAD, endless_comments()) as server:
        model = EndpointModel(ModelConfig(server.url, "m"))
        events = runner.run_model(model, replace(QUICK_RETRIES, seconds=1.0))
    assert run_end(events).status == "time_limit"
    assert server.sent > 0


def endless_comments() -> Iterator[bytes]:
    while True:
        yield b": waiting\n\n"
        time.sleep(0.05)


def test_wall_time_skips_calls_that_have_not_started(runner: LoopRunner) -> None:
    turn = Turn(calls=[bash("sleep 600"), bash("echo late"), ("submit", {})])
    events = runner.run_round([turn], replace(QUICK_RETRIES, seconds=2.0))
    assert run_end(events).status == "submitted"
    results = observations(events)
    assert ["not executed" in text for text in results] == [False, True, False]
    assert "the time limit was reached" in results[1]


def test_wall_time_ends_the_wait_for_a_retry(runner: LoopRunner) -> None:
    rate_limited = Turn(fault="429 retry-after=50")
    events = runner.run_round([rate_limited], replace(QUICK_RETRIES, seconds=1.0))
    assert run_end(events).status == "time_limit"
    assert events_of_type(Retrying, events)


# Errors of the endpoint


@pytest.mark.parametrize("fault", ["429 retry-after=0.01", "503", "cut"])
def test_transient_errors_are_retried_and_shown(runner: LoopRunner, fault: str) -> None:
    events = runner.run_round([Turn(text="x" * 40, fault=fault), SUBMIT])
    assert run_end(events).status == "submitted"
    retry = events_of_type(Retrying, events)[0]
    assert retry.attempt == 2
    assert retry.reason


def test_output_of_a_failed_attempt_is_not_in_the_history(runner: LoopRunner) -> None:
    runner.run_round([Turn(text="LOST" * 20, fault="cut"), Turn(calls=[bash("true")]), SUBMIT])
    assert "LOST" not in json.dumps(runner.request_bodies[-1])


def test_retries_are_limited(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(fault="503")] * 3, replace(QUICK_RETRIES, attempts=3))
    assert run_end(events).status == "failed"
    assert len(events_of_type(Retrying, events)) == 2
    assert "503" in run_end(events).reason


def test_a_permanent_error_is_not_retried_and_the_text_before_it_is_no_answer(
    runner: LoopRunner,
) -> None:
    events = runner.run_round([Turn(text="Let me look.", calls=[bash("true")]), Turn(fault="401")])
    assert (run_end(events).status, run_end(events).answer) == ("failed", "")
    assert len(runner.request_bodies) == 2
    assert "401" in run_end(events).reason


def test_a_full_context_then_trims_older_outputs_with_a_note(runner: LoopRunner) -> None:
    message = "This model's maximum context length is 4096 tokens, however you requested 9000."
    output_turns = [Turn(calls=[bash(f"seq {n} {n + 400}")]) for n in range(6)]
    events = runner.run_round([*output_turns, Turn(fault="400", message=message), SUBMIT])
    assert run_end(events).status == "submitted"
    assert len(events_of_type(ObservationsCleared, events)) == 1
    results = [m["content"] for m in runner.request_bodies[-1]["messages"] if m["role"] == "tool"]
    assert results[0].startswith("[This output was removed")
    assert "400" in results[-1]


def test_a_full_context_reduces_max_tokens_until_it_has_room_again(runner: LoopRunner) -> None:
    full_context = (
        "maximum context length is 4096 tokens. However, you requested {0} tokens "
        "({0} in the messages)"
    )
    output_turns = [Turn(calls=[bash(f"seq {n} {n + 400}")]) for n in range(6)]
    refusals = [Turn(fault="400", message=full_context.format(used)) for used in (3500, 4000)]
    events = runner.run_round(
        [*output_turns, *refusals, SUBMIT], replace(QUICK_RETRIES, turn_tokens=2000)
    )
    assert run_end(events).status == "submitted"
    assert events_of_type(ObservationsCleared, events)
    assert events_of_type(Notice, events)
    max_tokens = [body["max_tokens"] for body in runner.request_bodies]
    assert max_tokens[-3:] == [2000, 4096 - 3500 - 100, 2000]


def test_a_context_that_stays_full_ends_as_a_token_limit(runner: LoopRunner) -> None:
    message = "This model's maximum context length is 40 tokens, however you requested 9000."
    events = runner.run_round([Turn(fault="400", message=message)])
    assert run_end(events).status == "token_limit"


def test_an_unaffordable_answer_is_requested_with_fewer_tokens(runner: LoopRunner) -> None:
    message = "This request requires more credits: you can only afford 3000 tokens."
    events = runner.run_round(
        [Turn(fault="402", message=message), SUBMIT], replace(QUICK_RETRIES, turn_tokens=65536)
    )
    assert run_end(events).status == "submitted"
    assert runner.request_bodies[1]["max_tokens"] == 3000


# Stop


def test_stop_ends_the_wait_for_a_silent_model(runner: LoopRunner) -> None:
    with Endpoint([Turn(fault="silent at=0")]) as endpoint:
        events: list[Event] = []
        worker = threading.Thread(target=lambda: events.extend(runner.stream_round(endpoint)))
        worker.start()
        assert endpoint.wait_for_requests(1)
        runner.stop.set()
        worker.join(5)
        assert not worker.is_alive()
    assert run_end(events).status == "stopped"


def test_stop_ends_a_command_and_answers_the_remaining_calls(runner: LoopRunner) -> None:
    events: list[Event] = []
    calls = [bash("echo begun; sleep 600"), bash("touch never")]
    with Endpoint([Turn(text="Let me look.", calls=calls)]) as endpoint:
        for event in runner.stream_round(endpoint):
            events.append(event)
            if isinstance(event, ToolOutput):
                runner.stop.set()
    assert (run_end(events).status, run_end(events).answer) == ("stopped", "")
    assert events_of_type(ToolEnded, events)[0].end_reason == "stop"
    assert len(events_of_type(ToolEnded, events)) == 2
    assert not (runner.sandbox.workspace / "never").exists()


def test_stop_ends_the_wait_between_retries(runner: LoopRunner) -> None:
    events: list[Event] = []
    with Endpoint([Turn(fault="429 retry-after=50")]) as endpoint:
        for event in runner.stream_round(endpoint):
            events.append(event)
            if isinstance(event, Retrying):
                threading.Timer(0.05, runner.stop.set).start()
                start_time = time.monotonic()
    assert run_end(events).status == "stopped"
    assert time.monotonic() - start_time < 10


# Totals


def test_missing_token_counts_are_estimated_and_marked(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(text="hello " * 10, calls=[("submit", {})], usage=None)])
    assert run_end(events).totals.estimated
    assert run_end(events).totals.generated_tokens >= 15


# Without a sandbox


def test_plain_mode_accepts_the_first_answer(runner: LoopRunner) -> None:
    with Endpoint([Turn(text="4")]) as endpoint:
        events = runner.run_model(EndpointModel(ModelConfig(endpoint.url, "m")), plain=True)
    assert (run_end(events).status, run_end(events).answer) == ("answered", "4")
    assert "tools" not in endpoint.requests[0].body
    assert "Steps Remaining" not in json.dumps(endpoint.requests[0].body)


def test_plain_mode_ends_if_the_model_keeps_calling_tools(runner: LoopRunner) -> None:
    endless = (Turn(text="Let me see.", calls=[bash("ls")]) for _ in itertools.count())
    with Endpoint(endless) as endpoint:
        events = runner.run_model(EndpointModel(ModelConfig(endpoint.url, "m")), plain=True)
    assert (run_end(events).status, len(endpoint.requests)) == ("failed", 2)
    assert "plain mode has none" in run_end(events).reason


def test_plain_mode_accepts_an_answer_after_one_call(runner: LoopRunner) -> None:
    with Endpoint([Turn(calls=[bash("ls")]), Turn(text="4")]) as endpoint:
        events = runner.run_model(EndpointModel(ModelConfig(endpoint.url, "m")), plain=True)
    assert (run_end(events).status, run_end(events).answer) == ("answered", "4")


def test_an_html_page_after_valid_answers_is_retried(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(calls=[bash("true")]), Turn(fault="html"), SUBMIT])
    assert run_end(events).status == "submitted"
    assert "not a model's answer" in events_of_type(Retrying, events)[0].reason


def test_an_html_page_as_the_first_answer_is_an_error(runner: LoopRunner) -> None:
    events = runner.run_round([Turn(fault="html")])
    assert (run_end(events).status, events_of_type(Retrying, events)) == ("failed", [])
    assert "end in /v1" in run_end(events).reason


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_returned_under_its_original_field_name(
    runner: LoopRunner, field: str
) -> None:
    turn = Turn(reasoning="Hm.", reasoning_field=field, calls=[bash("true")])
    events = runner.run_round([turn, SUBMIT])
    assistant_message = next(
        each for each in runner.request_bodies[1]["messages"] if each["role"] == "assistant"
    )
    assert {key: text for key, text in assistant_message.items() if text == "Hm."} == {field: "Hm."}
    assert events_of_type(ModelAnswered, events)[0].reasoning_field == field


def test_cache_write_tokens_are_summed(runner: LoopRunner) -> None:
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 70},
    }
    turns = [Turn(calls=[bash("true")], usage=usage), Turn(calls=[("submit", {})], usage=usage)]
    totals = run_end(runner.run_round(turns)).totals
    assert (totals.cached_tokens, totals.cache_written_tokens) == (20, 140)
    assert not totals.estimated
    assert totals.sandbox_seconds > 0
    assert "(20 cached, 140 written to the cache)" in format_totals(totals)


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
    turns = [
        ScriptedTurn(calls=[ToolCall("", "execute_bash", json.dumps({"command": command}))]),
        ScriptedTurn(text=f"Done: {claim}", calls=[ToolCall("", "submit", "{}")]),
    ]
    runner.sandbox.write("output/.keep", b"")
    ended = run_end(runner.run_model(ScriptedModel(turns), verify_claims=True))
    assert ended.status == status
    assert reason in ended.reason


def test_a_model_refusal_is_the_reason_for_the_failure(runner: LoopRunner) -> None:
    model = ScriptedModel([ScriptedTurn(error=ModelRefused("Connect a model."))])
    assert run_end(runner.run_model(model)).reason == "Connect a model."
