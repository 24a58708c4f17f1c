"""The events of a run's steps as JSON values, within a budget and without keys."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from agent.events import (
    Event,
    Forked,
    ModelAnswered,
    RunContinued,
    RunEnded,
    RunStarted,
    StepStarted,
    event_adapter,
)
from agent.report import markdown
from agent.report.budget import TextMeter
from agent.report.redaction import Redactor
from agent.report.source import Source
from agent.util.text import plural, replace_surrogates

_STREAMED = {
    "reasoning_delta": "text",
    "text_delta": "text",
    "tool_output": "text",
    "call_delta": "arguments",
}
"""Kinds of events that carry one text in pieces, and its field."""


@dataclass
class StepEvents:
    """The events of one step, and the model's texts as HTML by the index of their events."""

    step: int
    events: list[dict[str, Any]]
    markdown: dict[int, str]


def read_steps(source: Source, meter: TextMeter, redactor: Redactor) -> Iterator[StepEvents]:
    """Yield the steps of a run in order; only one is held in memory."""
    reader: _StepReader | None = None
    for _, event in source.events():
        if isinstance(event, RunStarted | RunContinued | Forked | StepStarted | RunEnded):
            if reader is not None:
                yield reader.finish()
            reader = None
            if isinstance(event, StepStarted):
                reader = _StepReader(event.step, source, meter, redactor)
        if reader is not None:
            reader.add(event)
    if reader is not None:
        yield reader.finish()


def fitted(value: Any, meter: TextMeter, redactor: Redactor) -> Any:
    """Return a JSON value whose texts are redacted, and shortened to the budget."""
    if isinstance(value, str):
        head, tail, omitted = meter.shorten(replace_surrogates(value))
        note = _left_out(omitted) if omitted else ""
        return redactor.redact(head) + note + redactor.redact(tail)
    if isinstance(value, dict):
        return {
            redactor.redact(replace_surrogates(name)): fitted(each, meter, redactor)
            for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [fitted(each, meter, redactor) for each in value]
    return value


def _left_out(characters: int) -> str:
    return f"\n… {plural(characters, 'character')} left out …\n"


def _shortened(text: str, limit: int) -> str:
    half = limit // 2
    left_out = len(text) - 2 * half
    return text if left_out <= 1 else text[:half] + _left_out(left_out) + text[-half:]


@dataclass
class _Stream:
    """The pieces of one text: its first ones and its last ones, within a limit."""

    name: str
    limit: int
    first: list[dict[str, Any]] = field(default_factory=list)
    last: deque[dict[str, Any]] = field(default_factory=deque)
    sizes: list[int] = field(default_factory=lambda: [0, 0])
    omitted: int = 0

    def add(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Add a piece; return the one that is left out for it, if any."""
        event[self.name] = _shortened(event[self.name], self.limit)
        size = len(event[self.name])
        if not self.last and (not self.first or self.sizes[0] + size <= self.limit // 2):
            self.first.append(event)
            self.sizes[0] += size
            return None
        self.last.append(event)
        self.sizes[1] += size
        if len(self.last) == 1 or self.sizes[1] <= self.limit // 2:
            return None
        dropped = self.last.popleft()
        self.sizes[1] -= len(dropped[self.name])
        self.omitted += len(dropped[self.name])
        dropped[self.name] = ""
        return dropped

    def finish(self, meter: TextMeter, redactor: Redactor) -> None:
        """Redact the pieces, in which a key may be split, and say what was left out."""
        meter.count(sum(self.sizes))
        for pieces in filter(None, (self.first, [*self.last])):
            whole = "".join(each[self.name] for each in pieces)
            redacted = redactor.redact(whole)
            if redacted != whole:
                self._replace(pieces, redacted)
        if self.omitted and self.name == "text":
            self.last[0]["text"] = _left_out(self.omitted) + self.last[0]["text"]

    def _replace(self, pieces: list[dict[str, Any]], text: str) -> None:
        for each in pieces[:-1]:
            size = len(each[self.name])
            each[self.name], text = text[:size], text[size:]
        pieces[-1][self.name] = text


class _StepReader:
    def __init__(self, step: int, source: Source, meter: TextMeter, redactor: Redactor) -> None:
        self._step = step
        self._source = source
        self._meter = meter
        self._redactor = redactor
        self._events: list[dict[str, Any]] = []
        self._streams: dict[tuple[object, ...], _Stream] = {}
        self._dropped = set[int]()

    def add(self, event: Event) -> None:
        if isinstance(event, ModelAnswered):
            event = replace(event, tokens=None, opaque=None)
        value = event_adapter().dump_python(event, mode="json")
        name = _STREAMED.get(value["kind"])
        if name is None:
            for key, each in value.items():
                value[key] = fitted(each, self._meter, self._redactor)
            self._events.append(value)
            return
        key = (value["kind"], value.get("call_id"), value.get("stream"), value.get("index"))
        if value.get("output_file"):
            self._replace_by_file(value, self._streams.pop(key, None))
        if key not in self._streams:
            self._streams[key] = _Stream(name, self._meter.limit())
        dropped = self._streams[key].add(value)
        if dropped is not None:
            self._dropped.add(id(dropped))
        self._events.append(value)

    def _replace_by_file(self, value: dict[str, Any], before: _Stream | None) -> None:
        """Put the beginning and the end of a stored output in place of its pieces."""
        for each in [*before.first, *before.last] if before else ():
            self._dropped.add(id(each))
        half = self._meter.limit() // 2 - 100
        file = self._source.long_output(value["output_file"])
        value |= {"output_file": "", "skipped": 0}
        if file is None:
            value["text"] = f"The output ({value['stream']}) was not kept."
            return
        with file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(half).decode("utf-8", "replace")
            file.seek(max(file.tell(), size - half))
            tail = file.read(half).decode("utf-8", "replace")
        omitted = size - 2 * half
        note = f"\n… {omitted:,} bytes left out …\n" if omitted > 0 else ""
        value["text"] = head + note + tail

    def finish(self) -> StepEvents:
        for stream in self._streams.values():
            stream.finish(self._meter, self._redactor)
        events = [each for each in self._events if id(each) not in self._dropped]
        texts = {
            at: html
            for at, each in enumerate(events)
            if each["kind"] == "model_answered" and (html := markdown.render(each["text"]))
        }
        return StepEvents(self._step, events, texts)
