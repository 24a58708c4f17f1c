"""Scripted steps for the measured pages, at the pace of a model or at once.

A step has 40 reasoning deltas and one output of 4 KB, and the other events of the journal. Each of
these 41 events contains a mark, by which the page is searched for it.
"""

import json
import queue
import threading
import time
from collections.abc import Iterator

from agent.events import (
    Event,
    ReasoningDelta,
    StepEnded,
    StepStarted,
    ToolOutput,
    ToolStarted,
    Totals,
)
from agent.models.base import ToolCall, Usage
from tests.bench.context import TIMEOUT_SECONDS
from tests.support.component.events import answered, tool_ended

PACE_SECONDS = 0.01
"""Seconds from one marked event to the next, as with a fast model."""
_CHUNKS = 40
_OUTPUT = 4096
_COMMAND = "python measure.py"
_WORDS = "so the next thing to look at is the row below, "


class EventScript:
    """Generates the events of steps whose commands print ``output`` characters."""

    def __init__(self, output: int = _OUTPUT) -> None:
        self.created_at: list[float] = []
        self._output = output
        self._step = 0
        self._due = 0.0

    def steps(self, count: int, pace: float = 0.0) -> Iterator[Event]:
        """Generate ``count`` more steps, with marked events ``pace`` seconds apart."""
        self._due = time.monotonic()
        for _ in range(count):
            yield from self._step_events(pace)

    def _step_events(self, pace: float) -> Iterator[Event]:
        self._step += 1
        step, call = self._step, f"call_{self._step}"
        deltas = []
        yield StepStarted(step=step, note="")
        for _ in range(_CHUNKS):
            deltas.append(f"{_WORDS}{self._mark(pace)} ")
            yield ReasoningDelta(step=step, text=deltas[-1], at=self.created_at[-1])
        arguments = {"command": _COMMAND}
        made = ToolCall(call, "execute_bash", json.dumps(arguments))
        yield answered(step, "", made, usage=Usage(1000 * step, 400), reasoning="".join(deltas))
        yield ToolStarted(
            step=step, call_id=call, name="execute_bash", arguments=arguments, summary=_COMMAND
        )
        text = _output(self._mark(pace), self._output)
        yield ToolOutput(
            step=step, call_id=call, stream="stdout", text=text, at=self.created_at[-1]
        )
        yield tool_ended(step, call, text)
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
    """Generates a script's events in the thread that iterates ``events``, on request of another."""

    def __init__(self) -> None:
        self.script = EventScript()
        self._requests = queue.SimpleQueue[tuple[int, float, threading.Event] | None]()

    def events(self) -> Iterator[Event]:
        """Yield the requested events until ``end`` is called."""
        for count, pace, done in iter(self._requests.get, None):
            yield from self.script.steps(count, pace)
            done.set()

    def play(self, steps: int, pace: float = 0.0) -> range:
        """Generate steps; returns their marks once all events were consumed."""
        first, done = len(self.script.created_at), threading.Event()
        self._requests.put((steps, pace, done))
        if not done.wait(TIMEOUT_SECONDS + steps * (_CHUNKS + 1) * pace):
            raise RuntimeError("The steps are not consumed.")
        return range(first, len(self.script.created_at))

    def end(self) -> None:
        self._requests.put(None)
