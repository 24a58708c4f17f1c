"""Batched sampling from a model, with the log-probability of each token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from agent.train.weights import unwrap_adapter

# Ended rows stay in the batch until they exceed this share of it.
_MAX_ENDED_SHARE = 0.3


@dataclass
class SamplingRow:
    """A requested answer; the same seed gives the same one."""

    ids: Sequence[int]
    max_tokens: int
    seed: int
    is_cancelled: Callable[[], bool] = bool
    generated: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def sample_token(self, cumulative: Any, logprobs: Any) -> int:
        """Sample a token from cumulative probabilities, and append it."""
        point = self._random.random() * float(cumulative[-1])
        token = min(int(torch.searchsorted(cumulative, point, right=True)), len(cumulative) - 1)
        self.generated.append(token)
        self.logprobs.append(float(logprobs[token]))
        return token

    def is_finished(self, end: int) -> bool:
        """Return whether the answer is complete or no longer needed."""
        return (
            self.generated[-1] == end
            or len(self.generated) >= self.max_tokens
            or self.is_cancelled()
        )


def decode(model: Any, rows: Sequence[SamplingRow], temperature: float, end: int) -> None:
    """Generate the answer of each row in place, ``end`` included; call without gradients.

    Each row has its own random generator, so its answer does not depend on its batch, apart from
    rounding. Log-probabilities are taken after the temperature.
    """
    ids, mask = _left_pad([row.ids for row in rows], end, model.device)
    live = list(rows)
    logits, cache = _step(model, ids, mask, None)
    while True:
        logits = logits.float() / temperature
        logprobs = torch.log_softmax(logits, dim=-1).cpu()
        cumulative = logprobs.exp().cumsum(dim=-1, dtype=torch.float64)
        tokens = [
            end if _has_ended(row, end) else row.sample_token(cumulative[at], logprobs[at])
            for at, row in enumerate(live)
        ]
        keep = [at for at, row in enumerate(live) if not _has_ended(row, end)]
        if not keep:
            return
        if len(keep) < len(live) * (1 - _MAX_ENDED_SHARE):
            kept_rows = torch.tensor(keep, device=mask.device)
            cache.batch_select_indices(kept_rows)
            mask = mask[kept_rows]
            live, tokens = [live[at] for at in keep], [tokens[at] for at in keep]
        mask = torch.cat([mask, mask.new_ones(len(live), 1)], dim=1)
        logits, cache = _step(model, torch.tensor(tokens, device=mask.device)[:, None], mask, cache)


def _has_ended(row: SamplingRow, end: int) -> bool:
    return bool(row.generated) and row.is_finished(end)


def _left_pad(rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    """Return left-padded ids and their attention mask."""
    longest = max(map(len, rows))
    ids = [[pad] * (longest - len(row)) + list(row) for row in rows]
    mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _step(model: Any, ids: Any, mask: Any, cache: Any) -> tuple[Any, Any]:
    """Return the logits of the next token after ``ids``, and the key-value cache."""
    base = unwrap_adapter(model)
    output = base.base_model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :],
        past_key_values=cache,
        use_cache=True,
    )
    # Sliced first: for a view of all positions, torch would copy the embedding table per row.
    return base.get_output_embeddings()(output.last_hidden_state[:, -1]), output.past_key_values
