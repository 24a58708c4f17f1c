"""Model in training as a ``Sampler`` of token ids for rollouts."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from agent.models.token_model import SampledTokens
from agent.train.rollouts.batcher import SamplingBatcher
from agent.train.rollouts.decoding import SamplingRow, decode
from agent.train.weights import TURN_END
from agent.util.stop import Stop


class Policy:
    """Current weights, sampled by concurrent rollouts and trained between them."""

    def __init__(self, model: Any, tokenizer: Any, context: int, dtype: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.context = min(context, getattr(model.config, "max_position_embeddings", context))
        self._dtype = getattr(torch, dtype)
        self._temperature = 1.0
        self._seed = ""
        self._request_counts: Counter[bytes] = Counter()
        self._lock = threading.Lock()
        self._batcher: SamplingBatcher | None = None
        self._vllm: Any = None

    def encode(self, text: str) -> list[int]:
        """See ``Sampler.encode``."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        return ids

    def control_token_id(self, name: str) -> int:
        """See ``Sampler.control_token_id``."""
        return int(self.tokenizer.convert_tokens_to_ids(name))

    @contextmanager
    def sampling(self, temperature: float, *seeds: object) -> Iterator[SamplingBatcher]:
        """Context manager in which answers can be sampled, by seeds and prompt."""
        training = self.model.training
        self._temperature, self._seed = temperature, repr(seeds)
        self._request_counts.clear()
        self.model.eval()
        try:
            with SamplingBatcher(self._decode) as self._batcher:
                yield self._batcher
        finally:
            self._batcher = None
            self.model.train(training)

    def use_vllm(self, vllm: Any) -> None:
        """Sample with TRL's ``VLLMGeneration`` from now on; from TRL's source, untested."""
        self._vllm = vllm

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        """See ``Sampler.sample``; yields the whole answer at once."""
        assert self._batcher is not None, "sample must be called inside sampling()"
        row = SamplingRow(ids, max_tokens, self._request_seed(ids))
        if not self._batcher.wait_for(row, stop):
            return
        answer_ids = (
            row.generated[:-1]
            if row.generated[-1] == self.control_token_id(TURN_END)
            else row.generated
        )
        text = self.tokenizer.decode(answer_ids, clean_up_tokenization_spaces=False)
        yield SampledTokens(tuple(row.generated), tuple(row.logprobs), text)

    def _request_seed(self, ids: Sequence[int]) -> int:
        """Return a seed derived from the prompt; repeated prompts get different seeds."""
        digest = hashlib.sha256(repr((self._seed, list(ids))).encode()).digest()
        with self._lock:
            self._request_counts[digest] += 1
            count = self._request_counts[digest]
        return int.from_bytes(hashlib.sha256(digest + str(count).encode()).digest()[:8])

    def _decode(self, rows: Sequence[SamplingRow]) -> None:
        if self._vllm is not None:
            return self._decode_with_vllm(rows)
        kind = self.model.device.type
        mixed = self._dtype == torch.bfloat16
        with torch.no_grad(), torch.autocast(kind, dtype=self._dtype, enabled=mixed):
            decode(self.model, rows, self._temperature, self.control_token_id(TURN_END))

    def _decode_with_vllm(self, rows: Sequence[SamplingRow]) -> None:
        self._vllm.temperature = self._temperature
        prompts = [list(row.ids) for row in rows]
        _, answers, logprobs, _ = self._vllm.generate(prompts, None, num_generations=1)
        for row, ids, token_logprobs in zip(rows, answers, logprobs, strict=True):
            row.generated = ids[: row.max_tokens]
            row.logprobs = [chance[0] for chance in token_logprobs[: row.max_tokens]]
