"""The steps that the page and its rival are fed, at a model's pace or all at once.

A step is 40 pieces of reasoning and one output of 4 KB, with what the journal says around
them. Each of these 41 carries a mark, by which it is found again in the page.
"""

import json
import queue
import threading
import time
from collections.abc import Iterator

from agent.events import (
    Event,
    ModelAnswered,
    ReasoningDelta,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    Totals,
)
from agent.models.base import ToolCall, Usage
from tests.bench.context import TIMEOUT_SECONDS

PACE_SECONDS = 0.01
"""Seconds from one marked event to the next, as of a quick model."""
_CHUNKS = 40
_OUTPUT = 4096
_COMMAND = "python measure.py"
_WORDS = "so the next thing to look at is the row below, "


class EventScript:
    """A run's steps, one after the other.

    Args:
        output: Characters of each step's output.

    Attributes:
        created_at: When each marked event was made, in the order of their marks: seconds since the
            epoch.
        event_count: How many events there were, those without a mark too.
    """

    def __init__(self, output: int = _OUTPUT) -> None:
        self.created_at: list[float] = []
        self.event_count = 0
        self._output = output
        self._step = 0
        self._due = 0.0

    def steps(self, count: int, pace: float = 0.0) -> Iterator[Event]:
        """So many more steps, the marked events ``pace`` seconds apart."""
        self._due = time.monotonic()
        for _ in range(count):
            for event in self._step_events(pace):
                self.event_count += 1
                yield event

    def _step_events(self, pace: float) -> Iterator[Event]:
        self._step += 1
        step, call = self._step, f"call_{self._step}"
        thoughts = []
        yield StepStarted(step=step, note="")
        for _ in range(_CHUNKS):
            thoughts.append(f"{_WORDS}{self._mark(pace)} ")
            yield ReasoningDelta(step=step, text=thoughts[-1], at=self.created_at[-1])
        arguments = {"command": _COMMAND}
        yield ModelAnswered(
            step=step, text="", reasoning="".join(thoughts), finish="tool_calls",
            calls=(ToolCall(call, "execute_bash", json.dumps(arguments)),),
            usage=Usage(prompt=1000 * step, generated=400), estimated=False, seconds=0.4,
        )  # fmt: skip
        yield ToolStarted(
            step=step, call_id=call, name="execute_bash", arguments=arguments, head=_COMMAND
        )
        text = _output(self._mark(pace), self._output)
        yield ToolOutput(
            step=step, call_id=call, stream="stdout", text=text, at=self.created_at[-1]
        )
        yield ToolEnded(
            step=step, call_id=call, name="execute_bash", ok=True, exit_code=0, ending="exit",
            seconds=0.01, observation=text,
        )  # fmt: skip
        yield StepEnded(step=step, totals=Totals(steps=step, prompt_tokens=500 * step * step))

    def _mark(self, pace: float) -> str:
        self._due += pace
        time.sleep(max(0.0, self._due - time.monotonic()))
        self.created_at.append(time.time())
        return f"§{len(self.created_at) - 1}§"


def _output(mark: str, size: int) -> str:
    rows = range(size // 20)
    lines = [mark, *(f"row {number:4} of the table: {number * 37 % 101}" for number in rows)]
    return "\n".join(lines)[: size - 1] + "\n"


class EventSource:
    """Plays a script in the thread that iterates ``events``, when another one says so."""

    def __init__(self) -> None:
        self.script = EventScript()
        self._orders = queue.SimpleQueue[tuple[int, float, threading.Event] | None]()

    def events(self) -> Iterator[Event]:
        """What is played, until the end."""
        for count, pace, played in iter(self._orders.get, None):
            yield from self.script.steps(count, pace)
            played.set()

    def play(self, steps: int, pace: float = 0.0) -> range:
        """Play so many steps; returns their marks once all were taken.

        Raises:
            RuntimeError: nobody takes them.
        """
        first, played = len(self.script.created_at), threading.Event()
        self._orders.put((steps, pace, played))
        if not played.wait(TIMEOUT_SECONDS + steps * (_CHUNKS + 1) * pace):
            raise RuntimeError("The steps are not taken.")
        return range(first, len(self.script.created_at))

    def end(self) -> None:
        """There is no more."""
        self._orders.put(None)
