"""Where a run's tokens go: each step's prompt in parts, and sums that count no token twice."""

from unittest.mock import Mock

import pytest

from agent.events import (
    Event,
)
from agent.models.base import Usage
from agent.runs.metrics import tokens
from agent.runs.metrics.tokens import StepTokens, TokenCounter, TokenTotals
from agent.runs.state import RunState
from tests.support.component import events


def answer(step: int, usage: Usage | None, *, estimated: bool = False) -> list[Event]:
    return [*events.step(step, text=f"Step {step}", usage=usage, estimated=estimated)]


def state_after(*later: Event) -> RunState:
    return events.reduced([events.started(), *later])


def counted(*later: Event) -> tuple[list[StepTokens], TokenTotals]:
    return TokenCounter().count(state_after(*later))


def counts(step: StepTokens) -> tuple[int | None, ...]:
    return step.prompt, step.environment, step.generated, step.once


def test_what_the_sandbox_added_is_the_growth_of_the_prompt_beyond_the_last_answer() -> None:
    """The paper's N_total is prompt + generated + environment, although 2,400 tokens were read."""
    usages = Usage(900, 100), Usage(1500, 50)
    (first, second), totals = counted(*answer(1, usages[0]), *answer(2, usages[1]))
    assert counts(first) == (900, 0, 100, 1000)
    assert counts(second) == (1500, 500, 50, 550)
    assert (totals.prompt, totals.once, totals.largest_prompt) == (2400, 1550, 1500)


def test_a_follow_up_message_is_new_but_not_from_the_environment() -> None:
    follow_up = events.continued("And now?")
    steps, _ = counted(*answer(1, Usage(900, 100)), follow_up, *answer(2, Usage(1010, 5)))
    assert counts(steps[1]) == (1010, 0, 5, 15)


def test_a_prompt_that_became_shorter_adds_nothing() -> None:
    """Older observations were removed from the conversation."""
    steps, _ = counted(*answer(1, Usage(900, 100)), *answer(2, Usage(400, 5)))
    assert counts(steps[1]) == (400, 0, 5, 5)


def test_a_count_that_was_not_reported_is_none_and_a_reported_zero_is_zero() -> None:
    usage = Usage(900, 100, reported=("cached",))
    (step,), totals = counted(*answer(1, usage))
    assert (step.cached, step.cache_written, step.reasoning) == (0, None, None)
    assert (totals.cached, totals.cache_written, totals.missing) == (0, None, {})


def test_a_sum_says_in_how_many_steps_the_count_is_missing() -> None:
    usages = Usage(900, 100), Usage(1500, 50, cached=900)
    _, totals = counted(*answer(1, usages[0]), *answer(2, usages[1]))
    assert (totals.cached, totals.missing) == (900, {"cached": 1})


def test_an_estimate_is_marked_and_knows_nothing_of_the_cache() -> None:
    (step,), totals = counted(*answer(1, Usage(900, 100, cached=10), estimated=True))
    assert (step.estimated, step.cached, totals.estimated) == (True, None, True)


def test_a_step_without_usage_has_no_counts() -> None:
    """A scripted model, or a step that was interrupted."""
    (first, second), totals = counted(*answer(1, None), *answer(2, Usage(10, 1)))
    assert counts(first) == (None, None, None, None)
    assert counts(second) == (10, 0, 1, 11)
    assert totals.prompt == 10
    assert counted(*answer(1, None))[1].prompt is None


def test_only_steps_after_a_number_are_returned_and_each_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter, state = TokenCounter(), state_after()
    for step in range(1, 31):
        for event in answer(step, Usage(100 * step, 10)):
            state.apply(event, step)
        steps, totals = TokenCounter().count(state)
        assert counter.count(state, after=step - 2)[0] == steps[step - 2 :]
        assert counter.count(state)[1] == totals
    assert counter.count(state, after=99)[0] == []
    count = Mock(wraps=tokens._tokens_of)
    monkeypatch.setattr(tokens, "_tokens_of", count)
    counter.count(state, after=28)
    assert count.call_count == 1
