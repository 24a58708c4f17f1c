"""Token sequences built from a run's events, with a mask of the generated tokens."""

import pytest

from agent.events import Event, Reminder, StepStarted
from agent.models.base import TurnTokens
from agent.train.rollouts.sequence import sequence_from_events
from tests.support.component.events import answered

FIRST = answered(1, tokens=TurnTokens(0, (1, 2, 3), (50, 51), (-0.5, -0.25)))


def from_position(position: int) -> TurnTokens:
    return TurnTokens(position, (9,), (52,), (-1.0,))


def test_turns_are_joined_and_only_generated_tokens_are_marked() -> None:
    second = answered(2, tokens=TurnTokens(5, (4, 5), (52,), (-0.125,)))
    reminder = Reminder(step=1, text="Go.")
    sequence = sequence_from_events([StepStarted(step=1, note=""), FIRST, reminder, second])
    assert sequence is not None
    assert sequence.ids == (1, 2, 3, 50, 51, 4, 5, 52)
    assert sequence.mask == (0, 0, 0, 1, 1, 0, 0, 1)
    assert sequence.logprobs == (0.0, 0.0, 0.0, -0.5, -0.25, 0.0, 0.0, -0.125)
    assert sequence.prompt == 3


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing happened"),
        pytest.param([answered(1)], id="no ids"),
        pytest.param([FIRST, answered(2)], id="a turn without ids"),
        pytest.param([FIRST, answered(2, tokens=from_position(4))], id="a part was cut"),
        pytest.param([FIRST, answered(2, tokens=from_position(6))], id="a turn is missing"),
    ],
)
def test_incomplete_sequences_are_not_trained_on(events: list[Event]) -> None:
    assert sequence_from_events(events) is None
