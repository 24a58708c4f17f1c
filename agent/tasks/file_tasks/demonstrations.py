"""Demonstrations: file tasks as solved conversations; no command runs, its output is known."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent import prompts
from agent.sandbox.base import CommandEnd, OutputChunk
from agent.tasks.document_qa.rng import Rng
from agent.tasks.file_tasks.synthetic_values import load_vocabulary
from agent.tasks.file_tasks.task import FAILURE_REPLY, FileTask
from agent.tools.observation import OutputCollector

_PYTHON = (
    "KeyError: '{word}'",
    "NameError: name '{word}' is not defined",
    "ValueError: could not convert string to float: '{word}'",
    "ValueError: invalid literal for int() with base 10: '{word}'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'input/{word}.csv'",
    "IndexError: list index out of range",
    "ZeroDivisionError: division by zero",
    "SyntaxError: invalid syntax",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position {number}",
)
_SHELL = (
    "{program}: input/{word}.txt: No such file or directory",
    "{program}: can't read input/{word}.md: No such file or directory",
    "{program}: cannot open 'input/{word}.csv' for reading: No such file or directory",
    "{program}: invalid option -- '{letter}'",
    "{program}: -e expression #1, char {number}: unterminated `s' command",
    "bash: line {number}: {program}: command not found",
    "bash: line {number}: output/{word}: Is a directory",
    "bash: line {number}: output/{word}.txt: Permission denied",
    "bash: line {number}: unexpected EOF while looking for matching `''",
)
PROMPT_NAME = "small"
STEP_BUDGETS = (8, 8, 8, 8, 8, 8, 5, 10, 20, 100)
_FAILURE_PERCENT = 8  # percent


def messages(task: FileTask, steps: int, error_text: str = "") -> list[dict[str, Any]]:
    """Return the conversation with ``steps`` left; with ``error_text``, its last command fails."""
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


def failure_message(command: str, rng: Rng) -> str:
    """Return what a faulty command, or one lacking its files, may write to stderr."""
    program = re.split(r"\W", command, maxsplit=1)[0] or "bash"
    lines = _PYTHON if program == "python3" else _SHELL
    number = rng.randint(1, 60)
    message = rng.choice(lines).format(
        program=program,
        word=rng.choice(load_vocabulary()),
        letter=rng.choice("xqzkj"),
        number=number,
    )
    if program != "python3":
        return message
    where = '"<stdin>"' if "<<" in command else '"<string>"'
    return (
        f"Traceback (most recent call last):\n  File {where}, line {number}, in <module>\n{message}"
    )
