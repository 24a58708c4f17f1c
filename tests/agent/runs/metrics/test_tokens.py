"""Where a run's tokens go: each step's prompt in parts, and sums that count no token twice."""

from unittest.mock import Mock

import pytest

from agent.events import (
    Event,
)
from agent.models.base import Usage
from agent.runs.metrics import tokens
from agent.runs.metrics.tokens import StepTokens, TokenCounter, step_tokens, token_totals
from agent.runs.state import RunState
from tests.support.component import events


def answer(step: int, usage: Usage | None, *, estimated: bool = False) -> list[Event]:
    return [*events.step(step, text=f"Step {step}", usage=usage, estimated=estimated)]


def state_after(*later: Event) -> RunState:
    return events.reduced([events.started(), *later])


def counts(step: StepTokens) -> tuple[int | None, ...]:
    return step.prompt, step.environment, step.generated, step.once


def test_what_the_sandbox_added_is_the_growth_of_the_prompt_beyond_the_last_answer() -> None:
    """The paper's N_total is prompt + generated + environment, although 2,400 tokens were read."""
    first, second = steps = step_tokens(
        state_after(*answer(1, Usage(900, 100)), *answer(2, Usage(1500, 50)))
    )
    assert counts(first) == (900, 0, 100, 1000)
    assert counts(second) == (1500, 500, 50, 550)
    totals = token_totals(steps)
    assert (totals.prompt, totals.once, totals.largest_prompt) == (2400, 1550, 1500)


def test_a_follow_up_message_is_new_but_not_from_the_environment() -> None:
    follow_up = events.continued("And now?")
    state = state_after(*answer(1, Usage(900, 100)), follow_up, *answer(2, Usage(1010, 5)))
    assert counts(step_tokens(state)[1]) == (1010, 0, 5, 15)


def test_a_prompt_that_became_shorter_adds_nothing() -> None:
    """Older observations were removed from the conversation."""
    state = state_after(*answer(1, Usage(900, 100)), *answer(2, Usage(400, 5)))
    assert counts(step_tokens(state)[1]) == (400, 0, 5, 5)


def test_a_count_that_was_not_reported_is_none_and_a_reported_zero_is_zero() -> None:
    usage = Usage(900, 100, reported=("cached",))
    (step,) = step_tokens(state_after(*answer(1, usage)))
    assert (step.cached, step.cache_written, step.reasoning) == (0, None, None)
    totals = token_totals([step])
    assert (totals.cached, totals.cache_written, totals.missing) == (0, None, {})


def test_a_sum_says_in_how_many_steps_the_count_is_missing() -> None:
    state = state_after(*answer(1, Usage(900, 100)), *answer(2, Usage(1500, 50, cached=900)))
    totals = token_totals(step_tokens(state))
    assert (totals.cached, totals.missing) == (900, {"cached": 1})


def test_an_estimate_is_marked_and_knows_nothing_of_the_cache() -> None:
    state = state_after(*answer(1, Usage(900, 100, cached=10), estimated=True))
    (step,) = step_tokens(state)
    assert (step.estimated, step.cached, token_totals([step]).estimated) == (True, None, True)


def test_a_step_without_usage_has_no_counts() -> None:
    """A scripted model, or a step that was interrupted."""
    state = state_after(*answer(1, None), *answer(2, Usage(10, 1)))
    first, second = step_tokens(state)
    assert counts(first) == (None, None, None, None)
    assert counts(second) == (10, 0, 1, 11)
    assert token_totals([first]).prompt is None


def test_only_steps_after_a_number_are_returned_and_each_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter, state = TokenCounter(), state_after()
    for step in range(1, 31):
        for event in answer(step, Usage(100 * step, 10)):
            state.apply(event, step)
        assert counter.count(state, after=step - 2)[0] == step_tokens(state)[step - 2 :]
        assert counter.count(state)[1] == token_totals(step_tokens(state))
    assert counter.count(state, after=99)[0] == []
    count = Mock(wraps=tokens._tokens_of)
    monkeypatch.setattr(tokens, "_tokens_of", count)
    counter.count(state, after=28)
    assert count.call_count == 1
