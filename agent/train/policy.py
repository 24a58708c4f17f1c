"""The model in training as what rollouts talk to: a ``Sampler`` of ``agent.models.tokenwise``."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from agent.models.tokenwise import Sampled
from agent.stop import Stop
from agent.train.batcher import Batcher
from agent.train.decoding import Row, decode
from agent.train.weights import END


class Policy:
    """The weights as they are at this moment, asked by many rollouts at once.

    Args:
        model: The model; it is being trained between, never during, the rollouts.
        tokenizer: Its tokenizer.
        context: How many tokens a conversation may have.
        dtype: In which numbers it computes.
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
        """Answers are sampled, for as long as this is entered.

        Args:
            temperature: At which.
            seeds: What chance follows from, together with what is asked.
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
        """Have answers sampled by TRL's ``VLLMGeneration`` from now on, not by the model itself.

        Its weights are TRL's affair. Written from TRL's source; run on no machine of ours.
        """
        self._vllm = vllm

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[Sampled]:
        """See ``Sampler.sample``; the answer comes in one piece."""
        assert self._batcher is not None, "nobody is asked outside of at_work"
        row = Row(ids, max_tokens, self._chance(ids))
        if not self._batcher.ask(row, stop):
            return
        said = row.generated[:-1] if row.generated[-1] == self.control(END) else row.generated
        text = self.tokenizer.decode(said, clean_up_tokenization_spaces=False)
        yield Sampled(tuple(row.generated), tuple(row.logprobs), text)

    def _chance(self, ids: Sequence[int]) -> int:
        """A seed that follows from what is asked, another one each time that it is asked."""
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
