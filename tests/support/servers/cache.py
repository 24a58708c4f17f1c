"""Caches of prompts by the rules of the providers, for what a request costs.

Automatic (OpenAI, DeepSeek, vLLM): the longest known prefix from 1,024 tokens on, in blocks of 128;
nothing is charged for writing. Implicit (Gemini): the same, but an explicit mark switches it off.
Marked (Anthropic; OpenRouter and DashScope in front of it): prefixes that end at a mark, from 1,024
tokens on; at most 4 marks; a write costs more.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Rules = Literal["automatic", "implicit", "marked"] | str
MIN_TOKENS, BLOCK_TOKENS, MAX_MARKS = 1024, 128, 4
MARK = '"cache_control"'


@dataclass(frozen=True)
class Prompt:
    """A measured prompt: for each prefix its hash, its tokens and whether a mark ends it."""

    prefixes: tuple[tuple[str, int, bool], ...]

    @property
    def total(self) -> int:
        return self.prefixes[-1][1] if self.prefixes else 0

    @property
    def marks(self) -> int:
        return sum(marked for _, _, marked in self.prefixes)


class PromptCache:
    """The prefixes that a provider has stored."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._known: set[str] = set()

    def measure(self, parts: Sequence[Any]) -> Prompt:
        """Measure a prompt by its parts, with four characters per token."""
        digest, characters, prefixes = hashlib.blake2b(digest_size=12), 0, []
        for part in parts:
            text = json.dumps(part, ensure_ascii=False)
            marked = MARK in text
            if marked or '"type": "text"' in text:
                text = json.dumps(_without_marks(part), ensure_ascii=False)
            digest.update(text.encode("utf-8", "surrogatepass"))
            characters += len(text)
            prefixes.append((digest.hexdigest(), characters // 4, marked))
        return Prompt(tuple(prefixes))

    def use(self, prompt: Prompt) -> tuple[int, int]:
        """Look a prompt up and store it; return the tokens read and written."""
        usable = [each for each in prompt.prefixes if each[1] >= MIN_TOKENS]
        if self.rules == "implicit" and prompt.marks:
            return 0, 0
        read = max((tokens for key, tokens, _ in usable if key in self._known), default=0)
        if self.rules == "marked":
            stored = [each for each in usable if each[2]]
            if not stored:
                return 0, 0
            end = stored[-1][1]
            read = min(read, end)
            self._known.update(key for key, _, _ in stored)
            return read, end - read
        self._known.update(key for key, _, _ in usable)
        return read // BLOCK_TOKENS * BLOCK_TOKENS, 0


def _without_marks(part: Any) -> Any:
    if isinstance(part, dict):
        return {k: _without_marks(v) for k, v in part.items() if k != "cache_control"}
    if isinstance(part, list):
        match plain := [_without_marks(each) for each in part]:
            case [{"type": _, "text": text, **others}] if not others:
                return text  # a text as its only part is the same prompt
            case _:
                return plain
    return part
