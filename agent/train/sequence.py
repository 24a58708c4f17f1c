"""A run as what is trained on: its ids in order, and which of them the model generated."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.events import Event, ModelAnswered


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """The ids of a run, exactly as the model read and sampled them.

    Attributes:
        ids: All of them, the first prompt to the last answer.
        mask: 1 where an id was generated, 0 where the environment put it: never trained on.
        logprobs: The log-probability of each generated id when it was sampled; 0 elsewhere.
        prompt: How many stand before the first answer.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    prompt: int


def sequence(events: Iterable[Event]) -> TokenSequence | None:
    """The sequence of a run's events.

    Returns:
        None where it cannot be trained on: there is no answer, a turn came without ids, or the
        conversation was cut, so that later answers did not follow from what stands before them.
    """
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    prompt = 0
    for event in events:
        if not isinstance(event, ModelAnswered):
            continue
        turn = event.tokens
        if turn is None or turn.kept != len(ids):
            return None
        prompt = prompt or len(turn.read)
        ids += turn.read + turn.generated
        mask += [0] * len(turn.read) + [1] * len(turn.generated)
        logprobs += [0.0] * len(turn.read) + list(turn.logprobs)
    return TokenSequence(tuple(ids), tuple(mask), tuple(logprobs), prompt) if ids else None
