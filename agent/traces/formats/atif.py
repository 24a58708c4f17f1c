"""ATIF, Harbor's Agent Trajectory Interchange Format: versions 1.0 to 1.8 are read, 1.7 is written.

What ATIF has no field for is in ``extra`` fields under one key, so that reading loses nothing.
Embedded trajectories of subagents are not read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from typing import Any

from agent.installation import DISTRIBUTION_NAME
from agent.models.base import ToolCall, Usage
from agent.traces.chat import OPAQUE, read_opaque
from agent.traces.fields import Fields, dump, format_time, read_objects
from agent.traces.formats.images import Image, described
from agent.traces.json_reader import JsonReader
from agent.traces.recording import parse_arguments
from agent.traces.statuses import ORIGINAL_OBSERVATION, finish_of, original_of, review_of, status_of
from agent.traces.trace import (
    Ended,
    Item,
    Note,
    Result,
    Start,
    Trace,
    Turn,
    TurnIds,
    UserText,
    usage_of_counts,
)

VERSION = "ATIF-v1.7"
_READ = tuple(f"ATIF-v1.{minor}" for minor in range(9))
_OWN = "llm_in_sandbox_studio"
_UNPARSED = "unparsed"
_PICTURES = "pictures"


# Reading


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the trajectory's items, from its small fields and the file before its object."""
    named = head.text("schema_version")
    if named not in _READ:
        raise head.error("schema_version", f"“{named[:40]}” is not one of {', '.join(_READ)}")
    agent = head.fields("agent")
    own = agent.fields("extra").fields(_OWN)
    mode = own.text("mode")
    start = Start(
        title=head.fields("extra").fields(_OWN).text("title"),
        agent=agent.text("name"),
        model=agent.text("model_name"),
        mode=mode if mode in ("sandbox", "plain") else None,  # type: ignore[arg-type]
        prompt=own.text("prompt"),
        tools=tuple(tool.values for tool in agent.items("tool_definitions")),
    )
    steps = _Steps(start)
    for step in read_objects(reader, "steps"):
        yield from steps.read(step)
    yield from steps.end(head)


def is_trajectory(head: Fields) -> bool:
    """Whether a file with these small fields is a trajectory of a known version."""
    return head.values.get("schema_version") in _READ


def read_ids(step: Fields) -> TurnIds | None:
    """Return the token ids of an agent's step; None unless it has all, for one request."""
    metrics = step.fields("metrics")
    prompt = metrics.token_ids("prompt_token_ids")
    generated = metrics.token_ids("completion_token_ids")
    if prompt is None or generated is None or (step.count("llm_call_count") or 1) > 1:
        return None
    logprobs = metrics.numbers("logprobs")
    if logprobs is not None and len(logprobs) != len(generated):
        problem = f"{len(logprobs)} numbers for {len(generated)} completion_token_ids"
        raise metrics.error("logprobs", problem)
    return TurnIds(prompt=prompt, generated=generated, logprobs=logprobs or ())


class _Steps:
    def __init__(self, start: Start) -> None:
        self._start: Start | None = start
        self._open = False  # whether a round began that no step ends

    def read(self, step: Fields) -> Iterator[Item]:
        source, at = step.text("source"), step.time("timestamp")
        own = step.fields("extra").fields(_OWN)
        if source == "system" and self._start is not None and not own.flag("note"):
            system = step.text("message")
            yield replace(self._start, system=system, at=at)
            self._start = None
            return
        yield from self._started()
        self._open = True
        if source == "agent":
            yield from _agent_step(step, at)
        elif source == "user":
            text, images = step.content("message")
            yield UserText(
                text=text, task=own.text("task"), at=at,
                reminder=own.flag("reminder"), while_working=own.flag("while_working"),
                copied=step.flag("is_copied_context"),
                images=described(images, own.values.get(_PICTURES)),
            )  # fmt: skip
        elif source == "system":
            yield Note(text=step.text("message"), at=at)
        else:
            raise step.error("source", f"“{source[:40]}” is none of system, user and agent")
        ended = own.fields("ended")
        if ended.values:
            self._open = False
            yield _ended(ended)

    def end(self, head: Fields) -> Iterator[Item]:
        yield from self._started()
        if self._open:
            cost = head.fields("final_metrics").number("total_cost_usd")
            yield Ended(cost=cost)

    def _started(self) -> Iterator[Item]:
        if self._start is not None:
            yield self._start
            self._start = None


def _agent_step(step: Fields, at: float | None) -> Iterator[Item]:
    own = step.fields("extra").fields(_OWN)
    metrics = step.fields("metrics")
    calls = tuple(_call(call) for call in step.items("tool_calls"))
    yield Turn(
        text=step.text("message"), reasoning=step.text("reasoning_content"), calls=calls,
        model=step.text("model_name"), usage=_usage(metrics), estimated=own.flag("estimated"),
        finish=finish_of(own.text("finish")), seconds=own.number("seconds"), at=at,
        cost=metrics.number("cost_usd"), copied=step.flag("is_copied_context"),
        ids=read_ids(step), opaque=read_opaque(own),
    )  # fmt: skip
    for result in step.fields("observation").items("results"):
        extra = result.fields("extra").fields(_OWN)
        ok = extra.values.get("ok")
        call_id = result.text("source_call_id")
        text, images = result.content("content")
        yield Result(
            call_id=call_id or (calls[0].id if len(calls) == 1 else ""),
            text=text, exit_code=extra.exit_code("exit_code"),
            ok=ok if isinstance(ok, bool) else None, seconds=extra.number("seconds"),
            at=extra.time("ended"), review=review_of(extra.fields("review")),
            original=original_of(extra), images=described(images, extra.values.get(_PICTURES)),
        )  # fmt: skip


def _call(call: Fields) -> ToolCall:
    arguments = call.values.get("arguments")
    if isinstance(arguments, dict) and list(arguments) == [_UNPARSED]:
        raw = arguments[_UNPARSED]
        text = raw if isinstance(raw, str) else dump(raw)
    else:
        text = arguments if isinstance(arguments, str) else dump(arguments or {})
    return ToolCall(call.text("tool_call_id"), call.text("function_name"), text)


def _usage(metrics: Fields) -> Usage | None:
    own = metrics.fields("extra").fields(_OWN)
    return usage_of_counts(
        metrics.count("prompt_tokens"), metrics.count("completion_tokens"),
        cached=metrics.count("cached_tokens"), reasoning=own.count("reasoning"),
        cache_written=own.count("cache_written"),
    )  # fmt: skip


def _ended(ended: Fields) -> Ended:
    return Ended(
        status=status_of(ended.text("status")), reason=ended.text("reason"),
        answer=ended.text("answer"), at=ended.time("at"), cost=ended.number("cost"),
    )  # fmt: skip


# Writing


@dataclass
class _Totals:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    known: bool = False
    cost: float | None = None
    steps: int = 0

    def add(self, usage: Usage | None) -> None:
        if usage is not None:
            self.known = True
            self.prompt_tokens += usage.prompt
            self.completion_tokens += usage.generated
            if (cached := usage.known("cached")) is not None:
                self.cached_tokens = (self.cached_tokens or 0) + cached


@dataclass
class _Step:
    """A step whose results are still being added."""

    values: dict[str, Any]
    own: dict[str, Any] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)


def write(items: Iterable[Item], run: str) -> Iterator[str]:
    """Yield the text of the trajectory, a step at a time."""
    writer = _Writer(run)
    for item in items:
        yield from writer.add(item)
    yield from writer.end()


class _Writer:
    def __init__(self, run: str) -> None:
        self._run = run
        self._start = Start()
        self._step: _Step | None = None
        self._totals = _Totals()

    def add(self, item: Item) -> Iterator[str]:
        match item:
            case Start():
                self._start = item
                yield from self._head(item)
            case Result():
                self._add_result(item)
            case Ended():
                self._add_end(item)
            case _:
                yield from self._finished()
                self._step = self._new_step(item)

    def end(self) -> Iterator[str]:
        yield from self._finished()
        totals = self._totals
        metrics: dict[str, Any] = {"total_steps": totals.steps}
        if totals.known:
            metrics |= {
                "total_prompt_tokens": totals.prompt_tokens,
                "total_completion_tokens": totals.completion_tokens,
            }
        if totals.cached_tokens is not None:
            metrics["total_cached_tokens"] = totals.cached_tokens
        if totals.cost is not None:
            metrics["total_cost_usd"] = totals.cost
        own = {_OWN: {"title": self._start.title}}
        yield f'\n],\n"final_metrics": {dump(metrics)},\n"extra": {dump(own)}}}\n'

    def _head(self, start: Start) -> Iterator[str]:
        own = {"mode": start.mode, "prompt": start.prompt}
        agent = {
            "name": start.agent or "unknown",
            "version": _own_version() if start.agent == DISTRIBUTION_NAME else "unknown",
            "model_name": start.model or "unknown",
            "tool_definitions": list(start.tools),
            "extra": {_OWN: {name: value for name, value in own.items() if value}},
        }
        yield (
            f'{{"schema_version": {dump(VERSION)},\n"session_id": {dump(self._run)},\n'
            f'"trajectory_id": {dump(self._run)},\n"agent": {dump(agent)},\n"steps": [\n'
        )
        self._step = self._create("system", start.system, start.at)

    def _new_step(self, item: Item) -> _Step:
        match item:
            case UserText():
                content = _content(item.text, item.images)
                step = self._create("user", content, item.at, copied=item.copied)
                step.own = {"task": item.task} if item.task not in ("", item.text) else {}
                step.own |= {"reminder": True} if item.reminder else {}
                step.own |= {"while_working": True} if item.while_working else {}
                step.own |= _about(item.images)
                return step
            case Turn():
                return self._agent_step(item)
            case Note():
                step = self._create("system", item.text, item.at)
                step.own["note"] = True
                self._totals.add(item.usage)
                return step
        raise AssertionError(item)

    def _create(
        self, source: str, message: object, at: float | None, *, copied: bool = False
    ) -> _Step:
        self._totals.steps += 1
        values: dict[str, Any] = {"step_id": self._totals.steps}
        if at is not None:
            values["timestamp"] = format_time(at)
        values |= {"source": source, "message": message}
        if copied:
            values["is_copied_context"] = True
        return _Step(values)

    def _agent_step(self, turn: Turn) -> _Step:
        step = self._create("agent", turn.text, turn.at, copied=turn.copied)
        if turn.model:
            step.values["model_name"] = turn.model
        if turn.reasoning:
            step.values["reasoning_content"] = turn.reasoning
        if turn.calls:
            step.values["tool_calls"] = [
                {
                    "tool_call_id": call.id,
                    "function_name": call.name,
                    "arguments": parse_arguments(call),
                }
                for call in turn.calls
            ]
        metrics = _metrics(turn)
        if metrics:
            step.values["metrics"] = metrics
        own = {"finish": turn.finish, "seconds": turn.seconds, "estimated": turn.estimated or None,
               OPAQUE: asdict(turn.opaque) if turn.opaque else None}  # fmt: skip
        step.own = {name: value for name, value in own.items() if value is not None}
        step.values["llm_call_count"] = 1
        if not turn.copied:
            self._totals.add(turn.usage)
        return step

    def _add_result(self, result: Result) -> None:
        if self._step is None:
            return
        own = {"exit_code": result.exit_code, "ok": result.ok, "seconds": result.seconds,
               "ended": None if result.at is None else format_time(result.at),
               "review": asdict(result.review) if result.review else None,
               ORIGINAL_OBSERVATION: result.original}  # fmt: skip
        extra = {name: value for name, value in own.items() if value is not None}
        extra |= _about(result.images)
        known = {call["tool_call_id"] for call in self._step.values.get("tool_calls", ())}
        entry: dict[str, Any] = {"content": _content(result.text, result.images)}
        if result.call_id in known:
            entry["source_call_id"] = result.call_id
        if extra:
            entry["extra"] = {_OWN: extra}
        self._step.results.append(entry)

    def _add_end(self, ended: Ended) -> None:
        self._totals.cost = ended.cost if ended.cost is not None else self._totals.cost
        if self._step is None:
            return
        at = None if ended.at is None else format_time(ended.at)
        own: dict[str, Any] = {
            "status": ended.status,
            "reason": ended.reason,
            "answer": ended.answer,
        }
        own |= {"at": at, "cost": ended.cost}
        self._step.own["ended"] = {name: value for name, value in own.items() if value is not None}

    def _finished(self) -> Iterator[str]:
        if self._step is None:
            return
        step, self._step = self._step, None
        if step.results:
            step.values["observation"] = {"results": step.results}
        if step.own:
            step.values["extra"] = {_OWN: step.own}
        yield ("" if step.values["step_id"] == 1 else ",\n") + dump(step.values)


def _content(text: str, images: Sequence[Image]) -> object:
    """Return a text, with pictures as content parts of version 1.6 on."""
    parts = [
        {"type": "image", "source": {"media_type": each.media_type, "path": each.url}}
        for each in images
    ]
    return [{"type": "text", "text": text}, *parts] if parts else text


def _about(images: Sequence[Image]) -> dict[str, Any]:
    return {_PICTURES: [each.about for each in images]} if images else {}


def _metrics(turn: Turn) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    if turn.usage is not None:
        metrics = {
            "prompt_tokens": turn.usage.prompt,
            "completion_tokens": turn.usage.generated,
            "cached_tokens": turn.usage.known("cached"),
        }
        own = {"reasoning": turn.usage.known("reasoning"),
               "cache_written": turn.usage.known("cache_written")}  # fmt: skip
        known = {name: count for name, count in own.items() if count is not None}
        metrics["extra"] = {_OWN: known} if known else None
    metrics["cost_usd"] = turn.cost
    if turn.ids is not None:
        metrics["prompt_token_ids"] = turn.ids.prompt
        metrics["completion_token_ids"] = turn.ids.generated
        metrics["logprobs"] = turn.ids.logprobs or None
    return {name: value for name, value in metrics.items() if value is not None}


def _own_version() -> str:
    try:
        return metadata.version(DISTRIBUTION_NAME)
    except metadata.PackageNotFoundError:  # a checkout
        return "unknown"
