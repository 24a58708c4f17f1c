"""A run as a training sequence: token ids, and a mask of the generated ones."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.events import Event, ModelAnswered


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Token ids of a run, exactly as the model read and sampled them.

    Attributes:
        ids: All ids, from the first prompt to the last answer.
        mask: 1 for generated ids, 0 for ids from the environment, which are never trained on.
        logprobs: Log-probabilities of generated ids at sampling time; 0 elsewhere.
        prompt: Number of ids before the first answer.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    prompt: int


def sequence_from_events(events: Iterable[Event]) -> TokenSequence | None:
    """Return the token sequence of a run's events.

    Returns:
        None if the run cannot be trained on: it has no answer, a turn has no ids, or the
        conversation was truncated, so that later answers do not follow from the ids before them.
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
        known = turn.logprobs or (0.0,) * len(turn.generated)
        logprobs += (0.0,) * len(turn.read) + known
    return TokenSequence(tuple(ids), tuple(mask), tuple(logprobs), prompt) if ids else None
