"""The work that every driver of runs is given, and what its record shows.

A run writes ``first`` into a file, then ``second``, and submits. What the model does next follows
from the history that it is sent alone, so a command that is asked for twice was not sent back.
"""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Literal

from agent.events import (
    Forked,
    ModelAnswered,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    ToolEnded,
)
from agent.runs import journal
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from tests.support.models.turns import Body, Turn
from tests.support.server import wait_until

Hold = Literal["model turn", "call"]
TASK = "What is {0} + {0}?"
COMMANDS = ("echo first >> output/log", "echo second >> output/log; echo 2 > output/answer.txt")
_HELD = b'"text":"held-42'


class Work:
    """A script of the endpoint: some runs end, the next one is held until it is released.

    Args:
        hold: Where: while the model answers, or while a command works.
        free: How many runs end before.
    """

    def __init__(self, hold: Hold, free: int) -> None:
        self.released = threading.Event()
        self.asked: Counter[str] = Counter()
        self._hold: Hold = hold
        self._free = free

    def __call__(self, body: Body) -> Turn:
        done = _asked_for(body)
        key = f"{body.get('temperature')} {_first_message(body)}"
        self.asked[key] += not done
        if done == 1 and not self.released.is_set() and len(self.asked) > self._free:
            if self._hold == "model turn":
                return Turn(text="held-42. " * 9, fault="silent")
            return _bash("echo held-$((40 + 2)); sleep 600")
        return _bash(COMMANDS[done]) if done < len(COMMANDS) else Turn(calls=[("submit", {})])

    def wait_until_held(self, data: Path) -> RunFolder:
        """Wait until a run is held, as its journal shows; return its folder."""
        wait_until(lambda: self._held(data) is not None)
        held = self._held(data)
        assert held is not None
        return held

    def _held(self, data: Path) -> RunFolder | None:
        for folder in RunFolder.all(data):
            if folder.journal.exists() and _HELD in folder.journal.read_bytes():
                return folder
        return None


def check_record(folder: RunFolder) -> list[RunEnded]:
    """Check what holds for the record of every run at rest; return the ends of its rounds.

    Every line is readable. Steps are numbered without a gap. Each round has exactly one end, and
    each call exactly one result, unless a kill took the process that waited for it: the next
    request answers it then, which a strict endpoint checks.
    """
    events = [event for _, event in journal.read(folder.journal)]
    assert len(events) == folder.journal.read_bytes().count(b"\n")
    steps = [event.step for event in events if isinstance(event, StepStarted)]
    assert steps == list(range(1, len(steps) + 1))
    ends, open_calls, in_round = list[RunEnded](), set[str](), False
    for event in events:
        if isinstance(event, RunStarted | RunContinued):
            assert not in_round
            in_round = True
        elif isinstance(event, Forked):  # what was copied is at rest
            in_round, open_calls = False, set()
        elif isinstance(event, ModelAnswered):
            open_calls.update(call.id for call in event.calls)
        elif isinstance(event, ToolEnded):
            open_calls.remove(event.call_id)
        elif isinstance(event, RunEnded):
            assert in_round
            assert not open_calls or event.reason == INTERRUPTED
            in_round, open_calls = False, set()
            ends.append(event)
    assert not in_round
    return ends


def commands(folder: RunFolder) -> Counter[str]:
    """Return how often the model asked for each command, in all rounds of a run."""
    return Counter(
        json.loads(call.arguments)["command"]
        for _, event in journal.read(folder.journal)
        if isinstance(event, ModelAnswered)
        for call in event.calls
        if call.name == "execute_bash"
    )


def _bash(command: str) -> Turn:
    return Turn(calls=[("execute_bash", {"command": command})])


def _asked_for(body: Body) -> int:
    """Return how many of the commands the model has asked for, by the history that it is sent."""
    calls = [call for each in body["messages"] for call in each.get("tool_calls") or ()]
    return sum(
        json.loads(call["function"]["arguments"]).get("command") in COMMANDS for call in calls
    )


def _first_message(body: Body) -> str:
    return str(next(each["content"] for each in body["messages"] if each["role"] == "user"))
