"""The reference's ``trajectory.json``, or a benchmark's file with many trajectories by id."""

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.models.base import ToolCall
from agent.traces.fields import Fields, dump, read_objects
from agent.traces.json_reader import JsonReader
from agent.traces.statuses import finish_of, original_of, review_of, status_of
from agent.traces.trace import Ended, Item, Result, Start, Trace, Turn, UserText, usage_of_counts

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code:? (-?\d{1,5})\b")


def read(head: Fields, reader: JsonReader) -> Trace:
    """Yield the trajectory's items, from its small fields and the file before its object."""
    metadata = head.fields("metadata")
    mode = metadata.text("mode")
    yield Start(
        agent="llm-in-sandbox", model=metadata.text("model"), at=metadata.time("started"),
        mode="plain" if mode == "plain" else "sandbox", prompt=metadata.text("prompt"),
    )  # fmt: skip
    yield UserText(text=head.text("problem_statement"))
    steps = _Steps()
    for entry in read_objects(reader, "steps", "trajectory"):
        yield from steps.add(entry)
    yield from steps.finished()
    yield _ended(head, metadata, submitted=steps.submitted)


class _Steps:
    """Joins the entries of one turn, of which there is one per call."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._turn = Turn()
        self._results: list[Result] = []
        self._count = 0
        self._notes: list[str] = []
        self.submitted = False

    def add(self, entry: Fields) -> Iterator[Item]:
        about = entry.fields("metadata")
        number = about.count("step")
        again = number is not None and number == self._number and bool(self._turn.calls)
        if not again:
            yield from self.finished()
            self._turn = _turn(entry, about)
        self._number = number
        self._count += 1
        action, observation = entry.fields("action"), entry.text("observation")
        name = action.text("function")
        if not name:
            self._notes += [observation] if observation else []
            return
        call = ToolCall(about.text("call_id") or f"call-{self._count}", name, _arguments(action))
        self._turn = replace(self._turn, calls=(*self._turn.calls, call))
        self.submitted = name == "submit"
        if "ok" in about or "tool_time" in about or observation:
            self._results.append(_result(call.id, about, observation))

    def finished(self) -> Iterator[Item]:
        if not self._count:
            return
        yield self._turn
        yield from self._results
        for note in self._notes:
            yield UserText(text=note, reminder=True)
        self._results, self._notes, self._count = [], [], self._count
        self._turn = Turn()


def _turn(entry: Fields, about: Fields) -> Turn:
    counts = about.fields("usage")
    reported = counts.values.get("reported")
    names = reported if isinstance(reported, list) else []
    parts = {
        name: counts.count(name) if counts.count(name) or name in names else None
        for name in ("cached", "reasoning", "cache_written")
    }
    usage = usage_of_counts(counts.count("prompt"), counts.count("generated"), **parts)
    return Turn(
        text=entry.text("thought"), reasoning=entry.text("reasoning_content"), usage=usage,
        estimated=about.flag("usage_estimated"), finish=finish_of(about.text("finish_reason")),
        seconds=about.number("exec_time"),
    )  # fmt: skip


def _arguments(action: Fields) -> str:
    parameters = action.values.get("parameters")
    if isinstance(parameters, dict) and list(parameters) == ["unparsed"]:
        return action.fields("parameters").text("unparsed")
    return parameters if isinstance(parameters, str) else dump(parameters or {})


def _result(call_id: str, about: Fields, observation: str) -> Result:
    ok = about.values.get("ok")
    exit_code = about.exit_code("exit_code")
    found = _EXIT_CODE.match(observation)
    if exit_code is None and ok is None and found:
        exit_code = int(found[1])
    return Result(
        call_id=call_id, text=observation, exit_code=exit_code,
        ok=ok if isinstance(ok, bool) else None, seconds=about.number("tool_time"),
        review=review_of(about.fields("review")), original=original_of(about),
    )  # fmt: skip


def _ended(head: Fields, metadata: Fields, *, submitted: bool) -> Ended:
    if "status" in metadata:
        return Ended(
            status=status_of(metadata.text("status")), reason=metadata.text("reason"),
            answer=metadata.text("answer"), at=metadata.time("ended"),
            cost=metadata.fields("totals").number("cost"),
        )  # fmt: skip
    answer = head.text("agent_answer") if "agent_answer" in head else None
    if submitted:
        return Ended(status="submitted", answer=answer)
    reason = "The trajectory ends without submit; the reference does not record why."
    return Ended(status="failed", reason=reason, answer=answer)
