"""Logs of Inspect, as JSON and as ``.eval``: each sample is a run, each score a note."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.errors import TraceError
from agent.models.base import ToolCall, Usage
from agent.traces.chat import items_of_conversation, items_of_message
from agent.traces.documents import Document, part
from agent.traces.fields import Fields, read_fields, read_objects, shorten
from agent.traces.json_reader import JsonReader
from agent.traces.statuses import finish_of, status_of
from agent.traces.trace import (
    Ended,
    Item,
    Note,
    Result,
    Start,
    Trace,
    Turn,
    UserText,
    usage_of_counts,
)
from agent.traces.zip_members import ZipMembers, open_zip

_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")
_MAX_ATTACHMENT_CHARACTERS = 32 * 1024**2
_HEADERS = ("header.json", "_journal/start.json")


def samples_of_json(document: Document) -> Iterator[tuple[str, Trace]]:
    """Yield the samples of a JSON log, each with its title."""
    head, _ = document.head()
    evaluation = head.fields("eval")
    with document.reader() as reader:
        for name in reader.members():
            if name == "samples":
                for _ in reader.elements():
                    with part(reader, document) as sample:
                        yield _title(evaluation, sample), read(evaluation, sample)


def samples_of_eval(whole: Document, path: Path) -> Iterator[tuple[str, Trace]]:
    """Yield the samples of an ``.eval`` file, each with its title."""
    with open_zip(path, whole.name) as archive:
        header = next((each for each in _HEADERS if each in archive.infos), "")
        if not header:
            raise TraceError(f"{whole.name}: not a log of Inspect: it has no header.")
        head, _ = _member(whole, archive, header).head()
        for each in archive.infos:
            if each.startswith("samples/"):
                sample = _member(whole, archive, each)
                yield _title(head.fields("eval"), sample), read(head.fields("eval"), sample)


def _member(whole: Document, archive: ZipMembers, member: str) -> Document:
    return replace(whole, open=lambda: archive.open(member), name=f"{whole.name}/{member}")


def _title(evaluation: Fields, sample: Document) -> str:
    head, _ = sample.head()
    epoch = head.count("epoch") or 1
    number = f" (epoch {epoch})" if epoch > 1 else ""
    return f"{evaluation.text('task')[:100]}: {str(head.values.get('id', ''))[:100]}{number}"


def read(evaluation: Fields, sample: Document) -> Trace:
    """Yield a sample's items; ``evaluation`` is the log's ``eval``."""
    head, _ = sample.head()
    events = _Events()
    with sample.reader() as reader:
        events.read(reader)
    start = Start(
        agent="Inspect", model=evaluation.text("model"), tools=tuple(events.tools),
        at=head.time("started_at"), title=evaluation.text("task"),
    )  # fmt: skip
    with sample.reader() as reader:
        for item in items_of_conversation(start, _messages(reader), events.items_of):
            if isinstance(item, Start):
                item = replace(item, system=events.resolve(item.system))
            yield item
    yield from _end(head)


def _messages(reader: JsonReader) -> Iterator[Fields]:
    for message in read_objects(reader, "messages"):
        if message.text("role") == "assistant":
            _split_reasoning(message)
        yield message


def _split_reasoning(message: Fields) -> None:
    """Move the reasoning, a part of the content, to a field of its own."""
    content = message.values.get("content")
    if not isinstance(content, list):
        return
    parts = [Fields(each, message.place) for each in content if isinstance(each, dict)]
    texts = [each.text("reasoning") or each.text("summary") for each in parts
             if each.text("type") == "reasoning"]  # fmt: skip
    message.values["reasoning_content"] = "\n".join(texts)
    message.values["content"] = [each.values for each in parts if each.text("type") != "reasoning"]


def _end(head: Fields) -> Iterator[Item]:
    for name, score in _scores(head):
        given = score.text("answer") if isinstance(score.values.get("answer"), str) else ""
        value = str(score.values.get("value"))[:200]
        yield Note(text=f"Score {name[:80]}: {value}" + (f" for “{given[:500]}”" if given else ""))
    error = head.fields("error").text("message") if "error" in head else ""
    limit = head.fields("limit").text("type") if "limit" in head else ""
    status = status_of(limit) if limit else "failed" if error else "answered"
    reason = error or (f"Inspect's {limit} limit was reached." if limit else "")
    answer = head.fields("output").text("completion") or None
    yield Ended(status=status, reason=reason, answer=answer, at=head.time("completed_at"))


def _scores(head: Fields) -> Iterator[tuple[str, Fields]]:
    scores = head.fields("scores")
    for name in scores.values:
        yield name, scores.fields(name)


@dataclass(frozen=True, slots=True)
class _Model:
    """What the event of a model's answer says."""

    usage: Usage | None
    finish: str
    seconds: float | None
    at: float | None


@dataclass
class _Events:
    """What a sample's events and attachments add to its messages."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    _answers: dict[str, _Model] = field(default_factory=dict)
    _calls: dict[str, tuple[float | None, float | None, bool]] = field(default_factory=dict)
    _attachments: dict[str, str] = field(default_factory=dict)
    _size: int = 0

    def read(self, reader: JsonReader) -> None:
        for name in reader.members():
            if name == "events":
                for _ in reader.elements():
                    self._add(read_fields(reader))
            elif name == "attachments" and reader.kind() == "{":
                for key in reader.members():
                    self._attach(key, reader.value())

    def _attach(self, key: str, value: object) -> None:
        if isinstance(value, str) and self._size + len(value) <= _MAX_ATTACHMENT_CHARACTERS:
            self._attachments[key] = value
            self._size += len(value)

    def _add(self, event: Fields) -> None:
        kind = event.text("event")
        if kind == "model":
            output = event.fields("output")
            for choice in output.items("choices"):
                answer = choice.fields("message").text("id")
                self._answers[answer] = _Model(
                    _usage(output.fields("usage")), choice.text("stop_reason"),
                    output.number("time"), event.time("completed") or event.time("timestamp"),
                )  # fmt: skip
            if not self.tools:
                self.tools = [_definition(tool) for tool in event.items("tools")]
        elif kind == "tool":
            self._calls[event.text("id")] = (
                event.number("working_time"), event.time("completed"), "error" not in event,
            )  # fmt: skip

    def resolve(self, text: str) -> str:
        """Return a text with the attachments that it refers to."""
        return shorten(
            _ATTACHMENT.sub(lambda found: self._attachments.get(found[1], found[0]), text)
        )

    def items_of(self, message: Fields, at: float | None) -> Iterator[Item]:
        """Yield a message's items with what the events say about them."""
        return (self._complete(item, message) for item in items_of_message(message, at))

    def _complete(self, item: Item, message: Fields) -> Item:
        match item:
            case Turn():
                known = self._answers.get(message.text("id"))
                calls = tuple(
                    ToolCall(call.id, call.name, self.resolve(call.arguments))
                    for call in item.calls
                )
                item = replace(
                    item, text=self.resolve(item.text), reasoning=self.resolve(item.reasoning),
                    calls=calls,
                )  # fmt: skip
                return item if known is None else replace(
                    item, usage=known.usage, seconds=known.seconds, at=known.at,
                    finish=finish_of(known.finish),
                )  # fmt: skip
            case Result():
                seconds, at, ok = self._calls.get(item.call_id, (None, None, True))
                error = message.fields("error").text("message") if "error" in message else ""
                text = self.resolve(item.text) or error
                return replace(item, text=text, seconds=seconds, at=at, ok=ok and not error)
            case UserText():
                return replace(item, text=self.resolve(item.text))
        return item


def _usage(usage: Fields) -> Usage | None:
    prompt = usage.count("input_tokens")
    cached, written = (
        usage.count(name) for name in ("input_tokens_cache_read", "input_tokens_cache_write")
    )
    # Inspect counts what the cache holds apart from the input.
    whole = None if prompt is None else prompt + (cached or 0) + (written or 0)
    return usage_of_counts(
        whole, usage.count("output_tokens"), cached=cached, cache_written=written,
        reasoning=usage.count("reasoning_tokens"),
    )  # fmt: skip


def _definition(tool: Fields) -> dict[str, Any]:
    names = ("name", "description", "parameters")
    function = {name: tool.values[name] for name in names if name in tool.values}
    return {"type": "function", "function": function}
