"""The state of a run, reduced from its events."""

import pytest

from agent.events import (
    CallDelta,
    Event,
    FileChange,
    Preparing,
    ReasoningDelta,
    Retrying,
    SandboxReady,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolStarted,
    Totals,
    WorkspaceChanged,
)
from agent.models.base import ToolCall, Usage
from tests.support.component.events import answered, continued, ended, reduced, started, tool_ended

STARTED = started("Count.")
TOTALS = Totals(steps=1, prompt_tokens=9)
STEP: list[Event] = [
    StepStarted(step=1, note=""),
    ReasoningDelta(step=1, text="Let me see"),
    TextDelta(step=1, text="I count."),
    CallDelta(step=1, index=0, name="execute_bash", arguments="{"),
    answered(
        1, "I count.", ToolCall("a", "execute_bash", "{}"), usage=Usage(9, 2),
        reasoning="Let me see",
    ),
    ToolStarted(step=1, call_id="a", name="execute_bash", arguments={}, summary="wc -l"),
    tool_ended(1, "a", "o", ok=False, exit_code=2, seconds=0.25),
    WorkspaceChanged(step=1, changes=(FileChange("a.txt", "added", 3),), total=1),
    StepEnded(step=1, totals=TOTALS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("count", "state"),
    [(1, "waiting_model"), (2, "thinking"), (3, "writing"), (4, "writing"), (6, "running_tool"),
     (9, "waiting_model")],
)  # fmt: skip
def test_a_step_has_a_state_for_each_phase(count: int, state: str) -> None:
    found = reduced([STARTED, *STEP[:count]])
    assert (found.state, found.detail) == (state, "wc -l" if state == "running_tool" else "")


def test_preparation_is_shown_with_its_progress() -> None:
    preparing = Preparing(state="preparing_image", detail="Step 3/9", progress=0.4)
    state = reduced([STARTED, preparing])
    assert (state.state, state.detail, state.progress) == ("preparing_image", "Step 3/9", 0.4)
    ready = reduced([STARTED, SandboxReady(sandbox="box", seconds=0.1, pooled=True)])
    assert (ready.state, ready.sandbox) == ("waiting_model", "box")


def test_a_retry_states_the_reason_and_discards_streamed_text() -> None:
    retrying = Retrying(step=1, attempt=2, reason="busy", wait=3)
    state = reduced([STARTED, *STEP[:3], retrying])
    assert (state.state, state.detail, state.steps[0].text) == ("retrying", "busy", "")


def test_text_that_turned_out_to_be_reasoning_is_reasoning_in_the_summary() -> None:
    streamed = TextDelta(step=1, text="Let me see</think>I count.")
    step = reduced([STARTED, STEP[0], streamed, STEP[4]]).steps[0]
    assert (step.reasoning, step.text) == ("Let me see", "I count.")


def test_a_step_summary_has_a_few_lines() -> None:
    step = reduced([STARTED, *STEP]).steps[0]
    assert (step.reasoning, step.text, step.usage) == ("Let me see", "I count.", Usage(9, 2))
    call = step.calls[0]
    assert (call.summary, call.ok, call.exit_code, call.seconds) == ("wc -l", False, 2, 0.25)
    assert (step.changes, step.total_changes) == ([FileChange("a.txt", "added", 3)], 1)
    assert step.ended


def test_changes_at_the_end_of_a_round_belong_to_its_last_step() -> None:
    changes = FileChange("a.txt", "changed", 4), FileChange("b.txt", "added", 1)
    late = WorkspaceChanged(step=1, changes=changes, total=9)
    step = reduced([STARTED, *STEP, late]).steps[0]
    assert step.changes == [FileChange("a.txt", "added", 4), FileChange("b.txt", "added", 1)]
    assert step.total_changes == 9


def test_a_step_has_the_journal_range_of_its_events() -> None:
    events = [STARTED, *STEP, StepStarted(step=2, note=""), TextDelta(step=2, text="x")]
    first, second = reduced(events).steps
    assert (first.begin, first.end) == (1, 10)
    assert (second.begin, second.end) == (10, 12)


def test_step_headings_stay_short_for_long_text() -> None:
    long = [TextDelta(step=1, text="x" * 1000)] * 50
    assert len(reduced([STARTED, STEP[0], *long]).steps[0].text) <= 200


def test_a_malformed_call_is_shown() -> None:
    nonsense = tool_ended(1, "z", "no such tool", name="nonsense", ok=False, exit_code=None)
    assert reduced([STARTED, STEP[0], nonsense]).steps[0].calls[0].name == "nonsense"


def test_rounds_are_in_order() -> None:
    round_ = [STARTED, *STEP, ended(answer="4", totals=TOTALS)]
    assert not reduced(round_).is_running
    state = reduced([*round_, continued("And?", model="m2")])
    assert [each.text for each in state.rounds] == ["Count.", "And?"]
    assert (state.rounds[0].status, state.rounds[0].answer) == ("submitted", "4")
    assert (state.is_running, state.model) == (True, "m2")


def test_an_empty_journal_is_a_draft() -> None:
    assert (reduced([]).state, reduced([]).is_running) == ("draft", False)
