"""Inspect's scripted model, and what the tests read of a log."""

import json
from collections.abc import Sequence
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

NAME = "mockllm/model"
Turn = str | tuple[str, dict[str, Any]]


def scripted(*turns: Turn) -> Model:
    """Return a model that answers with texts, or with calls: a tool's name and arguments."""
    return get_model(NAME, custom_outputs=[output(each) for each in turns])


def output(turn: Turn) -> ModelOutput:
    """Return the answer of a turn."""
    answer = (
        ModelOutput.from_content(NAME, turn)
        if isinstance(turn, str)
        else ModelOutput.for_tool_call(NAME, *turn)
    )
    # Without it, the model loads a tokenizer from the network to count.
    answer.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return answer


def report(logs: Sequence[EvalLog]) -> None:
    """Print what the tests read as one line of JSON."""
    print(json.dumps([_described(each) for each in logs]))


def _described(log: EvalLog) -> dict[str, Any]:
    (sample,) = log.samples or [None]
    return {
        "status": log.status,
        "error": log.error.message if log.error else "",
        "messages": [(each.role, each.text) for each in sample.messages] if sample else [],
        "events": [each.event for each in sample.events] if sample else [],
        "limit": sample.limit.type if sample and sample.limit else "",
        "scores": {
            name: (score.value, score.answer) for name, score in (sample.scores or {}).items()
        }
        if sample
        else {},
    }
