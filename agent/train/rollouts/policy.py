"""Model in training as a ``Sampler`` of token ids for rollouts."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from agent.models.tokens.model import Sampled
from agent.train.rollouts.batcher import Batcher
from agent.train.rollouts.decoding import Row, decode
from agent.train.weights import END
from agent.util.cancellation import Stop


class Policy:
    """Current weights, sampled by concurrent rollouts.

    Args:
        model: The model; it is trained between rollouts, never during them.
        tokenizer: Its tokenizer.
        context: Maximum number of tokens of a conversation.
        dtype: Data type for computation.
    """

    def __init__(self, model: Any, tokenizer: Any, context: int, dtype: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._context = min(context, getattr(model.config, "max_position_embeddings", context))
        self._dtype = getattr(torch, dtype)
        self._temperature = 1.0
        self._seed = ""
        self._seen: Counter[bytes] = Counter()
        self._lock = threading.Lock()
        self._batcher: Batcher | None = None
        self._vllm: Any = None

    @property
    def context(self) -> int:
        """See ``Sampler.context``."""
        return self._context

    def encode(self, text: str) -> list[int]:
        """See ``Sampler.encode``."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        return ids

    def control(self, name: str) -> int:
        """See ``Sampler.control``."""
        return int(self.tokenizer.convert_tokens_to_ids(name))

    @contextmanager
    def at_work(self, temperature: float, *seeds: object) -> Iterator[Batcher]:
        """Context manager in which answers can be sampled.

        Args:
            temperature: Sampling temperature.
            seeds: Random seeds; a request's randomness depends on these and its prompt.
        """
        training = self.model.training
        self._temperature, self._seed = temperature, repr(seeds)
        self._seen.clear()
        self.model.eval()
        try:
            with Batcher(self._decode) as self._batcher:
                yield self._batcher
        finally:
            self._batcher = None
            self.model.train(training)

    def sampled_by(self, vllm: Any) -> None:
        """Sample with TRL's ``VLLMGeneration`` from now on, instead of the model itself.

        TRL updates vLLM's weights. Written from TRL's source; untested.
        """
        self._vllm = vllm

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """See ``Sampler.sample``; yields the whole answer at once."""
        assert self._batcher is not None, "nobody is asked outside of at_work"
        row = Row(ids, max_tokens, self._chance(ids))
        if not self._batcher.ask(row, stop):
            return
        said = row.generated[:-1] if row.generated[-1] == self.control(END) else row.generated
        text = self.tokenizer.decode(said, clean_up_tokenization_spaces=False)
        yield Sampled(tuple(row.generated), tuple(row.logprobs), text)

    def _chance(self, ids: Sequence[int]) -> int:
        """Return a seed derived from the prompt; repeated prompts get different seeds."""
        asked = hashlib.sha256(repr((self._seed, list(ids))).encode()).digest()
        with self._lock:
            self._seen[asked] += 1
            count = self._seen[asked]
        return int.from_bytes(hashlib.sha256(asked + str(count).encode()).digest()[:8])

    def _decode(self, rows: Sequence[Row]) -> None:
        if self._vllm is not None:
            return self._decode_elsewhere(rows)
        kind = self.model.device.type
        mixed = self._dtype == torch.bfloat16
        with torch.no_grad(), torch.autocast(kind, dtype=self._dtype, enabled=mixed):
            decode(self.model, rows, self._temperature, self.control(END))

    def _decode_elsewhere(self, rows: Sequence[Row]) -> None:
        self._vllm.temperature = self._temperature
        prompts = [list(row.ids) for row in rows]
        _, answers, logprobs, _ = self._vllm.generate(prompts, None, num_generations=1)
        for row, ids, chances in zip(rows, answers, logprobs, strict=True):
            row.generated = ids[: row.most]
            row.logprobs = [chance[0] for chance in chances[: row.most]]
