"""A summary of older steps near the context's limit, as recorded, rebuilt, forked and exported."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent import prompts
from agent.cli.printer import EventPrinter
from agent.events import (
    ModelAnswered,
    ObservationsCleared,
    Reminder,
    StepStarted,
    SummaryEnded,
    SummaryStarted,
)
from agent.fork.cut import cut_run
from agent.fork.fork import fork_run
from agent.history.export import conversation_markdown
from agent.history.trajectory import build_trajectory
from agent.limits import Limits, Price
from agent.loop.conversation import Conversation
from agent.loop.summary import INSTRUCTION
from agent.models.base import ModelConfig
from agent.models.endpoint.client import EndpointModel
from agent.report.report import Budget, save_report
from agent.runs import journal
from agent.runs.event_recorder import EventRecorder
from agent.runs.metrics.tokens import TokenCounter
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.requests.body import rebuild_request
from agent.runs.requests.records import read_log
from agent.traces.formats import atif
from agent.traces.journal_items import items_of_journal, messages_of_journal
from agent.util.stop import Stop
from tests.agent.loop.played_round import Played
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.turns import bash

pytestmark = pytest.mark.contract

LIMITS = Limits(conversation_tokens=5000, summarise=True, backoff=0.01)
SUBMIT = Turn(calls=[("submit", {})], usage=(2000, 10))
SUMMARY = Turn(
    text="The numbers up to 400 were counted; they are in numbers.txt.", usage=(4000, 30)
)
FULL = Turn(
    fault="400",
    message="This model's maximum context length is 4096 tokens, however you requested 9000.",
)


def count_from(number: int, prompt_tokens: int = 100) -> Turn:
    """Return a turn that prints a long output, and the tokens that the endpoint counts."""
    command = f"echo start {number}; seq {number} {number + 400}"
    return bash(command, usage=(prompt_tokens, 20))


FIVE_STEPS = [count_from(n * 1000) for n in range(1, 5)] + [count_from(5000, 4200)]
"""After the fifth, the conversation has 4,220 of 5,000 tokens."""


@dataclass(frozen=True)
class PlayedSummary(Played):
    @property
    def summary(self) -> SummaryEnded:
        (summary,) = self.of_type(SummaryEnded)
        return summary


def play(
    run: RecordedRun, turns: Iterable[Turn], limits: Limits = LIMITS, message: str = "",
    stop: Stop | None = None,
) -> PlayedSummary:  # fmt: skip
    with Endpoint(turns) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))
        events = list(
            run.follow_up(message, model, limits)
            if message
            else run.start(Task("Count.", prompts.get_bundled("general")), model, limits, stop)
        )
    assert endpoint.history_errors == []
    return PlayedSummary(events, [received.body for received in endpoint.requests])


# What the model sees


def test_near_the_limit_a_summary_replaces_the_older_steps(run: RecordedRun) -> None:
    played = play(run, [*FIVE_STEPS, SUMMARY, SUBMIT])
    assert played.end.status == "submitted"
    summary = played.summary
    assert (summary.step, summary.first_step, summary.last_step) == (6, 1, 3)
    assert summary.reason == ""
    assert 0 < summary.summary_tokens < summary.replaced_tokens < 4220
    task, *rest = played.bodies[-1]["messages"][1:]
    assert "Count." in task["content"]
    assert task["content"].endswith(summary.text)
    assert "The numbers up to 400 were counted" in summary.text
    outputs = [each["content"] for each in rest if each["role"] == "tool"]
    starts = [line for text in outputs for line in text.splitlines() if line.startswith("start")]
    assert starts == ["start 4000", "start 5000"]
    assert [event.step for event in played.of_type(ModelAnswered)] == [1, 2, 3, 4, 5, 6]
    assert "numbers.txt" not in run.state.steps[5].text
    assert played.end.answer == ""


def test_the_request_for_it_is_the_conversation_up_to_there_and_is_rebuilt_exactly(
    run: RecordedRun,
) -> None:
    """Prompt and tools are those of the earlier requests, so the endpoint's cache has them."""
    bodies = play(run, [*FIVE_STEPS, SUMMARY, SUBMIT]).bodies
    asks = [str(body["messages"][-1]["content"]).endswith(INSTRUCTION) for body in bodies]
    assert asks == [False] * 5 + [True, False]
    assert bodies[5]["messages"][:-1] == bodies[3]["messages"]
    assert bodies[5]["tools"] == bodies[3]["tools"]
    places = [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (6, 2)]
    rebuilt = [rebuild_request(run.folder, step, attempt) for step, attempt in places]
    assert [each.body for each in rebuilt] == bodies
    assert {each.fidelity for each in rebuilt} == {"exact"}
    assert ["asks for a summary" in each.note for each in rebuilt] == asks
    assert len(read_log(run.folder.requests)) == 7


def test_a_round_goes_on_beyond_its_limit(run: RecordedRun) -> None:
    """The last turn jumped over the limit that would have ended the round."""
    steps = [*FIVE_STEPS[:-1], count_from(5000, 4900)]
    played = play(run, [*steps, SUMMARY, count_from(6000), SUBMIT])
    assert played.end.status == "submitted"
    notes = [event.note for event in played.of_type(StepStarted)]
    assert not any("last turn" in note for note in notes)


def test_a_full_context_is_summarised_before_outputs_are_cleared(run: RecordedRun) -> None:
    limits = replace(LIMITS, conversation_tokens=None)
    played = play(run, [*FIVE_STEPS, FULL, SUMMARY, SUBMIT], limits)
    assert played.end.status == "submitted"
    assert played.summary.last_step == 3
    assert not played.of_type(ObservationsCleared)


def test_a_later_summary_replaces_the_earlier_one(run: RecordedRun) -> None:
    more = [count_from(n * 1000, 1000) for n in range(6, 9)] + [count_from(9000, 4300)]
    second = Turn(text="Everything was counted.", usage=(4000, 30))
    played = play(run, [*FIVE_STEPS, SUMMARY, *more, second, SUBMIT])
    steps = [(each.first_step, each.last_step) for each in played.of_type(SummaryEnded)]
    assert steps == [(1, 3), (1, 7)]
    task = played.bodies[-1]["messages"][1]["content"]
    assert "Everything was counted." in task
    assert "The numbers up to 400" not in task
    assert "The numbers up to 400" in played.bodies[-2]["messages"][1]["content"]


def test_what_the_user_said_is_kept_in_full(run: RecordedRun) -> None:
    play(run, [count_from(1000), SUBMIT])
    more = [count_from(n * 1000) for n in range(2, 5)] + [count_from(5000, 4200)]
    played = play(run, [*more, SUMMARY, SUBMIT], message="Count in French, please.")
    assert played.summary.last_step >= 3
    task = played.bodies[-1]["messages"][1]["content"]
    assert task.count("Count in French, please.") == 1
    others = json.dumps(played.bodies[-1]["messages"][2:])
    assert "Count in French" not in others


def test_a_nearly_spent_budget_is_not_spent_on_a_summary(run: RecordedRun) -> None:
    limits = replace(LIMITS, price=Price(prompt=1, generated=1), money=0.0055)
    played = play(run, [*FIVE_STEPS[:4], count_from(5000, 4700), SUBMIT], limits)
    assert played.of_type(SummaryStarted) == []
    assert played.end.status == "submitted"
    assert "The cost limit was reached" in str(played.bodies[-1]["messages"][-1]["content"])


# What is counted


def test_its_tokens_and_its_cost_are_part_of_the_totals_and_count_once(run: RecordedRun) -> None:
    limits = replace(LIMITS, price=Price(prompt=1, generated=1))
    played = play(run, [*FIVE_STEPS, SUMMARY, SUBMIT], limits)
    prompts_sent = 4 * 100 + 4200 + 4000 + 2000
    written = 5 * 20 + 30 + 10
    totals = played.end.totals
    assert (totals.prompt_tokens, totals.generated_tokens) == (prompts_sent, written)
    assert totals.steps == 6
    assert totals.cost == pytest.approx((prompts_sent + written) / 1_000_000)
    tokens, sums = TokenCounter().count(run.state)
    assert tokens[5].summarising is not None
    assert (sums.prompt, sums.generated) == (prompts_sent, written)
    assert sums.environment == totals.environment_tokens
    assert sums.reasoning is None  # the endpoint does not report it
    # The request for a summary repeats the conversation: only what it wrote is new.
    for step in run.state.steps:
        step.summaries = []
    without = TokenCounter().count(run.state)[1].once
    assert without
    assert (sums.once or 0) - without >= 30


def test_a_round_stopped_after_the_summary_does_not_change_what_the_next_step_adds(
    run: RecordedRun,
) -> None:
    play(run, [*FIVE_STEPS, SUMMARY, replace(SUBMIT, usage=(4100, 10))])
    steps = run.state.steps
    answered_at_once = TokenCounter().count(run.state)[0][5]
    steps.insert(5, replace(steps[5], usage=None))  # the step with the summary has no answer
    steps[6].summaries = []
    tokens, _ = TokenCounter().count(run.state)
    assert tokens[6].environment == answered_at_once.environment
    assert answered_at_once.environment


# Failures


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (bash("ls"), "called a tool"),
        (Turn(text="Half of", finish="length"), "cut off"),
        (Turn(text=" \n"), "wrote no text"),
        (Turn(text="words " * 5000), "not shorter"),
        (Turn(fault="401"), "401"),
        (FULL, "context"),
    ],
)
def test_without_a_summary_older_outputs_are_cleared(
    run: RecordedRun, answer: Turn, reason: str
) -> None:
    played = play(run, [*FIVE_STEPS, answer, count_from(6000, 4300), SUBMIT])
    assert played.end.status == "submitted"
    assert reason in played.summary.reason
    assert not played.summary.text
    assert played.of_type(ObservationsCleared)
    results = [m["content"] for m in played.bodies[-1]["messages"] if m["role"] == "tool"]
    assert results[0].startswith("[This output was removed")
    # It is not tried again in the same round, although the limit is still near.
    assert len(played.of_type(SummaryStarted)) == 1


def test_a_temporary_failure_is_tried_again(run: RecordedRun) -> None:
    played = play(run, [*FIVE_STEPS, Turn(fault="503"), SUMMARY, SUBMIT])
    assert played.end.status == "submitted"
    assert played.summary.text


def test_without_a_summary_the_limit_is_the_usual_one(run: RecordedRun) -> None:
    steps = [*FIVE_STEPS[:-1], count_from(5000, 4900)]
    played = play(run, [*steps, Turn(text=""), count_from(6000, 4900)])
    assert played.end.status == "token_limit"
    assert "last turn" in played.of_type(Reminder)[-1].text


@pytest.mark.parametrize("fault", ["silent at=0", "silent"])
def test_stop_ends_the_summary(run: RecordedRun, fault: str) -> None:
    def turns() -> Iterator[Turn]:
        yield from FIVE_STEPS
        threading.Timer(0.05, stop.set).start()
        yield replace(SUMMARY, fault=fault)

    stop = Stop()
    played = play(run, turns(), stop=stop)
    assert played.end.status == "stopped"
    assert "stopped" in played.summary.reason
    follow_up = play(run, [SUBMIT], message="Go on.")
    assert follow_up.end.status == "submitted"
    assert "start 1000" in json.dumps(follow_up.bodies[0]["messages"])


# The record


def test_a_reopened_run_has_the_conversation_that_the_model_saw(run: RecordedRun) -> None:
    play(run, [*FIVE_STEPS, SUMMARY, count_from(6000), SUBMIT])
    run.close()
    reopened = EventRecorder(run.folder)
    reopened.close()
    assert reopened.conversation.messages == run.conversation.messages
    assert reopened.conversation.call_ids() == run.conversation.call_ids()
    assert len(reopened.conversation.call_ids()) == 7


def test_a_record_cut_off_in_a_summary_goes_on_without_it(run: RecordedRun) -> None:
    play(run, [*FIVE_STEPS, SUMMARY, SUBMIT])
    lines = run.folder.journal.read_bytes().splitlines(keepends=True)
    run.close()
    (ended,) = (n for n, line in enumerate(lines) if b'"kind":"summary_ended"' in line)
    run.folder.journal.write_bytes(b"".join(lines[:ended]))
    recorder = EventRecorder(run.folder)
    recorder.close()
    assert recorder.state.state == "failed"  # interrupted
    recorder.conversation.apply(StepStarted(step=7, note=""))
    assert "start 1000" in str(recorder.conversation.request_messages()[3])


def test_a_fork_after_the_summary_goes_on_with_what_the_model_saw(
    run: RecordedRun, provider: LocalSandboxProvider
) -> None:
    summary = play(run, [*FIVE_STEPS, SUMMARY, count_from(6000), SUBMIT]).summary
    before, after = (
        Conversation(event for _, event in journal.read(run.folder.journal, 0, cut.cursor))
        for cut in (cut_run(run.folder, 5), cut_run(run.folder, 6))
    )
    assert "start 1000" in str(before.messages)
    assert "start 1000" not in str(after.messages)
    folder = fork_run(run.folder, 6, provider.blobs, provider.create_workspace)
    with closing(RecordedRun(folder, provider)) as fork:
        played = play(fork, [SUBMIT], message="Go on.")
        rebuilt = rebuild_request(folder, 7)
    assert played.bodies[0]["messages"][1]["content"].endswith(summary.text)
    assert (rebuilt.fidelity, rebuilt.body) == ("exact", played.bodies[0])
    assert len(fork.conversation.call_ids()) == 7


def test_exports_and_the_terminal_keep_the_steps_and_mention_the_summary(
    run: RecordedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = play(run, [*FIVE_STEPS, SUMMARY, SUBMIT])
    path, outputs = run.folder.journal, [f"start {n}000" for n in range(1, 6)]
    sentence = "Steps 1 to 3 were summarised for the model"
    events = [event for _, event in journal.read(path)]
    trajectory = build_trajectory(events)
    report = tmp_path / "report.html"
    save_report(run.folder, report, Budget.of_files(0))
    exports = {
        "trajectory": json.dumps(trajectory),
        "messages": "".join(messages_of_journal(path)),
        "markdown": "".join(conversation_markdown(events)),
        "atif": "".join(atif.write(items_of_journal(path), run.folder.id)),
        "report": report.read_text(),
    }
    for name, text in exports.items():
        assert [output for output in outputs if output not in text] == [], name
    assert trajectory["metadata"]["summaries"][0]["text"] == played.summary.text
    assert all(sentence in exports[name] for name in ("markdown", "atif", "report"))
    metrics = json.loads(exports["atif"])["final_metrics"]
    assert metrics["total_prompt_tokens"] == played.end.totals.prompt_tokens
    assert "were counted; they are in numbers.txt" in exports["report"]
    assert "older steps are summarised" in exports["report"]
    printer = EventPrinter()
    for event in played.events:
        printer.print_event(event)
    shown = capsys.readouterr().err
    assert "The model summarises steps 1 to 3" in shown
    assert f"{sentence}: ≈" in shown
