"""Token ids of turns: a journal has what a turn adds, a trace has the whole prompt."""

from agent.models.base import TurnTokens
from agent.traces.trace import TurnIds

MAX_PROMPT_IDS = 2**27  # ids of all prompts of a trace together, which grow with each turn


class TokenSequence:
    """The ids of a conversation after its last turn that has ids."""

    def __init__(self) -> None:
        self._ids: tuple[int, ...] = ()
        self._prompts = 0

    def add(self, tokens: TurnTokens | None) -> TurnIds | None:
        """Add a turn of a journal; return its ids, if it and those before it have them."""
        if tokens is None or tokens.kept > len(self._ids) or self._prompts > MAX_PROMPT_IDS:
            return None
        prompt = self._ids[: tokens.kept] + tokens.read
        self._prompts += len(prompt)
        self._ids = prompt + tokens.generated
        return TurnIds(prompt=prompt, generated=tokens.generated, logprobs=tokens.logprobs)

    def add_ids(self, ids: TurnIds | None) -> TurnTokens | None:
        """Add a turn of a trace; return what it adds to those before it."""
        if ids is None:
            return None
        kept = _common_length(self._ids, ids.prompt)
        self._ids = ids.prompt + ids.generated
        return TurnTokens(kept, ids.prompt[kept:], ids.generated, ids.logprobs)


def _common_length(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return how many ids at the beginning are the same."""
    if second[: len(first)] == first:
        return len(first)
    pairs = zip(first, second, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(second))
