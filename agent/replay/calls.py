"""Comparison of a replayed call with the recorded one."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from agent.events import CheckedCall, ToolEnded, Verdict
from agent.replay.recording import output_lines
from agent.replay.texts import TextComparison, Times, compare_lines
from agent.runs.transcript import Call
from agent.sandbox.base import CommandEnd, EndReason, OutputChunk, StreamName
from agent.tools.actions import BASH, EDITOR, SUBMIT
from agent.tools.observation import OutputCollector

EDITED_OBSERVATION = (
    "What the record shows the model is not what it says the command printed: the journal was "
    "edited, or an incompatible version wrote it."
)
EDITED_CALL = (
    "The record executes another call than the model made: the journal was edited, or an "
    "incompatible version wrote it."
)
_NO_RESULT = "The record holds no result of this call, so it was not executed again."
_NOT_EXECUTED = "The recorded run did not execute this call, and neither did the replay."
_STOPPED = "The recorded run was stopped during this call, so it was not executed again."
_NOT_REACHED = "The replay did not reach this call."
_CUSTOM = "“{name}” is a tool of the user's own, which a replay does not have."
_NO_NETWORK = "The call needs the network, which the replay did not have."
_NETWORK_CHANGED = "The call used the network; what it got there may have changed."
_NOT_KEPT = "Its whole output was not kept."
_ENDS: dict[EndReason, str] = {
    "timeout": "reached its time limit",
    "stop": "was stopped",
    "full": "was ended because the disk was full",
    "lost": "lost its sandbox",
}
_CLIPPED = "<Observation truncated in middle for saving context:"
_STREAMS: tuple[StreamName, ...] = get_args(StreamName)


@dataclass(frozen=True, slots=True)
class Sides:
    """The folders of long outputs of both runs."""

    recorded: Path
    replayed: Path


def is_left_out(record: Call) -> bool:
    """Whether a replay does not execute a call: it was not executed to its end before."""
    ended = record.ended
    if ended is None:
        return True
    if record.arguments is not None:
        return ended.end_reason in ("stop", "lost")
    if record.reviewed is not None and record.reviewed.decision == "denied":
        return False
    return ended.observation.startswith("Error: not executed, because the ") and not (
        ended.observation.startswith("Error: not executed, because the run was already submitted")
    )


def compare_call(call_id: str, one: Call, other: Call | None, sides: Sides) -> CheckedCall:
    """Return how a replayed call, None if it was not reached, compares with the recorded one."""
    reason = _unverifiable(one, other)
    if reason:
        return CheckedCall(call_id, "unverified", reason=reason)
    assert other is not None
    found = _compare(call_id, one, other, sides)
    if found.verdict == "differs" and _used_network(one):
        if not _used_network(other):
            return replace(found, verdict="unverified", reason=_NO_NETWORK)
        return replace(found, reason=f"{found.reason} {_NETWORK_CHANGED}")
    return found


def _unverifiable(one: Call, other: Call | None) -> str:
    """Return why a call cannot be compared; empty if it can."""
    if is_left_out(one):
        if one.ended is None:
            return _NO_RESULT
        return _NOT_EXECUTED if one.arguments is None else _STOPPED
    if one.arguments is not None and one.name not in (BASH, EDITOR, SUBMIT):
        return _CUSTOM.format(name=one.name)
    if other is None or other.ended is None:
        return _NOT_REACHED
    assert one.ended is not None
    for ended, which in ((one.ended, "In the recorded run"), (other.ended, "In the replay")):
        if ended.end_reason != "exit":
            return f"{which} the call {_ENDS.get(ended.end_reason, 'did not end')}."
    return ""


def _used_network(record: Call) -> bool:
    """Whether the call reached the network."""
    requests = record.ended.requests if record.ended is not None else ()
    return any(not request.refused for request in requests)


def _compare(call_id: str, one: Call, other: Call, sides: Sides) -> CheckedCall:
    assert one.ended is not None
    assert other.ended is not None
    if one.arguments != other.arguments or one.name != other.name:
        return CheckedCall(call_id, "differs", reason=EDITED_CALL)
    times = Times(one.ended.at, other.ended.at)
    outputs, kept = _compare_outputs(one, other, sides, times)
    observation = _compare_observations(one.ended, other.ended, outputs, times)
    results = [*outputs, observation]
    verdict: Verdict = "same"
    for rank in ("volatile", "differs"):
        if any(each.verdict == rank for each in results):
            verdict = rank
    reason = "Its output differs." if verdict == "differs" else ""
    if one.ended.exit_code != other.ended.exit_code:
        codes = (_code(other.ended), _code(one.ended))
        verdict, reason = "differs", "It ended with {} instead of {}.".format(*codes)
    elif one.ended.ok != other.ended.ok:
        verdict = "differs"
        reason = "It failed." if one.ended.ok else "It failed in the recorded run, and not again."
    if not _is_consistent(one) and _is_consistent(other):
        verdict, reason = "differs", f"{reason} {EDITED_OBSERVATION}".strip()
    elif verdict != "differs" and not kept:
        verdict, reason = "unverified", _NOT_KEPT
    rules = sorted({rule for each in results for rule in each.rules})
    diff = next((each.diff for each in results if each.diff), "")
    return CheckedCall(call_id, verdict, tuple(rules), reason, diff)


def _code(ended: ToolEnded) -> str:
    return "no exit code" if ended.exit_code is None else f"exit code {ended.exit_code}"


def _compare_outputs(
    one: Call, other: Call, sides: Sides, times: Times
) -> tuple[list[TextComparison], bool]:
    """Compare what both wrote to each stream; return also whether all of it was kept."""
    results, kept = [], not (one.skipped or other.skipped)
    for stream in _STREAMS:
        with (
            output_lines(one, stream, sides.recorded) as recorded,
            output_lines(other, stream, sides.replayed) as replayed,
        ):
            if recorded is None or replayed is None:
                kept = False
            elif not (one.skipped or other.skipped):
                results.append(compare_lines(recorded, replayed, times))
    return results, kept


def _compare_observations(
    one: ToolEnded, other: ToolEnded, outputs: list[TextComparison], times: Times
) -> TextComparison:
    """Compare what the model saw; where it is clipped, only the outputs count."""
    clipped = _CLIPPED in one.observation and _CLIPPED in other.observation
    verdicts = {each.verdict for each in outputs}
    if clipped and "volatile" in verdicts and "differs" not in verdicts:
        return TextComparison()  # the place of the cut moves with the volatile parts
    return compare_lines(one.observation.splitlines(), other.observation.splitlines(), times)


def _is_consistent(record: Call) -> bool:
    """Whether the observation of a command contains the output that the record holds."""
    ended = record.ended
    assert ended is not None
    if record.name != BASH or record.arguments is None or record.skipped or record.files:
        return True
    collector = OutputCollector()
    for stream, parts in record.outputs.items():
        for part in parts:
            collector.feed(OutputChunk(stream, part.encode("utf-8", "replace")))
    end = CommandEnd(ended.exit_code, ended.end_reason, ended.seconds)
    rebuilt = collector.observation(end, timeout=0.0)
    return f"{ended.observation}\n".startswith(f"{rebuilt}\n")  # notes may follow
