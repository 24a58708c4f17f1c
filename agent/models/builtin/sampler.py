"""Sampler over token ids for the built-in model (``agent.models.tokens.model``)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from agent.errors import ModelRefused
from agent.models.builtin.process import Engine
from agent.models.builtin.worker import CONTEXT
from agent.models.tokens.model import Sampled
from agent.util.cancellation import Stop

TEMPERATURE = 0.2
"""Low, because its tasks have one correct solution and training makes that the most likely."""

TOP_P = 0.95
PIECE = 8
"""Tokens per request. The server's stream omits the ids of tokens that form a character only
together, so each piece is requested as a whole response; the prompt cache makes that cheap."""

_UNFINISHED = "\ufffd"


class LlamaSampler:
    """A ``Sampler`` that uses llama.cpp.

    Args:
        engine: The inference process.
        temperature: Sampling temperature; 0 takes the most likely token.
        top_p: Nucleus sampling.
    """

    def __init__(
        self, engine: Engine, *, temperature: float = TEMPERATURE, top_p: float = TOP_P
    ) -> None:
        self._engine = engine
        self._how = {"temperature": temperature, "top_p": top_p, "top_k": 0, "min_p": 0.0}
        self._controls: dict[str, int] = {}

    @property
    def context(self) -> int:
        """The context length in tokens, including the answer."""
        return CONTEXT

    def encode(self, text: str) -> list[int]:
        """Return the ids of a plain text, without parsing control tokens."""
        return self._tokens(text, control=False)

    def control(self, name: str) -> int:
        """Return the id of a control token.

        Raises:
            ModelRefused: the model has no such token.
        """
        if name not in self._controls:
            ids = self._tokens(name, control=True)
            if len(ids) != 1:
                raise ModelRefused(f"The built-in model has no token {name}: other weights?")
            self._controls[name] = ids[0]
        return self._controls[name]

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """Continue ``ids``; see ``Sampler.sample``."""
        generated: list[int] = []
        told = ""
        while len(generated) < max_tokens:
            most = min(PIECE, max_tokens - len(generated))
            answer = self._continue([*ids, *generated], most, stop)
            if not answer or stop.is_set:
                return
            new = answer["tokens"]
            generated += new
            ended = answer["stop_type"] != "limit" or not new
            text = self._text(generated[:-1] if ended else generated, stop)
            # An incomplete character is yielded with the piece that completes it.
            whole = text if ended else text.rstrip(_UNFINISHED)
            yield Sampled(tuple(new), _logprobs(answer, new), whole[len(told) :])
            told = max(told, whole, key=len)
            if ended:
                return

    def _continue(self, ids: list[int], most: int, stop: Stop) -> dict[str, Any]:
        question = {"prompt": ids, "n_predict": most, "cache_prompt": True, **self._how}
        wanted = {"return_tokens": True, "n_probs": 1, "post_sampling_probs": True}
        return self._engine.ask("/completion", question | wanted, stop)

    def _text(self, ids: list[int], stop: Stop) -> str:
        return str(self._engine.ask("/detokenize", {"tokens": ids}, stop).get("content", ""))

    def _tokens(self, text: str, *, control: bool) -> list[int]:
        question = {"content": text, "add_special": False, "parse_special": control}
        return list(self._engine.ask("/tokenize", question, Stop())["tokens"])


def _logprobs(answer: dict[str, Any], ids: list[int]) -> tuple[float, ...]:
    """Return log-probabilities; 0 for parts of characters, which llama.cpp omits."""
    told = iter(answer.get("completion_probabilities", ()))
    following = next(told, None)
    logprobs = []
    for each in ids:
        if following is not None and following["id"] == each:
            logprobs.append(math.log(max(following["prob"], 1e-9)))
            following = next(told, None)
        else:
            logprobs.append(0.0)
    return tuple(logprobs)
