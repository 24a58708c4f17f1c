"""Answers sampled from a model side by side, with the log-probability of each token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from agent.train.weights import plain

# Rows that have ended go on being computed until they are this share of a batch.
_DEAD_SHARE = 0.3


@dataclass
class Row:
    """An answer that is wanted, and then is there.

    Attributes:
        ids: What it continues; at least one.
        most: How many tokens it has at most.
        seed: Another one makes another answer; the same makes the same.
        dropped: Whether nobody waits for it any more.
        generated: The answer.
        logprobs: Of its tokens, at the temperature.
    """

    ids: Sequence[int]
    most: int
    seed: int
    dropped: Callable[[], bool] = bool
    generated: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def take(self, chances: Any, logprobs: Any) -> int:
        """Draw a token by the summed chances of all, and note it."""
        place = self._random.random() * float(chances[-1])
        token = min(int(torch.searchsorted(chances, place, right=True)), len(chances) - 1)
        self.generated.append(token)
        self.logprobs.append(float(logprobs[token]))
        return token

    def over(self, end: int) -> bool:
        """Whether nothing more is wanted."""
        return self.generated[-1] == end or len(self.generated) >= self.most or self.dropped()


def decode(model: Any, rows: Sequence[Row], temperature: float, end: int) -> None:
    """Write the answer of each row into it; to be called without gradients.

    Each row draws from a chance of its own, so that its answer does not depend on which rows
    stand beside it, but for rounding.

    Args:
        model: A causal language model of transformers.
        rows: What is wanted.
        temperature: Divides the logits; their logarithm is noted after that.
        end: The token that ends an answer; it is the last one of it.
    """
    ids, mask = _padded([row.ids for row in rows], end, model.device)
    live = list(rows)
    logits, cache = _step(model, ids, mask, None)
    while True:
        logits = logits.float() / temperature
        logprobs = torch.log_softmax(logits, dim=-1).cpu()
        chances = logprobs.exp().cumsum(dim=-1, dtype=torch.float64)
        tokens = [
            end if _ended(row, end) else row.take(chances[at], logprobs[at])
            for at, row in enumerate(live)
        ]
        keep = [at for at, row in enumerate(live) if not _ended(row, end)]
        if not keep:
            return
        if len(keep) < len(live) * (1 - _DEAD_SHARE):
            chosen = torch.tensor(keep, device=mask.device)
            cache.batch_select_indices(chosen)
            mask = mask[chosen]
            live, tokens = [live[at] for at in keep], [tokens[at] for at in keep]
        mask = torch.cat([mask, mask.new_ones(len(live), 1)], dim=1)
        logits, cache = _step(model, torch.tensor(tokens, device=mask.device)[:, None], mask, cache)


def _ended(row: Row, end: int) -> bool:
    return bool(row.generated) and row.over(end)


def _padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> tuple[Any, Any]:
    """Ids and their mask, with room to the left of the shorter ones."""
    longest = max(map(len, rows))
    ids = [[pad] * (longest - len(row)) + list(row) for row in rows]
    mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _step(model: Any, ids: Any, mask: Any, cache: Any) -> tuple[Any, Any]:
    """The logits of what follows ``ids``, and what was computed of all up to there."""
    base = plain(model)
    output = base.base_model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :],
        past_key_values=cache,
        use_cache=True,
    )
    # Of a view into all places torch would copy the table of all words, once for each row.
    return base.get_output_embeddings()(output.last_hidden_state[:, -1]), output.past_key_values
