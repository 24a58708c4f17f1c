"""The loop: a real endpoint that is scripted, a real shell, and what comes of every answer."""

import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
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
from agent.limits import Limits, Price
from agent.loop import loop
from agent.loop.conversation import Conversation
from agent.loop.loop import Round
from agent.models.base import ModelConfig, ModelRequest, Piece, ReasoningPiece, ToolCall
from agent.models.openai.client import OpenAIModel
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.runs.state import format_totals
from agent.sandbox.process import ProcessSandbox
from agent.tools.toolbox import Toolbox
from agent.util.cancellation import Stop
from tests.support.hostile.flood import FloodServer
from tests.support.models.endpoint import Call, Endpoint, Turn

E = TypeVar("E", bound=Event)
SUBMIT = Turn(calls=[("submit", {})])
QUICK = Limits(backoff=0.01)
EVENTS = "HTTP/1.1 200 OK\nContent-Type: text/event-stream"


def bash(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("execute_bash", {"command": command, **more})


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[ProcessSandbox]:
    made = ProcessSandbox(tmp_path / "sandbox")
    yield made
    made.close()


class Bench:
    """Runs rounds against scripted endpoints and keeps what they saw."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        self.sandbox = sandbox
        self.stop = Stop()
        self.conversation = Conversation()
        self.endpoint: Endpoint | None = None

    def round(self, endpoint: Endpoint, limits: Limits = QUICK, **config: Any) -> Iterator[Event]:
        if not self.conversation.messages:
            self.conversation.apply(
                RunStarted(
                    run="r", task="t", mode="sandbox", model="m", metered=True, prompt="general",
                    system="You work.", user="Do it.",
                )
            )  # fmt: skip
        model = OpenAIModel(ModelConfig(endpoint.url, "test-model", **config))
        return loop.run_round(
            Round(model, Toolbox(self.sandbox), self.conversation, limits, self.stop)
        )

    def play(self, turns: Sequence[Turn], limits: Limits = QUICK, **config: Any) -> list[Event]:
        with Endpoint(turns) as endpoint:
            self.endpoint = endpoint
            events = list(self.round(endpoint, limits, **config))
        assert endpoint.history_errors == []
        assert sum(isinstance(event, RunEnded) for event in events) == 1
        return events

    @property
    def asked(self) -> list[dict[str, Any]]:
        assert self.endpoint is not None
        return [received.body for received in self.endpoint.requests]


@pytest.fixture
def bench(sandbox: ProcessSandbox) -> Bench:
    return Bench(sandbox)


def of(kind: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def end(events: Sequence[Event]) -> RunEnded:
    assert isinstance(events[-1], RunEnded)
    return events[-1]


def observations(events: Sequence[Event]) -> list[str]:
    return [event.observation for event in of(ToolEnded, events)]


# A run from beginning to end


def test_commands_are_executed_until_the_model_submits(bench: Bench) -> None:
    events = bench.play([Turn(text="Look.", calls=[bash("echo hello; pwd")]), SUBMIT])
    assert end(events).status == "submitted"
    assert "hello" in observations(events)[0]
    assert bench.asked[1]["messages"][-1]["role"] == "tool"
    assert "hello" in bench.asked[1]["messages"][-1]["content"]


def test_streamed_text_equals_the_final_answer(bench: Bench) -> None:
    events = bench.play([Turn(text="Wörds.", reasoning="Hm…", calls=[bash("true")]), SUBMIT])
    first = of(ModelAnswered, events)[0]
    said = "".join(event.text for event in of(TextDelta, events) if event.step == 1)
    thought = "".join(event.text for event in of(ReasoningDelta, events) if event.step == 1)
    written = "".join(event.arguments for event in of(CallDelta, events) if event.step == 1)
    assert (said, thought, written) == (first.text, first.reasoning, first.calls[0].arguments)


def test_output_is_streamed_before_the_command_ends(bench: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"echo first; until [ -e {go} ]; do sleep 0.05; done; echo second"
    with Endpoint([Turn(calls=[bash(command)]), SUBMIT]) as endpoint:
        events = []
        for event in bench.round(endpoint):
            events.append(event)
            if isinstance(event, ToolOutput) and "first" in event.text:
                assert not of(ToolEnded, events)
                go.touch()
    assert "second" in "".join(event.text for event in of(ToolOutput, events))


def test_remaining_steps_are_announced_and_stay_in_the_history(bench: Bench) -> None:
    bench.play([Turn(calls=[bash("true")]), SUBMIT], Limits(steps=7))
    assert bench.asked[0]["messages"][-1]["content"].endswith("\nSteps Remaining: 7")
    later = bench.asked[1]["messages"]
    assert later[1]["content"].endswith("\nSteps Remaining: 7")
    assert later[-1]["content"].endswith("\nSteps Remaining: 6")


def test_every_step_starts_and_ends_once(bench: Bench) -> None:
    events = bench.play([Turn(calls=[bash("true")])] * 3 + [SUBMIT])
    assert [event.step for event in of(StepStarted, events)] == [1, 2, 3, 4]
    assert [event.step for event in of(StepEnded, events)] == [1, 2, 3, 4]


def test_the_answer_is_the_file_written_in_this_round(bench: Bench) -> None:
    events = bench.play([Turn(calls=[bash("echo 42 > output/answer.txt")]), SUBMIT])
    assert end(events).answer == "42"
    bench.conversation.apply(Reminder(step=0, text="And now?"))
    events = bench.play([Turn(text="Nothing new.", calls=[("submit", {})])])
    assert end(events).answer == "Nothing new."


# Tool calls: each has exactly one answer


def test_all_calls_of_a_message_run_in_order(bench: Bench) -> None:
    calls = [bash("echo a >> log"), bash("echo b >> log"), bash("cat log")]
    events = bench.play([Turn(calls=calls), SUBMIT])
    assert "a\nb" in observations(events)[2]
    assert len(of(ToolStarted, events)) == 4


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("execute_bash", '{"command": "echo '), "JSON"),
        (Call("execute_bash", '["ls"]'), "object"),
        (Call("execute_bash", '"ls"'), "object"),
        (Call("execute_bash", {"command": ["ls", "-l"]}), "command"),
        (Call("execute_bash", {}), "command"),
        (Call("run_python", {"code": "1"}), "execute_bash"),
        (Call("str_replace_editor", {"command": "undo_edit", "path": "/workspace/a"}), "view"),
        (Call("str_replace_editor", {"command": "insert", "path": "/workspace/a", "new_str": "x",
                                     "insert_line": "two"}), "insert_line"),
    ],
)  # fmt: skip
def test_a_malformed_call_is_answered_with_the_error(bench: Bench, call: Call, said: str) -> None:
    events = bench.play([Turn(calls=[call]), SUBMIT])
    assert end(events).status == "submitted"
    assert said in observations(events)[0]
    assert not of(ToolEnded, events)[0].ok


def test_a_call_without_an_id_gets_a_generated_id(bench: Bench) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "function": {"name": "execute_bash", "arguments": '{"command": "echo hi"}'}}
    ]}, "finish_reason": "tool_calls"}]}  # fmt: skip
    events = bench.play([Turn(chunks=[chunk]), SUBMIT])
    assert of(ToolEnded, events)[0].call_id
    assert "hi" in observations(events)[0]


def test_repeated_call_ids_are_made_unique(bench: Bench) -> None:
    turn = Turn(calls=[Call("execute_bash", {"command": "true"}, id="call_0")])
    events = bench.play([turn, turn, SUBMIT])
    ids = [event.call_id for event in of(ToolEnded, events)]
    assert len(set(ids)) == len(ids)


def test_calls_after_submit_are_answered_but_not_executed(bench: Bench) -> None:
    events = bench.play([Turn(calls=[("submit", {}), bash("touch late")])])
    assert end(events).status == "submitted"
    assert "submitted" in observations(events)[1]
    assert not (bench.sandbox.workspace / "late").exists()


def test_a_call_truncated_by_the_token_limit_is_reported(bench: Bench) -> None:
    cut = Turn(calls=[Call("execute_bash", '{"command": "echo ')], finish="length")
    events = bench.play([cut, SUBMIT])
    assert "token limit" in observations(events)[0]


def test_a_call_started_in_a_lost_sandbox_is_not_reported_as_not_executed(
    bench: Bench,
) -> None:
    with Endpoint([Turn(calls=[bash("echo begun; sleep 600"), bash("true")])]) as endpoint:
        events = []
        for event in bench.round(endpoint):
            events.append(event)
            if isinstance(event, ToolOutput):
                bench.sandbox.close()
    assert end(events).status == "failed"
    first, second = observations(events)
    assert "in part" in first
    assert "not executed" in second


def test_a_lost_sandbox_answers_every_call_and_fails_the_run(bench: Bench) -> None:
    bench.sandbox.close()
    events = bench.play([Turn(calls=[bash("true"), bash("true")])])
    assert end(events).status == "failed"
    assert end(events).reason
    assert len(of(ToolEnded, events)) == 2


# Plain answers


def test_a_plain_answer_ends_the_run_after_two_consecutive_reminders(bench: Bench) -> None:
    events = bench.play([Turn(text="It is 4.")] * 3)
    assert end(events).status == "answered"
    assert end(events).answer == "It is 4."
    assert [event.text for event in of(Reminder, events)] == [loop.REMINDER] * 2
    assert loop.REMINDER in bench.asked[1]["messages"][-1]["content"]


def test_a_tool_call_resets_the_reminder_count(bench: Bench) -> None:
    plain, tool = Turn(text="hm"), Turn(calls=[bash("true")])
    events = bench.play([plain, plain, tool, plain, plain, SUBMIT])
    assert end(events).status == "submitted"


def test_an_empty_answer_is_a_failure(bench: Bench) -> None:
    events = bench.play(
        [Turn(text="Let me see.", calls=[bash("true")]), *[Turn(reasoning="hm")] * 3]
    )
    assert (end(events).status, end(events).answer) == ("failed", "")
    assert "wrote no text" in end(events).reason


def test_an_empty_turn_after_the_answer_file_is_not_a_failure(bench: Bench) -> None:
    wrote = Turn(calls=[bash("echo 42 > output/answer.txt")])
    events = bench.play([wrote, *[Turn(text="")] * 3])
    assert (end(events).status, end(events).answer) == ("answered", "42")


def test_a_truncated_plain_answer_is_not_accepted(bench: Bench) -> None:
    events = bench.play([Turn(text="It is", finish="length")] * 3)
    assert (end(events).status, end(events).answer) == ("token_limit", "It is")
    assert "cut" in end(events).reason


def test_a_plain_answer_can_be_accepted_immediately(bench: Bench) -> None:
    events = bench.play([Turn(text="4")], replace(QUICK, reminders=0))
    assert (end(events).status, end(events).answer) == ("answered", "4")
    assert not of(Reminder, events)


def test_a_plain_answer_can_be_refused_always(bench: Bench) -> None:
    events = bench.play([Turn(text="4")] * 6, replace(QUICK, reminders=None, steps=6))
    assert end(events).status == "step_limit"


def test_an_empty_turn_gets_a_reminder(bench: Bench) -> None:
    events = bench.play([Turn(), SUBMIT])
    assert end(events).status == "submitted"
    assert len(of(Reminder, events)) == 1


# Limits


def test_the_last_step_is_announced_and_the_run_ends_at_the_limit(bench: Bench) -> None:
    events = bench.play([Turn(calls=[bash("true")])] * 3, Limits(steps=3))
    assert end(events).status == "step_limit"
    assert "last turn" in of(StepStarted, events)[-1].note
    assert "last turn" not in of(StepStarted, events)[0].note


def test_a_submit_in_the_last_turn_counts(bench: Bench) -> None:
    events = bench.play([Turn(calls=[bash("true")]), SUBMIT], Limits(steps=2))
    assert end(events).status == "submitted"


def test_one_last_turn_remains_near_the_token_limit(bench: Bench) -> None:
    turns = [Turn(calls=[bash("true")], usage=(500 * n, 10)) for n in range(1, 6)]
    events = bench.play(turns, replace(QUICK, conversation_tokens=1000))
    assert end(events).status == "token_limit"
    assert len(of(StepEnded, events)) == 3
    assert "last turn" in of(StepStarted, events)[2].note


def test_cost_is_limited_if_a_price_is_set(bench: Bench) -> None:
    limits = replace(QUICK, money=1.0, price=Price(prompt=10_000.0, generated=0.0))
    events = bench.play([Turn(calls=[bash("true")])] * 5, limits)
    assert end(events).status == "budget_limit"
    assert end(events).totals.cost == pytest.approx(2.0)


def test_wall_time_ends_a_command_and_leaves_one_last_turn(bench: Bench) -> None:
    turns = [Turn(calls=[bash("echo begun; sleep 600")]), Turn(calls=[bash("true")])]
    events = bench.play(turns, replace(QUICK, seconds=2.0))
    assert end(events).status == "time_limit"
    assert of(ToolEnded, events)[0].ending == "timeout"
    assert "begun" in observations(events)[0]


def test_wall_time_ends_an_endless_turn(bench: Bench) -> None:
    class Babbling(ScriptedModel):
        def stream(self, request: ModelRequest, stop: Stop) -> Iterator[Piece]:
            while not stop.wait(0.005):
                yield ReasoningPiece("hm ")

    bench.conversation.apply(Reminder(step=0, text="Do it."))
    limits = replace(QUICK, seconds=0.5)
    asked = Round(Babbling([]), Toolbox(bench.sandbox), bench.conversation, limits, bench.stop)
    assert end(list(loop.run_round(asked))).status == "time_limit"


def test_wall_time_ends_a_turn_that_sends_comments_only(bench: Bench) -> None:
    with FloodServer(EVENTS, dripping()) as server:
        model = OpenAIModel(ModelConfig(server.url, "m"))
        bench.conversation.apply(Reminder(step=0, text="Do it."))
        limits = replace(QUICK, seconds=1.0)
        asked = Round(model, Toolbox(bench.sandbox), bench.conversation, limits, bench.stop)
        events = list(loop.run_round(asked))
    assert end(events).status == "time_limit"
    assert server.sent > 0


def dripping() -> Iterator[bytes]:
    while True:
        yield b": waiting\n\n"
        time.sleep(0.05)


def test_wall_time_skips_calls_that_have_not_started(bench: Bench) -> None:
    turn = Turn(calls=[bash("sleep 600"), bash("echo late"), ("submit", {})])
    events = bench.play([turn], replace(QUICK, seconds=2.0))
    assert end(events).status == "submitted"
    seen = observations(events)
    assert ["not executed" in text for text in seen] == [False, True, False]
    assert "the time limit was reached" in seen[1]


def test_wall_time_ends_the_wait_for_a_retry(bench: Bench) -> None:
    busy = Turn(fault="429 retry-after=50")
    events = bench.play([busy], replace(QUICK, seconds=1.0))
    assert end(events).status == "time_limit"
    assert of(Retrying, events)


# Faults of the endpoint


@pytest.mark.parametrize(
    "fault",
    ["429 retry-after=0.01", "500", "503", "cut", "overloaded", "html status=502"],
)
def test_transient_errors_are_retried_and_shown(bench: Bench, fault: str) -> None:
    events = bench.play([Turn(text="x" * 40, fault=fault), SUBMIT])
    assert end(events).status == "submitted"
    retry = of(Retrying, events)[0]
    assert retry.attempt == 2
    assert retry.reason


def test_a_stalled_stream_is_retried(bench: Bench) -> None:
    events = bench.play([Turn(text="x" * 40, fault="silent"), SUBMIT], read_timeout=0.3)
    assert end(events).status == "submitted"
    assert len(of(Retrying, events)) == 1


def test_output_of_a_failed_attempt_is_not_in_the_history(bench: Bench) -> None:
    bench.play([Turn(text="LOST" * 20, fault="cut"), Turn(calls=[bash("true")]), SUBMIT])
    assert "LOST" not in json.dumps(bench.asked[-1])


def test_retries_are_limited(bench: Bench) -> None:
    events = bench.play([Turn(fault="503")] * 3, replace(QUICK, attempts=3))
    assert end(events).status == "failed"
    assert len(of(Retrying, events)) == 2
    assert "503" in end(events).reason


@pytest.mark.parametrize("fault", ["401", "403", "404"])
def test_permanent_errors_are_not_retried(bench: Bench, fault: str) -> None:
    events = bench.play([Turn(fault=fault)])
    assert end(events).status == "failed"
    assert len(bench.asked) == 1
    assert fault in end(events).reason


def test_an_unreachable_endpoint_fails_with_a_clear_message(bench: Bench) -> None:
    with Endpoint([]) as gone:
        pass
    events = list(bench.round(gone, replace(QUICK, attempts=2)))
    assert end(events).status == "failed"
    assert "127.0.0.1" in end(events).reason


def test_a_full_context_first_reduces_max_tokens(bench: Bench) -> None:
    message = (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
        "(3000 in the messages, 2000 in the completion)."
    )
    full = Turn(fault="400", message=message)
    events = bench.play([full, SUBMIT], replace(QUICK, turn_tokens=2000))
    assert end(events).status == "submitted"
    assert of(Notice, events)
    assert bench.asked[0]["max_tokens"] == 2000
    assert bench.asked[1]["max_tokens"] == 4096 - 3000 - 100


def test_a_full_context_then_trims_older_outputs_with_a_note(bench: Bench) -> None:
    message = "This model's maximum context length is 4096 tokens, however you requested 9000."
    work = [Turn(calls=[bash(f"seq {n} {n + 400}")]) for n in range(6)]
    events = bench.play([*work, Turn(fault="400", message=message), SUBMIT])
    assert end(events).status == "submitted"
    assert len(of(ObservationsCleared, events)) == 1
    told = [m["content"] for m in bench.asked[-1]["messages"] if m["role"] == "tool"]
    assert told[0].startswith("[This output was removed")
    assert "400" in told[-1]


def test_max_tokens_is_restored_once_the_context_has_room(bench: Bench) -> None:
    full = (
        "maximum context length is 4096 tokens. However, you requested {0} tokens "
        "({0} in the messages)"
    )
    work = [Turn(calls=[bash(f"seq {n} {n + 400}")]) for n in range(6)]
    refused = [Turn(fault="400", message=full.format(used)) for used in (3500, 4000)]
    events = bench.play([*work, *refused, SUBMIT], replace(QUICK, turn_tokens=2000))
    assert end(events).status == "submitted"
    assert of(ObservationsCleared, events)
    asked = [body["max_tokens"] for body in bench.asked]
    assert asked[-3:] == [2000, 4096 - 3500 - 100, 2000]


def test_a_context_that_stays_full_ends_as_a_token_limit(bench: Bench) -> None:
    message = "This model's maximum context length is 40 tokens, however you requested 9000."
    events = bench.play([Turn(fault="400", message=message)])
    assert end(events).status == "token_limit"


def test_an_unaffordable_answer_is_requested_with_fewer_tokens(bench: Bench) -> None:
    message = "This request requires more credits: you can only afford 3000 tokens."
    events = bench.play(
        [Turn(fault="402", message=message), SUBMIT], replace(QUICK, turn_tokens=65536)
    )
    assert end(events).status == "submitted"
    assert bench.asked[1]["max_tokens"] == 3000


def test_max_tokens_is_not_sent_unless_set(bench: Bench) -> None:
    bench.play([SUBMIT])
    assert not {"max_tokens", "max_completion_tokens", "temperature"} & set(bench.asked[0])


# Stop


def test_stop_ends_the_wait_for_a_silent_model(bench: Bench) -> None:
    with Endpoint([Turn(fault="silent at=0")]) as endpoint:
        events: list[Event] = []
        worker = threading.Thread(target=lambda: events.extend(bench.round(endpoint)))
        worker.start()
        assert endpoint.wait_for_requests(1)
        bench.stop.set()
        worker.join(5)
        assert not worker.is_alive()
    assert end(events).status == "stopped"


def test_stop_ends_a_command_and_answers_the_remaining_calls(bench: Bench) -> None:
    events: list[Event] = []
    with Endpoint([Turn(calls=[bash("echo begun; sleep 600"), bash("touch never")])]) as endpoint:
        for event in bench.round(endpoint):
            events.append(event)
            if isinstance(event, ToolOutput):
                bench.stop.set()
    assert end(events).status == "stopped"
    assert of(ToolEnded, events)[0].ending == "stop"
    assert len(of(ToolEnded, events)) == 2
    assert not (bench.sandbox.workspace / "never").exists()


def test_stop_ends_the_wait_between_retries(bench: Bench) -> None:
    events: list[Event] = []
    with Endpoint([Turn(fault="429 retry-after=50")]) as endpoint:
        for event in bench.round(endpoint):
            events.append(event)
            if isinstance(event, Retrying):
                threading.Timer(0.05, bench.stop.set).start()
                begun = time.monotonic()
    assert end(events).status == "stopped"
    assert time.monotonic() - begun < 10


def test_a_stopped_round_can_be_continued(bench: Bench) -> None:
    bench.stop.set()
    assert end(bench.play([])).status == "stopped"
    bench.stop = Stop()
    bench.conversation.apply(Reminder(step=1, text="Go on."))
    events = bench.play([Turn(calls=[bash("true")]), SUBMIT])
    assert end(events).status == "submitted"


# Counting


def test_totals_come_from_usage(bench: Bench) -> None:
    turns = [
        Turn(calls=[bash("seq 100")], usage=(100, 20, 0)),
        Turn(calls=[("submit", {})], usage=(400, 10, 90)),
    ]
    totals = end(bench.play(turns)).totals
    assert (totals.prompt_tokens, totals.cached_tokens, totals.generated_tokens) == (500, 90, 30)
    assert (totals.environment_tokens, totals.peak_context, totals.steps) == (280, 410, 2)
    assert not totals.estimated
    assert totals.sandbox_seconds > 0


def test_missing_token_counts_are_estimated_and_marked(bench: Bench) -> None:
    events = bench.play([Turn(text="hello " * 10, calls=[("submit", {})], usage=None)])
    assert end(events).totals.estimated
    assert end(events).totals.generated_tokens >= 15


def test_an_unmetered_model_reports_no_tokens(bench: Bench) -> None:
    bench.conversation.apply(Reminder(step=0, text="Go."))
    model = ScriptedModel([ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))], metered=False)
    round_ = Round(model, Toolbox(bench.sandbox), bench.conversation, QUICK, bench.stop)
    totals = end(list(loop.run_round(round_))).totals
    assert (totals.metered, totals.prompt_tokens, totals.estimated) == (False, 0, False)


# Without a sandbox


def test_plain_mode_accepts_the_first_answer(bench: Bench) -> None:
    bench.conversation.apply(Reminder(step=0, text="What is 2+2?"))
    with Endpoint([Turn(text="4")]) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m"))
        events = list(loop.run_round(Round(model, None, bench.conversation, QUICK, bench.stop)))
    assert (end(events).status, end(events).answer) == ("answered", "4")
    assert "tools" not in endpoint.requests[0].body
    assert "Steps Remaining" not in json.dumps(endpoint.requests[0].body)


def test_plain_mode_ends_if_the_model_keeps_calling_tools(bench: Bench) -> None:
    bench.conversation.apply(Reminder(step=0, text="What is 2+2?"))
    endless = (Turn(text="Let me see.", calls=[bash("ls")]) for _ in itertools.count())
    with Endpoint(endless) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m"))
        events = list(loop.run_round(Round(model, None, bench.conversation, QUICK, bench.stop)))
    assert (end(events).status, len(endpoint.requests)) == ("failed", 2)
    assert "plain mode has none" in end(events).reason


def test_plain_mode_accepts_an_answer_after_one_call(bench: Bench) -> None:
    bench.conversation.apply(Reminder(step=0, text="What is 2+2?"))
    with Endpoint([Turn(calls=[bash("ls")]), Turn(text="4")]) as endpoint:
        model = OpenAIModel(ModelConfig(endpoint.url, "m"))
        events = list(loop.run_round(Round(model, None, bench.conversation, QUICK, bench.stop)))
    assert (end(events).status, end(events).answer) == ("answered", "4")


def test_the_answer_of_a_stopped_round_is_only_the_file(bench: Bench) -> None:
    with Endpoint([Turn(text="Let me look.", calls=[bash("touch here; sleep 600")])]) as endpoint:
        events = []
        for event in bench.round(endpoint):
            events.append(event)
            if isinstance(event, ToolStarted):
                bench.stop.set()
    assert (end(events).status, end(events).answer) == ("stopped", "")


def test_the_answer_of_a_failed_round_is_only_the_file(bench: Bench) -> None:
    turns = [Turn(text="Let me look.", calls=[bash("true")]), Turn(fault="401")]
    events = bench.play(turns)
    assert (end(events).status, end(events).answer) == ("failed", "")


def test_an_html_page_after_valid_answers_is_retried(bench: Bench) -> None:
    events = bench.play([Turn(calls=[bash("true")]), Turn(fault="html"), SUBMIT])
    assert end(events).status == "submitted"
    assert "not a model's answer" in of(Retrying, events)[0].reason


def test_an_html_page_as_the_first_answer_is_an_error(bench: Bench) -> None:
    events = bench.play([Turn(fault="html")])
    assert (end(events).status, of(Retrying, events)) == ("failed", [])
    assert "end in /v1" in end(events).reason


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_returned_under_its_original_field_name(bench: Bench, field: str) -> None:
    thinking = Turn(reasoning="Hm.", reasoning_field=field, calls=[bash("true")])
    events = bench.play([thinking, SUBMIT])
    sent = next(each for each in bench.asked[1]["messages"] if each["role"] == "assistant")
    assert {key: text for key, text in sent.items() if text == "Hm."} == {field: "Hm."}
    assert of(ModelAnswered, events)[0].reasoning_field == field


def test_cache_write_tokens_are_summed(bench: Bench) -> None:
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 70},
    }
    turns = [Turn(calls=[bash("true")], usage=usage), Turn(calls=[("submit", {})], usage=usage)]
    totals = end(bench.play(turns)).totals
    assert (totals.cached_tokens, totals.cache_written_tokens) == (20, 140)
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
    bench: Bench, command: str, claim: str, status: str, reason: str
) -> None:
    turns = [
        ScriptedTurn(calls=[ToolCall("", "execute_bash", json.dumps({"command": command}))]),
        ScriptedTurn(text=f"Done: {claim}", calls=[ToolCall("", "submit", "{}")]),
    ]
    bench.conversation.apply(Reminder(step=0, text="Go."))
    model, toolbox = ScriptedModel(turns), Toolbox(bench.sandbox)
    bench.sandbox.write("output/.keep", b"")
    round_ = Round(model, toolbox, bench.conversation, QUICK, bench.stop, verify_claims=True)
    ended = end(list(loop.run_round(round_)))
    assert ended.status == status
    assert reason in ended.reason


def test_a_model_refusal_is_the_reason_for_the_failure(bench: Bench) -> None:
    bench.conversation.apply(Reminder(step=0, text="Go."))
    model = ScriptedModel([ScriptedTurn(error=ModelRefused("Connect a model."))])
    round_ = Round(model, Toolbox(bench.sandbox), bench.conversation, QUICK, bench.stop)
    assert end(list(loop.run_round(round_))).reason == "Connect a model."
