"""Token sequences built from a run's events, with a mask of the generated tokens."""

import pytest

from agent.events import Event, ModelAnswered, Reminder, StepStarted
from agent.models.base import TurnTokens
from agent.train.rollouts.sequence import sequence_from_events


def model_answered(tokens: TurnTokens | None, step: int = 1) -> ModelAnswered:
    return ModelAnswered(
        step=step, text="x", reasoning="", calls=(), finish="stop", usage=None,
        estimated=False, seconds=0.1, tokens=tokens,
    )  # fmt: skip


FIRST = model_answered(TurnTokens(0, (1, 2, 3), (50, 51), (-0.5, -0.25)))


def test_turns_are_joined_and_only_generated_tokens_are_marked() -> None:
    second = model_answered(TurnTokens(5, (4, 5), (52,), (-0.125,)), 2)
    events: list[Event] = [
        StepStarted(step=1, note=""),
        FIRST,
        Reminder(step=1, text="Go."),
        second,
    ]
    sequence = sequence_from_events(events)
    assert sequence is not None
    assert sequence.ids == (1, 2, 3, 50, 51, 4, 5, 52)
    assert sequence.mask == (0, 0, 0, 1, 1, 0, 0, 1)
    assert sequence.logprobs == (0.0, 0.0, 0.0, -0.5, -0.25, 0.0, 0.0, -0.125)
    assert sequence.prompt == 3


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([], id="nothing happened"),
        pytest.param([model_answered(None)], id="no ids"),
        pytest.param([FIRST, model_answered(None, 2)], id="a turn without ids"),
        pytest.param(
            [FIRST, model_answered(TurnTokens(4, (9,), (52,), (-1.0,)), 2)], id="a part was cut"
        ),
        pytest.param(
            [FIRST, model_answered(TurnTokens(6, (9,), (52,), (-1.0,)), 2)], id="a turn is missing"
        ),
    ],
)
def test_incomplete_sequences_are_not_trained_on(events: list[Event]) -> None:
    assert sequence_from_events(events) is None
