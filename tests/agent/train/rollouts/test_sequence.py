"""A run's events as token ids: what was sampled, in order, and what the loss may see of it."""

import pytest

from agent.events import Event, ModelAnswered, Reminder, StepStarted
from agent.models.base import TurnTokens
from agent.train.rollouts.sequence import sequence_from_events


def answered(tokens: TurnTokens | None, step: int = 1) -> ModelAnswered:
    return ModelAnswered(
        step=step, text="x", reasoning="", calls=(), finish="stop", usage=None,
        estimated=False, seconds=0.1, tokens=tokens,
    )  # fmt: skip


FIRST = answered(TurnTokens(0, (1, 2, 3), (50, 51), (-0.5, -0.25)))


def test_turns_add_up_and_only_what_was_generated_is_marked() -> None:
    second = answered(TurnTokens(5, (4, 5), (52,), (-0.125,)), 2)
    events: list[Event] = [
        StepStarted(step=1, note=""),
        FIRST,
        Reminder(step=1, text="Go."),
        second,
    ]
    made = sequence_from_events(events)
    assert made is not None
    assert made.ids == (1, 2, 3, 50, 51, 4, 5, 52)
    assert made.mask == (0, 0, 0, 1, 1, 0, 0, 1)
    assert made.logprobs == (0.0, 0.0, 0.0, -0.5, -0.25, 0.0, 0.0, -0.125)
    assert made.prompt == 3


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing happened"),
        pytest.param([answered(None)], id="no ids"),
        pytest.param([FIRST, answered(None, 2)], id="a turn without ids"),
        pytest.param(
            [FIRST, answered(TurnTokens(4, (9,), (52,), (-1.0,)), 2)], id="a part was cut"
        ),
        pytest.param(
            [FIRST, answered(TurnTokens(6, (9,), (52,), (-1.0,)), 2)], id="a turn is missing"
        ),
    ],
)
def test_incomplete_sequences_are_not_trained_on(events: list[Event]) -> None:
    assert sequence_from_events(events) is None
