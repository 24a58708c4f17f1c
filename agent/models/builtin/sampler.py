"""Sampler over token ids for the built-in model (``agent.models.token_model``)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from agent.errors import ModelRefused
from agent.models.builtin.process import InferenceEngine
from agent.models.builtin.worker import CONTEXT_TOKENS
from agent.models.token_model import SampledTokens
from agent.util.stop import Stop

# Low, because its tasks have one correct solution and training makes that the most likely
DEFAULT_TEMPERATURE = 0.2
DEFAULT_TOP_P = 0.95
TOKENS_PER_REQUEST = 8
"""Tokens per whole response: a stream omits ids of tokens that form a character only together."""

_REPLACEMENT_CHARACTER = "\ufffd"


class LlamaSampler:
    """A ``Sampler`` that uses llama.cpp; without ``adapter``, the unchanged base model answers."""

    context = CONTEXT_TOKENS

    def __init__(
        self,
        engine: InferenceEngine,
        *,
        temperature: float = DEFAULT_TEMPERATURE,
        top_p: float = DEFAULT_TOP_P,
        adapter: bool = True,
    ) -> None:
        self._engine = engine
        self._sampling_options: dict[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "top_k": 0,
            "min_p": 0.0,
        }
        if not adapter:
            self._sampling_options["lora"] = [{"id": 0, "scale": 0.0}]
        self._control_ids: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a plain text, without parsing control tokens."""
        return self._tokenize(text, parse_control=False)

    def control_token_id(self, name: str) -> int:
        """Return the id of a control token; raise ``ModelRefused`` if there is none."""
        if name not in self._control_ids:
            ids = self._tokenize(name, parse_control=True)
            if len(ids) != 1:
                raise ModelRefused(
                    f"The built-in model has no token {name}; its weights are of another model."
                )
            self._control_ids[name] = ids[0]
        return self._control_ids[name]

    def sample(self, ids: Sequence[int], max_tokens: int, stop: Stop) -> Iterator[SampledTokens]:
        """Continue ``ids``; see ``Sampler.sample``."""
        generated: list[int] = []
        emitted = ""
        while len(generated) < max_tokens:
            limit = min(TOKENS_PER_REQUEST, max_tokens - len(generated))
            answer = self._complete([*ids, *generated], limit, stop)
            if not answer or stop.is_set:
                return
            new = answer["tokens"]
            generated += new
            ended = answer["stop_type"] != "limit" or not new
            tokens = generated[:-1] if ended else generated
            found = self._engine.request("/detokenize", {"tokens": tokens}, stop)
            text = str(found.get("content", ""))
            # An incomplete character is yielded with the piece that completes it.
            complete = text if ended else text.rstrip(_REPLACEMENT_CHARACTER)
            yield SampledTokens(tuple(new), _logprobs(answer, new), complete[len(emitted) :])
            emitted = max(emitted, complete, key=len)
            if ended:
                return

    def _complete(self, ids: list[int], limit: int, stop: Stop) -> dict[str, Any]:
        body = {"prompt": ids, "n_predict": limit, "cache_prompt": True, **self._sampling_options}
        options = {"return_tokens": True, "n_probs": 1, "post_sampling_probs": True}
        return self._engine.request("/completion", body | options, stop)

    def _tokenize(self, text: str, *, parse_control: bool) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": parse_control}
        return list(self._engine.request("/tokenize", body, Stop())["tokens"])


def _logprobs(answer: dict[str, Any], ids: list[int]) -> tuple[float, ...]:
    """Return log-probabilities; 0 for a token that is part of a character (llama.cpp omits it)."""
    entries = iter(answer.get("completion_probabilities", ()))
    entry = next(entries, None)
    logprobs = []
    for each in ids:
        if entry is not None and entry["id"] == each:
            logprobs.append(math.log(max(entry["prob"], 1e-9)))
            entry = next(entries, None)
        else:
            logprobs.append(0.0)
    return tuple(logprobs)
