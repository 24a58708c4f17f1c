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
from agent.models.base import Assistant, Message, System, ToolCall, ToolResult, User
from agent.models.tokens import chatml
from agent.models.tokens.model import Sampler, encoded
from agent.tasks.document_qa.rng import Dice
from agent.train.recipe import Recipe
from agent.train.rollouts.sequence import TokenSequence

_KEYS = {"role", "content", "calls"}


def read(recipe: Recipe, sampler: Sampler) -> list[TokenSequence]:
    """Read as many conversations from the recipe's file as it requests.

    Raises:
        TrainError: if the file cannot be read, or a line is invalid or has no answer; names
            file, line and key.
    """
    given = recipe.supervised
    assert given is not None
    path = Path(given.file)
    found = []
    for number, messages in islice(_lines(path), given.demonstrations):
        dice = Dice("first answer", recipe.seed, number)
        only_first = dice.below(1000) < given.first_answers * 1000
        made = sequence(messages, sampler, only_first=only_first)
        if not made.prompt:
            raise TrainError(f"{path}, line {number}: messages: nothing is answered.")
        found.append(made)
    if not found:
        raise TrainError(f"supervised.file: {path} holds no conversations.")
    return found


def sequence(
    messages: list[Message], sampler: Sampler, *, only_first: bool = False
) -> TokenSequence:
    """Convert a conversation to ids and a mask of the answers, or only the first."""
    ids: list[int] = []
    mask: list[int] = []
    prompt = 0
    opening = len(encoded(chatml.OPENING, sampler))
    for message in messages:
        new = encoded(chatml.parts(message), sampler)
        says = isinstance(message, Assistant)
        # The model does not generate the ids after its end-of-turn token.
        after = len(encoded([chatml.AFTER_END], sampler)) if says else 0
        said = len(new) - opening - after if says else 0
        prompt = prompt or (len(ids) + opening if says else 0)
        ids += new
        mask += [0] * opening + [1] * said + [0] * after if says else [0] * len(new)
        if says and only_first:
            break
    end = len(mask) - mask[::-1].index(1) if 1 in mask else 0
    return TokenSequence(tuple(ids[:end]), tuple(mask[:end]), (0.0,) * end, prompt)


def _lines(path: Path) -> Iterator[tuple[int, list[Message]]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _messages(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainError(f"supervised.file: {path} cannot be read: {error}") from error


def _messages(line: str, where: str) -> list[Message]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrainError(f"{where}: no JSON: {error}") from error
    said = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(said, list):
        raise TrainError(f"{where}: messages: must be a list")
    return [_message(each, f"{where}: messages[{at}]") for at, each in enumerate(said)]


def _message(value: Any, where: str) -> Message:
    if not isinstance(value, dict) or not value.keys() <= _KEYS:
        raise TrainError(f"{where}: must be an object with {', '.join(sorted(_KEYS))}")
    text = value.get("content")
    if not isinstance(text, str):
        raise TrainError(f"{where}.content: must be a text")
    match value.get("role"):
        case "system":
            return System(text)
        case "user":
            return User(text)
        case "tool":
            return ToolResult("", "", text)
        case "assistant":
            return Assistant(text, calls=_calls(value.get("calls") or [], where))
    raise TrainError(f"{where}.role: must be one of system, user, assistant, tool")


def _calls(value: Any, where: str) -> tuple[ToolCall, ...]:
    calls = []
    for each in value if isinstance(value, list) else [None]:
        match each:
            case {"name": str(name), "arguments": dict(arguments), **rest} if not rest:
                text = json.dumps(arguments, ensure_ascii=False)
                calls.append(ToolCall("", name, text))
            case _:
                raise TrainError(f"{where}.calls: must be a list of name and arguments")
    return tuple(calls)
