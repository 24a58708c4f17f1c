"""A run as a training sequence: token ids, and a mask of the generated ones."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.events import Event, ModelAnswered


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Token ids of a run, exactly as the model read and sampled them.

    The mask is 1 for generated ids, 0 for the environment's, which have log-probability 0.
    ``prompt`` is the number of ids before the first answer.
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    prompt: int


class GrowingSequence:
    """A sequence to which turns are added."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._mask: list[int] = []
        self._logprobs: list[float] = []
        self._prompt = 0

    def add(
        self, read: tuple[int, ...], generated: tuple[int, ...], logprobs: tuple[float, ...]
    ) -> None:
        """Add a turn: what was read before the answer, and the answer."""
        self._prompt = self._prompt or len(read)
        self.ids += read + generated
        self._mask += [0] * len(read) + [1] * len(generated)
        self._logprobs += (0.0,) * len(read) + (logprobs or (0.0,) * len(generated))

    def finish(self) -> TokenSequence:
        """Return the sequence."""
        return TokenSequence(
            tuple(self.ids), tuple(self._mask), tuple(self._logprobs), self._prompt
        )


def sequence_from_events(events: Iterable[Event]) -> TokenSequence | None:
    """Return the token sequence of a run; None if it cannot be trained on."""
    sequence = GrowingSequence()
    for event in events:
        if not isinstance(event, ModelAnswered):
            continue
        turn = event.tokens
        if turn is None or turn.kept != len(sequence.ids):  # no ids, or truncated before this turn
            return None
        sequence.add(turn.read, turn.generated, turn.logprobs)
    return sequence.finish() if sequence.ids else None
