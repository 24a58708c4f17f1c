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
from agent.sandbox.base import CommandEnd, OutputChunk
from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks.failures import failure_message
from agent.tasks.file_tasks.task import FAILURE_REPLY, FileTask
from agent.tools.observation import OutputCollector

PROMPT_NAME = "small"
STEP_BUDGETS = (8, 8, 8, 8, 8, 8, 5, 10, 20, 100)
_FAILURE_PERCENT = 8  # percent


def scripted_turns(task: FileTask) -> Iterator[ScriptedTurn]:
    """Yield the turns of a scripted model that solves the task as demonstrated."""
    for command in task.commands:
        yield ScriptedTurn(calls=[ToolCall("", "execute_bash", json.dumps({"command": command}))])
    calls = [ToolCall("", "submit", "{}")] if task.commands else []
    yield ScriptedTurn(task.reply, calls=calls)


def messages(task: FileTask, steps: int, error_text: str = "") -> list[dict[str, Any]]:
    """Return the conversation, with ``steps`` steps remaining at its start.

    If ``error_text`` is given, the last command fails with that text on stderr, and the assistant
    reports the failure.
    """
    prompt = prompts.get_bundled(PROMPT_NAME)
    user_text = prompt.user_message(task.text, list(task.input_files))
    conversation = [
        _message("system", prompt.system),
        _message("user", user_text + _steps_remaining(steps)),
    ]
    for number, command in enumerate(task.commands):
        conversation.append(_call("", "execute_bash", {"command": command}))
        stdout = task.stdout[number] if number < len(task.stdout) else ""
        error = error_text if number == len(task.commands) - 1 else ""
        conversation.append(
            _message("tool", _observation(stdout, error) + _steps_remaining(steps - number - 1))
        )
    if error_text:
        return [*conversation, _message("assistant", FAILURE_REPLY) | {"calls": []}]
    last = _call(task.reply, "submit", {}) if task.commands else _message("assistant", task.reply)
    return [*conversation, {"calls": [], **last}]


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _call(content: str, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    return _message("assistant", content) | {"calls": [{"name": name, "arguments": arguments}]}


def _steps_remaining(steps: int) -> str:
    return f"\nSteps Remaining: {steps}"


def _observation(stdout: str, stderr: str) -> str:
    collector = OutputCollector()
    collector.feed(OutputChunk("stdout", stdout.encode()))
    collector.feed(OutputChunk("stderr", stderr.encode()))
    return collector.observation(CommandEnd(1 if stderr else 0, "exit", 0.0), timeout=1.0)


def write_demonstrations(path: Path, tasks: Iterable[FileTask]) -> int:
    """Write lines of ``id``, ``family``, ``kind`` and ``messages``; return their number."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for task in tasks:
            rng = Rng("steps", task.id)
            steps = rng.choice(STEP_BUDGETS)
            fails = bool(task.commands) and rng.randbelow(100) < _FAILURE_PERCENT
            conversation = messages(
                task, steps, failure_message(task.commands[-1], rng) if fails else ""
            )
            line = {
                "id": task.id,
                "family": task.family,
                "kind": task.kind,
                "messages": conversation,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count
