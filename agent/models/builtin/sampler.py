"""The built-in model, spoken to in token ids (``agent.models.tokenwise``)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from agent.errors import ModelRefused
from agent.models.builtin.engine import Engine
from agent.models.builtin.worker import CONTEXT
from agent.models.tokenwise import Sampled
from agent.stop import Stop

TEMPERATURE = 0.2
"""Low: its jobs have one right way, and what it learned is surest there."""

TOP_P = 0.95
PIECE = 8
"""Tokens asked for at once. Only whole answers name every id: in a stream those of which several
make one character are left out. What was read before is kept between them."""

_UNFINISHED = "\ufffd"


class LlamaSampler:
    """Continues ids with llama.cpp; see ``Sampler``.

    Args:
        engine: The process that computes.
        temperature: Sampling temperature; 0 takes the likeliest token.
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
        """How many ids it takes, those of the answer included."""
        return CONTEXT

    def encode(self, text: str) -> list[int]:
        """The ids of a plain text; what looks like a control token is text."""
        return self._tokens(text, control=False)

    def control(self, name: str) -> int:
        """The id of a control token.

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
            # A character that is not whole yet comes with the piece that completes it.
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
    """Of each id; 0 for those that are a part of a character, of which nothing is told."""
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
