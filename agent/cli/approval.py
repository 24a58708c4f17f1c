"""Decisions on calls that wait, read from the standard input."""

import json
import os
import select
import sys

from agent.api.run import Run
from agent.errors import StudioError, UsageError
from agent.events import ApprovalRequested
from agent.tools.actions import BASH
from agent.util.text import mark_hidden

_QUESTION = "Allow (a), edit (e COMMAND), deny (d REASON), or allow all from now on (all)? "
_HOW_TO_EDIT = "Write the whole command after “e”; for another tool its parameters as JSON."
_POLL_SECONDS = 0.2


class Approver:
    """Asks at the terminal or a pipe about each waiting call; the end of input stops the run."""

    def __init__(self, run: Run, input_: int | None = None) -> None:
        self._run = run
        self._input = sys.stdin.fileno() if input_ is None else input_
        self._read = b""

    def decide(self, event: ApprovalRequested) -> None:
        """Ask until there is a decision, or the run is stopped."""
        arguments = json.dumps(event.arguments, ensure_ascii=False)
        shown = event.arguments.get("command") if event.name == BASH else arguments
        print(mark_hidden(f"{event.name}: {shown}"), file=sys.stderr)
        while not self._run.is_stopping:
            print(_QUESTION, end="", file=sys.stderr, flush=True)
            line = self._line()
            if not os.isatty(self._input):
                print(file=sys.stderr)  # a terminal has shown the end of the line itself
            if line is None:
                self._run.stop()
                return
            try:
                self._apply(event, line)
            except StudioError as error:
                print(error, file=sys.stderr)
            else:
                return

    def _apply(self, event: ApprovalRequested, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        steering = self._run.steering
        match word.lower():
            case "a" | "allow":
                steering.allow(event.call_id)
            case "all":
                steering.set_approval([])
                steering.allow(event.call_id)
            case "e" | "edit":
                steering.edit(event.call_id, _parameters(event, rest))
            case "d" | "deny":
                steering.deny(event.call_id, rest)
            case _:
                raise UsageError("Answer a, e, d or all.")

    def _line(self) -> str | None:
        """Return the next line; None at the end of the input, or once the run is stopped."""
        while b"\n" not in self._read:
            if not select.select([self._input], [], [], _POLL_SECONDS)[0]:
                if self._run.is_stopping:
                    return None
                continue
            read = os.read(self._input, 4096)
            if not read:
                return None
            self._read += read
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace")


def _parameters(event: ApprovalRequested, text: str) -> dict[str, object]:
    if not text.strip():
        raise UsageError(_HOW_TO_EDIT)
    if event.name == BASH:
        return {"command": text}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{_HOW_TO_EDIT} This is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(_HOW_TO_EDIT)
    return value
