"""Training sequences from written conversations in a file of JSON Lines.

{"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"},
{"role": "assistant", "content": "", "calls": [{"name": "…", "arguments": {}}]},
{"role": "tool", "content": "…"}, {"role": "assistant", "content": "Done."}]}
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from agent.errors import TrainError
from agent.models import chatml
from agent.models.base import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from agent.models.token_model import Sampler, encode_parts
from agent.tasks.document_qa.rng import Rng
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence

_KEYS = {"role", "content", "calls"}


def read_conversations(recipe: Recipe, sampler: Sampler) -> list[TokenSequence]:
    """Read as many conversations from the recipe's file as it requests."""
    config = recipe.supervised
    assert config is not None
    path = Path(config.file)
    sequences = []
    for number, messages in islice(_parse_lines(path), config.demonstrations):
        rng = Rng("first answer", recipe.seed, number)
        only_first = rng.randbelow(1000) < config.truncated_share * 1000
        current = to_token_sequence(messages, sampler, only_first=only_first)
        if not current.prompt:
            raise TrainError(f"{path}, line {number}: messages: there is no answer.")
        sequences.append(current)
    if not sequences:
        raise TrainError(f"supervised.file: {path} contains no conversations.")
    return sequences


def to_token_sequence(
    messages: list[Message], sampler: Sampler, *, only_first: bool = False
) -> TokenSequence:
    """Convert a conversation to ids and a mask of the answers, or only the first."""
    ids: list[int] = []
    mask: list[int] = []
    prompt = 0
    opening = len(encode_parts(chatml.GENERATION_PROMPT, sampler))
    for message in messages:
        new = encode_parts(chatml.message_parts(message), sampler)
        is_answer = isinstance(message, AssistantMessage)
        # The model does not generate the ids after its end-of-turn token.
        tail_length = len(encode_parts([chatml.MESSAGE_SEPARATOR], sampler)) if is_answer else 0
        answer_length = len(new) - opening - tail_length if is_answer else 0
        prompt = prompt or (len(ids) + opening if is_answer else 0)
        ids += new
        mask += (
            [0] * opening + [1] * answer_length + [0] * tail_length if is_answer else [0] * len(new)
        )
        if is_answer and only_first:
            break
    end = len(mask) - mask[::-1].index(1) if 1 in mask else 0
    return TokenSequence(tuple(ids[:end]), tuple(mask[:end]), (0.0,) * end, prompt)


def _parse_lines(path: Path) -> Iterator[tuple[int, list[Message]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _parse_messages(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainError(f"supervised.file: {path} cannot be read: {error}") from error


def _parse_messages(line: str, where: str) -> list[Message]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrainError(f"{where}: not valid JSON: {error}") from error
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        raise TrainError(f"{where}: messages: must be a list")
    return [_parse_message(each, f"{where}: messages[{at}]") for at, each in enumerate(messages)]


def _parse_message(value: Any, where: str) -> Message:
    if not isinstance(value, dict) or not value.keys() <= _KEYS:
        raise TrainError(f"{where}: must be an object with {', '.join(sorted(_KEYS))}")
    text = value.get("content")
    if not isinstance(text, str):
        raise TrainError(f"{where}.content: must be a text")
    match value.get("role"):
        case "system":
            return SystemMessage(text)
        case "user":
            return UserMessage(text)
        case "tool":
            return ToolResult("", "", text)
        case "assistant":
            return AssistantMessage(text, calls=_parse_calls(value.get("calls") or [], where))
    raise TrainError(f"{where}.role: must be one of system, user, assistant, tool")


def _parse_calls(value: Any, where: str) -> tuple[ToolCall, ...]:
    calls = []
    for each in value if isinstance(value, list) else [None]:
        match each:
            case {"name": str(name), "arguments": dict(arguments), **rest} if not rest:
                text = json.dumps(arguments, ensure_ascii=False)
                calls.append(ToolCall("", name, text))
            case _:
                raise TrainError(f"{where}.calls: must be a list of name and arguments")
    return tuple(calls)
