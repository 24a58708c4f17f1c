"""Demonstrations: file tasks as solved conversations, for supervised training.

The texts are those of the loop, but no command runs, since its output is known beforehand. A
test compares these conversations with those of real runs.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent import prompts
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedTurn
from agent.sandbox.base import Finished, Output
from agent.tasks.document_qa.rng import Dice
from agent.tasks.file_tasks.failures import failure
from agent.tasks.file_tasks.task import FAILED, Chore
from agent.tools.observation import Collector

PROMPT = "small"
STEPS = (8, 8, 8, 8, 8, 8, 5, 10, 20, 100)
_FAILING = 8  # percent


def turns(chore: Chore) -> Iterator[ScriptedTurn]:
    """Yield the turns of a scripted model that solves the task as demonstrated."""
    for way in chore.ways:
        yield ScriptedTurn(calls=[ToolCall("", "execute_bash", json.dumps({"command": way}))])
    calls = [ToolCall("", "submit", "{}")] if chore.ways else []
    yield ScriptedTurn(chore.said, calls=calls)


def messages(chore: Chore, steps: int, failed: str = "") -> list[dict[str, Any]]:
    """Return the conversation, with ``steps`` steps remaining at its start.

    Each message has ``role`` and ``content``; assistant messages also have ``calls``, each with
    ``name`` and ``arguments``. If ``failed`` is given, the last command fails with that text on
    stderr, and the assistant reports the failure.
    """
    prompt = prompts.named(PROMPT)
    asked = prompt.user(chore.text, list(chore.input_files))
    said = [_message("system", prompt.system), _message("user", asked + _left(steps))]
    for number, way in enumerate(chore.ways):
        said.append(_call("", "execute_bash", {"command": way}))
        shown = chore.shown[number] if number < len(chore.shown) else ""
        error = failed if number == len(chore.ways) - 1 else ""
        said.append(_message("tool", _observed(shown, error) + _left(steps - number - 1)))
    if failed:
        return [*said, _message("assistant", FAILED) | {"calls": []}]
    last = _call(chore.said, "submit", {}) if chore.ways else _message("assistant", chore.said)
    return [*said, {"calls": [], **last}]


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _call(content: str, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    return _message("assistant", content) | {"calls": [{"name": name, "arguments": arguments}]}


def _left(steps: int) -> str:
    return f"\nSteps Remaining: {steps}"


def _observed(shown: str, error: str) -> str:
    collector = Collector()
    collector.feed(Output("stdout", shown.encode()))
    collector.feed(Output("stderr", error.encode()))
    return collector.observation(Finished(1 if error else 0, "exit", 0.0), timeout=1.0)


def write_demonstrations(path: Path, made: Iterable[Chore]) -> int:
    """Write demonstrations as JSON lines; return their number.

    Each line has ``id``, ``family``, ``kind`` and ``messages``.
    """
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for chore in made:
            dice = Dice("steps", chore.id)
            steps = dice.pick(STEPS)
            fails = bool(chore.ways) and dice.below(100) < _FAILING
            said = messages(chore, steps, failure(chore.ways[-1], dice) if fails else "")
            line = {"id": chore.id, "family": chore.family, "kind": chore.kind, "messages": said}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count
